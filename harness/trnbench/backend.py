"""The narrow waist: emulators and measured stacks are one thing to the runner."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import msgspec

from trnbench.facts.book import FactBook
from trnbench.generation import System
from trnbench.kernels.case import Case
from trnbench.results.evidence import Evidence
from trnbench.results.measurement import Part, Reason
from trnbench.results.process_samples import Conditions
from trnbench.results.proof import Proof


class Detection(msgspec.Struct, frozen=True, kw_only=True):
    """Can this backend run here? `instance` is the machine found ("" where any can be emulated).

    `also` names further systems that it measures here: the same machine, arranged in another way. Where
    `kinds` of implementation are named, a run plans only kernels that have one of them.
    """

    available: bool
    instance: str = ""
    why: str = ""  # what is missing, where it was looked for
    try_: str = ""  # what to install or set
    also: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    unverified: tuple[str, ...] = ()  # what was never tried on real hardware


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """What a backend saw; the runner derives metrics from it and judges them.

    `time_s` per repetition of the case. On failure `reason` is set and the rest may be empty.
    `work` overrides the formula's counts where the backend counted for itself. A measured time without
    its `proof` is judged failed or suspect, never a pass. `conditions` are what the machine was like while
    the samples were taken; beside each of them `cpu_s` is the processor time of the process per repetition,
    `preempted` how often it lost its processor.
    """

    evidence: Evidence
    time_s: float | None = None
    samples: tuple[float, ...] = ()
    cpu_s: tuple[float, ...] = ()
    preempted: tuple[int, ...] = ()
    clock: str = "model"
    stop_reason: str = ""
    parts: tuple[Part, ...] = ()
    bound: str = ""
    implementation: str = ""
    counters: dict[str, float] = {}
    notes: tuple[str, ...] = ()
    work: dict[str, float] = {}
    detail: dict[str, Any] = {}
    reason: Reason = Reason.NONE
    reason_text: str = ""
    proof: Proof | None = None
    conditions: Conditions | None = None


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that a backend measured of its machine, and in `notes` why there are not more."""

    book: FactBook = FactBook()
    notes: tuple[str, ...] = ()


@runtime_checkable
class Backend(Protocol):
    """Implemented by the emulator and by each measured stack. Raising is a crash of the case."""

    name: str

    def detect(self) -> Detection:
        """Which instance is this? What is missing? Never raises, takes well under a second."""

    def environment(self) -> dict[str, Any]:
        """Flat, lower_snake facts about the stack that results depend on; no host identity."""

    def unsupported(self, case: Case, system: System) -> str:
        """Empty when `observe` can take the case, else one sentence why not."""

    def observe(self, case: Case, system: System) -> Observation:
        """Run or model the case once, to the backend's own stopping rule."""


@runtime_checkable
class Configurable(Protocol):
    """A backend that reads environment variables which begin with TRNBENCH_ names them."""

    variables: tuple[str, ...]


@runtime_checkable
class Calibrating(Protocol):
    """A backend that measures peaks of its machine which no document gives. Asked once for each system,
    before the first case of a run; a resumed run keeps what it was told then."""

    def calibrated(self, system: System) -> Calibration:
        """Facts of provenance `measured`. Raising costs the run its per cents, and is noted."""


@runtime_checkable
class Reproducible(Protocol):
    """A backend whose observations follow from a case and its system alone may say so: they are then kept,
    and given again while nothing that they follow from has changed.
    """

    def worked_out_with(self) -> tuple[str, ...]:
        """Names of the packages and modules whose code an observation follows from, beside the kernel's own
        and that of the system's topology."""
