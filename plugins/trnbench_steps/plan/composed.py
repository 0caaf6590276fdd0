"""Steps on systems, each put together once: whether they divide and fit, what they take, their evidence."""

from __future__ import annotations

from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING

from trnbench import Nearest, System, TrnbenchError, UsageError
from trnbench.record import Record
from trnbench.run.expectation import expectations
from trnbench_emulator.backend import MODEL_VERSION
from trnbench_steps.division import Division, divide
from trnbench_steps.flops import floor_s
from trnbench_steps.hbm import Fit, fit
from trnbench_steps.job import Job
from trnbench_steps.layout import Layout
from trnbench_steps.model import Model
from trnbench_steps.plan.goal import Expected
from trnbench_steps.step import StepModel
from trnbench_steps.step_constants import constants_of
from trnbench_steps.step_parts import StepTime

if TYPE_CHECKING:
    from trnbench.registry import Registry


class Why(StrEnum):
    """Kinds of reasons, in the order in which they are looked for."""

    DIVIDES = "divides wrongly"
    FITS = "does not fit"
    SLOW = "too slow"
    TIMED = "cannot be timed"


class Refusal(Record):
    """Why a step is none."""

    why: Why
    reason: str


class Placed(Record, kw_only=True):
    """A step that divides and fits. `least_s`: what documents allow at the least."""

    division: Division
    system: System
    lies: Fit
    least_s: float


class Composed(Record, kw_only=True):
    """A step put together."""

    placed: Placed
    step: StepTime
    nearest: Nearest
    time: Expected


class Steps:
    """Of one model; kernels, collectives and kinds of layers are timed once for all."""

    def __init__(self, registry: Registry, model: Model) -> None:
        self.model = model
        self._steps, self._expected = StepModel(), expectations(registry, {})
        self._placed: dict[tuple[object, ...], Placed | Refusal] = {}
        self._composed: dict[tuple[object, ...], Composed | Refusal] = {}
        self._least: dict[tuple[object, ...], float] = {}

    @property
    def count(self) -> int:
        """Steps that were put together."""
        return sum(isinstance(each, Composed) for each in self._composed.values())

    def placed(self, layout: Layout, job: Job, system: System) -> Placed | Refusal:
        """Where it lies; nothing is timed."""
        key = (system.name, layout, job)
        if key not in self._placed:
            self._placed[key] = self._place(layout, job, system)
        return self._placed[key]

    def _place(self, layout: Layout, job: Job, system: System) -> Placed | Refusal:
        try:
            division = divide(self.model, layout, job)
        except UsageError as error:
            return Refusal(Why.DIVIDES, error.what)
        try:
            lies = fit(division, system)
        except UsageError as error:
            return Refusal(Why.FITS, error.what)
        if not lies.fits:
            return Refusal(Why.FITS, lies.verdict.removeprefix("does not fit: "))
        return Placed(division=division, system=system, lies=lies, least_s=floor_s(division, system))

    def composed(self, layout: Layout, job: Job, system: System) -> Composed | Refusal:
        """What it takes."""
        key = (system.name, layout, job)
        if key not in self._composed:
            placed = self.placed(layout, job, system)
            self._composed[key] = placed if isinstance(placed, Refusal) else self._compose(placed)
        return self._composed[key]

    def least_s(self, layout: Layout, job: Job, system: System) -> float:
        """Seconds that a step of training is not below, soon known; infinite for one that is none."""
        key = (system.name, layout, job)
        if key not in self._least:
            placed = self.placed(layout, job, system)
            self._least[key] = float("inf")
            if not isinstance(placed, Refusal):
                with suppress(TrnbenchError):
                    division, constants = placed.division, constants_of(system)
                    self._least[key] = self._steps.least_s(division, system, constants)
        return self._least[key]

    def _compose(self, placed: Placed) -> Composed | Refusal:
        division, system = placed.division, placed.system
        try:
            step = self._steps.time(division, system, constants_of(system))
        except TrnbenchError as error:
            return Refusal(Why.TIMED, error.what)
        nearest = self._expected.nearest(division, system, version=MODEL_VERSION)
        time = Expected.of(step.time_s, nearest, placed.least_s)
        return Composed(placed=placed, step=step, nearest=nearest, time=time)
