"""What a step is put together from, before the constants that no document prints are applied."""

from __future__ import annotations

from trnbench.record import Record
from trnbench.results.measurement import Nearest
from trnbench_steps.step_constants import StepConstants

MATRIX, ATTENTION, ELEMENTWISE, MEMORY, COLLECTIVES = (
    "matrix work",
    "attention",
    "elementwise",
    "weights and cache",
    "collectives",
)
OPTIMISER, BUBBLE = "optimiser", "pipeline bubble"
KERNELS = (MATRIX, ATTENTION, ELEMENTWISE, OPTIMISER)
STARTS = "collective starts"
BASE = (MATRIX, ATTENTION, ELEMENTWISE, MEMORY, COLLECTIVES, STARTS, OPTIMISER)
LAUNCHES, RESIDUE, COMPILER = "launches", "residue of collectives", "residue of engines"
PARTS = (
    MATRIX,
    ATTENTION,
    ELEMENTWISE,
    MEMORY,
    COLLECTIVES,
    STARTS,
    RESIDUE,
    LAUNCHES,
    COMPILER,
    BUBBLE,
    OPTIMISER,
)
"""In the order of a table. The residue of collectives and what follows are constants, bubble and optimiser
aside."""


class Series(Record, kw_only=True):
    """What a rank does one after the other: seconds of each part without any constant, and what there is of
    what the constants are charged for. `by_roofline`: seconds of it that no kernel was timed for,
    `by_kernels` those of engines in kernels of the software, where no compiler leaves anything."""

    seconds: dict[str, float]
    operators: float = 0.0
    by_roofline: float = 0.0
    by_kernels: float = 0.0

    @property
    def all(self) -> float:
        return sum(self.seconds.values())

    def parts(self, constants: StepConstants, times: float = 1.0) -> dict[str, float]:
        """By part, `times` over, constants included."""
        own = self.seconds
        engines = sum(own.get(name, 0.0) for name in KERNELS) - self.by_kernels
        found = {name: spent * times for name, spent in own.items()}
        found[LAUNCHES] = self.operators * constants.operator_s * times
        found[RESIDUE] = own.get(COLLECTIVES, 0.0) * constants.collective_residue * times
        found[COMPILER] = engines * constants.engine_share * times
        return found

    def plus(self, other: Series, times: float = 1.0) -> Series:
        """Both, the other `times` over."""
        names = dict.fromkeys((*self.seconds, *other.seconds))
        return Series(
            seconds={
                name: self.seconds.get(name, 0.0) + times * other.seconds.get(name, 0.0) for name in names
            },
            operators=self.operators + times * other.operators,
            by_roofline=self.by_roofline + times * other.by_roofline,
            by_kernels=self.by_kernels + times * other.by_kernels,
        )


NOTHING = Series(seconds={})


class StepTime(Record, kw_only=True):
    """Seconds by part, in the order of `PARTS`, those of nothing left out; they add up to the step.

    `roofline_share`: the part of all kernel time that no kernel was timed for. `nearest`: the nearest
    published step, where it was looked for; `least_s`: what documents allow at the least.
    """

    parts: dict[str, float]
    roofline_share: float = 0.0
    nearest: Nearest | None = None
    least_s: float = 0.0

    @property
    def time_s(self) -> float:
        return sum(self.parts.values())

    @property
    def band_s(self) -> tuple[float, float] | None:
        """Least and most that may be expected of the machine; None where nothing says."""
        if self.nearest is None or self.nearest.band is None:
            return None
        return self.nearest.band.times(self.time_s, self.least_s)


class StepParts(Record, kw_only=True):
    """A step without constants. A stage does `stages[n]` for each of `micro_batches`, and `once` at the end
    of the step; the pipeline fills and drains in `bubble` times what the slowest does for a micro-batch.

    Fill and drain of 1F1B take pp - 1 micro-batches, interleaved pp - 1 parts of one that `chunks` make up
    (Narayanan et al. 2021, section 2.2). `time` is cheap: constants are
    fitted by calling it often.
    """

    stages: tuple[Series, ...]
    micro_batches: int = 1
    bubble: float = 0.0
    once: Series = NOTHING

    def time(self, constants: StepConstants) -> StepTime:
        """Of the stage that takes longest with these constants."""
        found = max((stage.parts(constants) for stage in self.stages), key=lambda each: sum(each.values()))
        parts = {name: spent * self.micro_batches for name, spent in found.items()}
        if self.bubble:
            parts[BUBBLE] = self.bubble * sum(found.values())
        for name, spent in self.once.parts(constants).items():
            parts[name] = parts.get(name, 0.0) + spent
        kernels = sum(parts.get(name, 0.0) for name in (*KERNELS, MEMORY))
        roofline = self.micro_batches * max(s.by_roofline for s in self.stages) + self.once.by_roofline
        return StepTime(
            parts={name: parts[name] for name in PARTS if parts.get(name)},
            roofline_share=roofline / kernels if kernels else 0.0,
        )
