"""Limits on the model's errors: exit code 1 where one is not kept."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from trnbench.bounded import kinds
from trnbench.cli.output import say
from trnbench.errors import ExitCode, UnknownName, UsageError
from trnbench.quoting import quoted

if TYPE_CHECKING:
    from trnbench.results.fidelity import FamilyFidelity, Fidelity

PUBLIC = "public"
"""Stands for all public kernels of a generation, whatever their family."""


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """`e`: the largest error allowed, as ln of a factor; `name` is that of the statistic."""

    name: str
    family: str
    e: float

    @property
    def option(self) -> str:
        return f"--max-{self.name} {self.family}"


class Gates(msgspec.Struct, frozen=True, kw_only=True):
    limits: tuple[Limit, ...] = ()
    broken: int | None = None


def parsed(medians: Sequence[str], p90s: Sequence[str], broken: int | None) -> Gates:
    """Raises `UsageError` for what is no limit, `UnknownName` for another family."""
    limits = [_limit("median", each) for each in medians] + [_limit("p90", each) for each in p90s]
    return Gates(limits=tuple(limits), broken=broken)


def _limit(name: str, text: str) -> Limit:
    from trnbench.fidelity.family import FAMILIES

    family, equals, number = text.partition("=")
    percent = kinds.PERCENT.parsed(number)
    if not equals or percent is None:
        raise UsageError(
            f"--max-{name} {quoted(text)} is no limit",
            cause="it is a family, an equals sign and a percentage",
            try_=f"--max-{name} hbm=3%",
        )
    if family not in (*FAMILIES, PUBLIC):
        raise UnknownName("family", family, (*FAMILIES, PUBLIC), try_="trnbench validate: every family")
    return Limit(name=name, family=family, e=math.log1p(float(percent) / 100))


def judge(found: Fidelity, gates: Gates) -> ExitCode:
    """Says what is not kept, each on a line of stderr."""
    failed = [text for limit in gates.limits for text in _over(found, limit)]
    if gates.broken is not None:
        from trnbench.fidelity.broken import broken_of

        bounds, broken = broken_of(found.points)
        if len(broken) > gates.broken:
            failed.append(
                f"--max-broken: {len(broken)} of {bounds} published inequalities are broken, "
                f"allowed are {gates.broken}"
            )
    for text in failed:
        say(f"error: {text}")
    return ExitCode.GATE if failed else ExitCode.OK


def _over(found: Fidelity, limit: Limit) -> Iterator[str]:
    from trnbench.results.error_text import size_text

    rows = [each for each in _rows(found, limit.family) if each.errors]
    if not rows:
        yield f"{limit.option}: no point of it is emulated, so nothing is shown"
    for row in rows:
        assert row.errors is not None
        e = row.errors.median if limit.name == "median" else row.errors.p90
        what = "median error" if limit.name == "median" else "90th percentile"
        if e is None:
            yield (
                f"{limit.option}: {row.generation} has {row.errors.votes} votes, a 90th percentile takes five"
            )
        elif e > limit.e:
            yield (
                f"{limit.option}: the {what} of {row.generation} is {size_text(e)}, "
                f"allowed are {size_text(limit.e)}"
            )


def _rows(found: Fidelity, family: str) -> list[FamilyFidelity]:
    if family == PUBLIC:
        return [each.row for each in found.public]
    return [each for each in found.families if each.name == family]
