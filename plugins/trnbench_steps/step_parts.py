"""What a step is put together from, and the constants that no document prints."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from trnbench.bounded.file import TABLE, read_file
from trnbench.bounded.toml import parse_toml
from trnbench.errors import FactError
from trnbench.generation import System
from trnbench.results.nearness import Nearest


class Constant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value with its range, both in `unit`; `points` it was fitted on, none where it is assumed.

    `held_out` has, by model (as published steps are voted), what it is when all points of that model are left
    out of the fit.
    """

    value: float
    low: float
    high: float
    unit: str
    method: str
    points: tuple[str, ...] = ()
    held_out: dict[str, float] = {}


class StepConstants(msgspec.Struct, frozen=True, kw_only=True):
    """Three for all software families together, in seconds and shares; each is a part of a step.

    `operator_s`: between two operators of a graph, for each in series; the host's work is in it.
    `collective_residue`: of what collectives take beside their start, added: no mechanism explains it, and
    `fabric run --context graph` adds the same. `engine_share`: of the engines' time that the compiler is
    responsible for, kernels of the software left out, added: what it leaves on the table.
    """

    operator_s: float = 0.0
    collective_residue: float = 0.0
    engine_share: float = 0.0


NONE = StepConstants()
UNITS = {
    "operator_s": ("us", 1e-6),
    "collective_residue": ("1", 1.0),
    "engine_share": ("1", 1.0),
}
"""Of each constant, the unit that its table has, and what that is in seconds (or as a share)."""


def read_constants(path: Path) -> dict[str, Constant]:
    """The tables of `path` by name. Raises `FactError` for a name, a unit or a value that makes no sense."""
    tables = parse_toml(read_file(path, most=TABLE), str(path))
    return _constants(tables.get("constants", {}), str(path))


def _constants(tables: Mapping[str, Any], where: str) -> dict[str, Constant]:
    constants: dict[str, Constant] = {}
    for name, table in tables.items():
        if name not in UNITS:
            raise FactError(
                f"{where}: [constants.{name}] is no constant of a step",
                cause=f"they are {', '.join(UNITS)}",
                try_="one of these names",
            )
        constants[name] = _checked(name, table, where)
    return constants


def _checked(name: str, table: Any, where: str) -> Constant:
    try:
        constant = msgspec.convert(table, Constant)
    except msgspec.ValidationError as error:
        raise FactError(
            f"{where}: [constants.{name}]: {error}",
            cause="a constant has value, low, high, unit, method and points",
            try_="add what is missing",
        ) from None
    unit, _ = UNITS[name]
    if constant.unit != unit or not 0 <= constant.low <= constant.value <= constant.high:
        raise FactError(
            f"{where}: [constants.{name}] has {constant.low:g} ≤ {constant.value:g} ≤ {constant.high:g} "
            f"{constant.unit}",
            cause=f"its unit is {unit!r}, and its value lies between its ends, none of them below 0",
            try_="correct it",
        )
    return constant


def named_constants(system: System) -> dict[str, Constant]:
    """Those of the system's generation, which inherits them with its costs; none where nobody brings them.

    Raises `FactError`.
    """
    return _constants(system.costs.get("step", {}), f"constants of {system.generation.name}")


def constants_of(system: System) -> StepConstants:
    """The values of `named_constants`, in seconds and shares."""
    return StepConstants(
        **{name: each.value * UNITS[name][1] for name, each in named_constants(system).items()}
    )


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


class Series(msgspec.Struct, frozen=True, kw_only=True):
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


class StepTime(msgspec.Struct, frozen=True, kw_only=True):
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


class StepParts(msgspec.Struct, frozen=True, kw_only=True):
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
