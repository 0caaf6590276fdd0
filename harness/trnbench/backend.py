"""The narrow waist: emulators and measured stacks are one thing to the runner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import msgspec

from trnbench.facts.fact import FactBook
from trnbench.generation import System
from trnbench.kernels.kernel import Case
from trnbench.results.measurement import Conditions, Evidence, Part, Reason
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


READS = "facts_read"
"""Of an environment: the metrics of facts that a model reads, words of one text. Where a backend says so, no
other fact is named as a cause of another time. `facts_read_KIND` is what cases carried out by that kind of
implementation follow from: metrics, `assumption:NAME` (or `*`) and, of a cost file, `cost:TABLE`."""


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """What a backend saw; the runner derives metrics from it and judges them.

    `time_s` per repetition of the case. On failure `reason` is set and the rest may be empty.
    `work` overrides the formula's counts where the backend counted for itself. A measured time without
    its `proof` is judged failed or suspect, never a pass. `conditions` are what the machine was like while
    the samples were taken; beside each of them `cpu_s` is the processor time of the process per repetition,
    `preempted` how often it lost its processor. `doubts` say why the number cannot be, where the backend
    knows a bound that it breaks: they make it suspect.
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
    doubts: tuple[str, ...] = ()
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


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """What a machine has to say of itself when the last sample is taken: clocks, power, stragglers.

    `doubts` make the number suspect, `notes` are read beside it.
    """

    counters: dict[str, float] = {}
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    detail: dict[str, Any] = {}


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """What an implementation returns: `prepare(point, extent, rng) -> Program`.

    - `run()`: one call. It returns when the work is done, never when it is queued: nothing outside
      waits for it. What it returns is the output, and is handed to `check`.
    - `check(output)`: "" or what is wrong with it, by a way of computing that is not `run`'s own.
    - `awaited`, `checked`: how the two are done, in words. Both are evidence: without them the case fails.
    - `amount`: work of one call, in any unit; `smaller()`: the same program with less of it. A time that
      does not grow from the one to the other is no time of that work.
    - `idle()`: one call without work, where starting one costs more than a function call.
    - `repeats`: how often one call does the work that the kernel's formula counts.
    - `flush()`: empties the caches that matter; None takes the one of the measuring process. `flushed`
      says what it does.
    - `cold`: judged by the series whose caches were emptied before each sample; needs `flush`.
    - `device_clock()`: seconds the last call took by the device's own clock, whose step is
      `device_tick_s`.
    - `queued(n)`: `n` calls of the same work, its end awaited once, and `idle_queued(n)` as many without
      work: for devices that take their work from a queue. The device's clock then tells of all of them.
    - `least_s`: what a sample has to last, where more than reading a clock is lost around it.
    - `ready()`: called before each sample, outside of it.
    - `witness()`: called once behind the last sample.
    - `counted()`: work the device says the last call did, by the names of `Work.as_counts()`.
    """

    run: Callable[[], Any]
    check: Callable[[Any], str]
    awaited: str
    checked: str
    amount: float = 0.0
    smaller: Callable[[], Program] | None = None
    idle: Callable[[], Any] | None = None
    repeats: float = 1.0
    flush: Callable[[], Any] | None = None
    flushed: str = ""
    cold: bool = False
    device_clock: Callable[[], float] | None = None
    device_tick_s: float = 0.0
    queued: Callable[[int], Any] | None = None
    idle_queued: Callable[[int], Any] | None = None
    least_s: float = 0.0
    ready: Callable[[], Any] | None = None
    witness: Callable[[], Witness] | None = None
    counted: Callable[[], dict[str, float]] | None = None
    close: Callable[[], None] | None = None
    settings: dict[str, str | int | float | bool] = {}
    notes: tuple[str, ...] = ()
