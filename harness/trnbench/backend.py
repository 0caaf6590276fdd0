"""The narrow waist: emulators and measured stacks are one thing to the runner, which asks for proof."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

from trnbench.facts.fact import FactBook
from trnbench.facts.units import show
from trnbench.generation import System
from trnbench.kernels.kernel import Case
from trnbench.record import Record
from trnbench.results.measurement import Conditions, Evidence, Part, Reason

GROWTH_LEAST = 0.25
"""Of the work that was added, at least this share has to be seen in the time."""

COUNTERS_WITHIN = 0.05
"""How far what the device counted may lie from what the formula counts."""


class Growth(Record, kw_only=True):
    """Two amounts of the same work and their times; `floor_s` is what a call without work takes."""

    work_ratio: float
    time_s: float  # of the whole work
    less_s: float  # of `work_ratio` times less of it
    floor_s: float = 0.0

    @property
    def time_ratio(self) -> float:
        """Both times without what starting a call takes."""
        less = self.less_s - self.floor_s
        return (self.time_s - self.floor_s) / less if less > 0.0 else float("inf")

    @property
    def hidden(self) -> bool:
        """Whether the time is that of starting a call, so that no growth could be seen."""
        return self.time_s <= 3.0 * self.floor_s

    @property
    def flat(self) -> bool:
        """Whether the time did not grow with the work, though it had to."""
        return not self.hidden and (self.time_ratio - 1.0) < GROWTH_LEAST * (self.work_ratio - 1.0)

    def __str__(self) -> str:
        took = self.time_s / self.less_s if self.less_s > 0.0 else float("inf")
        words = f"{self.work_ratio:.3g} times the work took {took:.3g} times as long"
        return f"{words} (a call without work takes as long)" if self.hidden else words


class Clocks(Record, kw_only=True):
    """One call by two clocks; `floor_s` is what the host takes for a call without work."""

    host_s: float
    device_s: float
    floor_s: float = 0.0

    @property
    def apart(self) -> str:
        """Empty, or how the two contradict each other."""
        host, device = show(self.host_s, "s"), show(self.device_s, "s")
        if self.device_s > 1.05 * self.host_s:
            return f"the device's clock tells of {device} while the host's went {host}: not of this call"
        left = self.host_s - self.floor_s
        if self.host_s > 3.0 * self.floor_s and left > 2.0 * self.device_s:
            return (
                f"the device's clock saw {device} of the {host} that the host waited: most likely the work "
                "ran where that clock does not look (another stream)"
            )
        return ""


class Proof(Record, kw_only=True):
    """Empty fields are missing evidence."""

    device: str = ""  # how the device named itself
    completion: str = ""  # how the end of the work was awaited inside the timed region
    output: str = ""  # what the output was held against
    growth: Growth | None = None
    counted: dict[str, float] = {}  # by the device, where it has counters
    clocks: Clocks | None = None  # where the device has one of its own
    contradicted: tuple[str, ...] = ()  # what the machine said of itself meanwhile that speaks against it
    backlog: tuple[str, ...] = ()  # that the calls returned before their work was done

    def missing(self) -> tuple[str, ...]:
        """What a number cannot be without."""
        wanted = {
            "which device it was, told by the device itself": self.device,
            "how the end of the work was awaited": self.completion,
            "what the output was held against": self.output,
        }
        return tuple(what for what, found in wanted.items() if not found)

    def doubts(self, asked: dict[str, float]) -> tuple[str, ...]:
        """Why a number that has all it cannot be without is still not to be believed, whatever the machine
        did meanwhile."""
        reasons = [] if self.growth is not None else ["nobody looked whether the time grows with the work"]
        reasons += self.contradicted
        for name, counted in self.counted.items():
            wanted = asked.get(name)
            if wanted and abs(counted / wanted - 1.0) > COUNTERS_WITHIN:
                reasons.append(
                    f"the device counted {counted:.4g} {name}, the formula {wanted:.4g}: "
                    "work was left out, or done more than once"
                )
        return tuple(reasons)

    def doubts_of_time(self) -> tuple[str, ...]:
        """The same, from times held against each other: on a busy machine they say nothing."""
        reasons = []
        if self.growth is not None and self.growth.flat:
            reasons.append(
                f"the time does not grow with the work: {self.growth}; most likely the timer stopped "
                "before the work was done, or the work was optimised away"
            )
        if self.clocks is not None and self.clocks.apart:
            reasons.append(self.clocks.apart)
        return (*reasons, *self.backlog)


class Detection(Record, kw_only=True):
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


class Observation(Record, kw_only=True):
    """What a backend saw; the runner derives metrics from it and judges them.

    `time_s` per repetition of the case. On failure `reason` is set and the rest may be empty.
    `work` overrides the formula's counts where the backend counted for itself. A measured time without
    its `proof` is judged failed or suspect, never a pass. `conditions` are what the machine was like while
    the samples were taken; beside each of them `cpu_s` is the processor time of the process per repetition,
    `preempted` how often it lost its processor. `doubts` say why the number cannot be, where the backend
    knows a bound that it breaks: they make it suspect. `loads` are what engines and memories of the extent
    had to do, by the names of `trnbench.peaks.shares`: no time is less than the peaks leave for them.
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
    loads: dict[str, float] = {}
    reason: Reason = Reason.NONE
    reason_text: str = ""
    doubts: tuple[str, ...] = ()
    proof: Proof | None = None
    conditions: Conditions | None = None


class Calibration(Record, kw_only=True):
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


class Witness(Record, kw_only=True):
    """What a machine has to say of itself when the last sample is taken: clocks, power, stragglers.

    `doubts` make the number suspect, `notes` are read beside it.
    """

    counters: dict[str, float] = {}
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    detail: dict[str, Any] = {}


Recorded: TypeAlias = dict[str, str | int | float | bool]
"""Settings that a measurement keeps, by their names."""


class Program(Record, kw_only=True):
    """What an implementation returns: `prepare(point, …) -> Program`.

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
    settings: Recorded = {}
    notes: tuple[str, ...] = ()
