"""The figures that cases are held against, by one policy."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from trnbench.facts.peak import PeakChoice, PeakPolicy
from trnbench.generation import System
from trnbench.kernels.case import Case
from trnbench.peaks.busbw import scaled
from trnbench.run.metrics import primary_scope

Chooser: TypeAlias = Callable[..., PeakChoice | None]
"""`trnbench.peaks.choose_peak`, or a stand-in with its arguments."""


class CasePeaks:
    """Looked up once for all cases alike; `alternatives`: with the figures that are not chosen."""

    def __init__(
        self, policy: PeakPolicy, choose: Chooser | None = None, *, alternatives: bool = True
    ) -> None:
        self._policy, self._alternatives = policy, alternatives
        self._choose = choose or _choose_peak()
        self._known: dict[tuple[Any, ...], PeakChoice | None] = {}

    def of(self, case: Case, system: System) -> PeakChoice | None:
        """The peak of the case's primary metric, of the same scope; None where no document has one."""
        primary = case.primary
        metric = primary.peak
        if not metric:
            return None
        by_dtype = metric in ("peak_flops", "element_rate")
        criteria: dict[str, Any] = {
            "metric": metric,
            "scope": primary_scope(case),
            "dtype": case.key.dtype if by_dtype else "",
            "sparse": primary.sparse or bool(case.key.point.get("sparse", False)),
            "qualifier": primary.qualifier,
            "direction": primary.direction,
            "extent": case.extent,
            "policy": self._policy,
            "alternatives": self._alternatives,
        }
        factor = primary.peak_factor(case.extent) if primary.peak_factor else Fraction(1)
        key = (system.name, *criteria.values(), factor)
        if key not in self._known:
            found = self._choose(system, **criteria)
            self._known[key] = scaled(found, factor, case.extent) if found else None
        return self._known[key]


def _choose_peak() -> Chooser:
    from trnbench.peaks import choose_peak

    return choose_peak
