"""What a kernel's loads are of each peak at the same scope, and the least time that these allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from trnbench.facts.fact import PeakChoice, PeakPolicy, Scope
from trnbench.generation import System
from trnbench.kernels.work import Extent
from trnbench.peaks.candidate import once_for_system
from trnbench.peaks.choose import choose_peak
from trnbench.record import Record
from trnbench.results.expectation import least_share


class Share(Record, kw_only=True):
    """A rate that was reached, against its peak at the same scope. `what` is an engine or a memory."""

    what: str
    value: float
    unit: str
    choice: PeakChoice

    @property
    def part(self) -> str:
        """ "tensor bf16" is of the tensor engine."""
        return self.what.partition(" ")[0]

    @property
    def fraction(self) -> float:
        return self.value / self.choice.chosen.value

    @property
    def of_engine_bound(self) -> float | None:
        """Of what the clocks allow; None where no document gives them."""
        bound = self.choice.engine_bound
        return self.value / bound.value if bound is not None else None

    @property
    def least(self) -> float:
        """Of the time: what clocks leave of it, or the best documented rate where they say nothing."""
        return least_share(self.fraction, self.of_engine_bound, self.choice)


def best_of(shares: Iterable[Share]) -> Share | None:
    """What came closest to its peak; None where nothing used has one."""
    return max(shares, key=lambda each: each.fraction, default=None)


def shares_of(
    system: System, extent: Extent, policy: PeakPolicy, loads: Mapping[str, float]
) -> Iterator[Share]:
    """Of each of `loads` that has a peak, as if it took a second: which peak a kernel comes closest to does
    not depend on the time.

    `loads`: FLOP of "tensor bf16", bytes of "hbm" and "dma", elements of any other engine.
    """
    for what, amount in loads.items():
        part, _, dtype = what.partition(" ")
        # The documents count elements and cycles, and multiply by operations as they see fit: elements are
        # what a kernel's instructions have, held against what the clocks allow.
        if part == "tensor":
            unit, choice = "FLOP/s", _peak(system, "peak_flops", dtype, "", extent, policy)
        elif part in ("hbm", "dma"):
            unit, choice = "B/s", _peak(system, f"{part}_bandwidth", "", "", extent, policy)
        else:
            unit = "element/s"
            choice = _peak(system, "element_rate", "", part, extent, PeakPolicy.ENGINE)
        if choice is not None:
            yield Share(what=what, value=amount, unit=unit, choice=choice)


def in_time(shares: Iterable[Share], time_s: float) -> tuple[Share, ...]:
    """What `shares`, as if it took a second, are in `time_s`."""
    return tuple(replace(share, value=share.value / time_s) for share in shares)


def bound_of(shares: Iterable[Share], time_s: float) -> float:
    """Seconds that clocks and documented rates allow at the least, no more than `time_s`, in which `shares`
    are reached.

    Its part of a device's memory bounds no core: what the others leave of it, one may take.
    """
    return time_s * max((share.least for share in shares if not _part_of_memory(share)), default=0.0)


def _part_of_memory(share: Share) -> bool:
    return share.what == "hbm" and share.choice.chosen.scope.rank < Scope.DEVICE.rank


@once_for_system
def _peak(
    system: System, metric: str, dtype: str, engine: str, extent: Extent, policy: PeakPolicy
) -> PeakChoice | None:
    """None where no document gives it."""
    return choose_peak(
        system,
        metric=metric,
        scope=extent.scope,
        dtype=dtype,
        qualifier=engine,
        extent=extent,
        policy=policy,
    )
