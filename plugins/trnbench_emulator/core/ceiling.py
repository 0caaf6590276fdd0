"""What no program can exceed: the work of each engine over what its clock allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from trnbench.facts.fact import Peak, Scope
from trnbench.facts.units import percent
from trnbench.generation import System
from trnbench.peaks import engine_bound
from trnbench_emulator.core.timing import Timing
from trnbench_emulator.nki.op import DMA, TENSOR

TOLERANCE = 1e-3
"""Documents round clocks to two and more digits."""


def beyond_clocks(rates: Iterable[tuple[str, float, Peak | None]]) -> tuple[str, ...]:
    """A sentence for each rate (what, value, bound) that the clocks do not allow."""
    return tuple(
        f"{name} at {percent(value / bound.value)} of what the clocks allow ({bound.formula}); most likely: "
        "the model charges an instruction less than the clocks do"
        for name, value, bound in rates
        if bound is not None and value > bound.value * (1.0 + TOLERANCE)
    )


def doubts_of(timing: Timing, system: System) -> tuple[str, ...]:
    """Why the time of a launch cannot be, of one core on average; nothing where it can."""
    work: Counter[tuple[str, str, str]] = Counter()  # (metric, type, engine) → FLOP or elements
    for op, count in timing.recording.tally().items():
        if op.engine == TENSOR:
            work["peak_flops", op.dtype, TENSOR] += op.flops * count
        elif op.engine != DMA:
            work["element_rate", "", op.engine] += op.elements * count
    seconds = timing.latency_s * len(timing.programs)
    return beyond_clocks(
        (
            f"{engine} {dtype}".strip(),
            amount / seconds,
            engine_bound(system, metric=metric, scope=Scope.CORE, dtype=dtype, qualifier=engine),
        )
        for (metric, dtype, engine), amount in work.items()
        if amount
    )
