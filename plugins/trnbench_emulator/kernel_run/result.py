"""The result of one emulated kernel: time, shares of the peaks, lines, and the compiler's switches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from trnbench.errors import KernelError, brief
from trnbench.facts.fact import Scope
from trnbench.facts.units import show
from trnbench.peaks.shares import Share
from trnbench.record import Record
from trnbench.results.expectation import expected_time
from trnbench.results.measurement import Evidence, Part, Status
from trnbench_emulator.compiler import SWITCHES, Assumptions
from trnbench_emulator.core.roofline import beyond_clocks
from trnbench_emulator.core.timing import ProgramTime

LIMIT = 60_000
"""Instructions times switches up to which the other ways are worked out: some seconds."""

MATTERS = 0.1
"""Share of the time from which on both times are printed."""


class Assumed(Record, kw_only=True):
    """One switch that a kernel meets. `times`: how often the compiler was taken to do this while the kernel
    was recorded; 0 where it is switched off. `about` says what it does then, or what is done instead."""

    name: str
    on: bool
    times: int
    about: str


class Alternative(Record, kw_only=True):
    """The time with one switch the other way: "no-hoisting" of a run that assumes hoisting. `slower` is
    against the run's time, 0.38 for 38 % more. `problem`: why there is no such time, which is then 0."""

    name: str
    latency_s: float = 0.0
    slower: float = 0.0
    problem: str = ""

    @property
    def matters(self) -> bool:
        return abs(self.slower) > MATTERS


def assumed(assumptions: Assumptions, used: Mapping[str, int]) -> tuple[Assumed, ...]:
    """Every switch that was `used`, or is off."""
    return tuple(
        Assumed(
            name=name,
            on=name in assumptions,
            times=used.get(name, 0),
            about=switch.assumed if name in assumptions else switch.otherwise,
        )
        for name, switch in SWITCHES.items()
        if used.get(name) or name not in assumptions
    )


def alternatives(
    latency_s: float,
    instructions: int,
    assumptions: Assumptions,
    names: Collection[str],
    timed: Callable[[Assumptions], float],
) -> tuple[tuple[Alternative, ...], str]:
    """Each of `names` the other way, the largest difference first; or why that was left out.

    `timed` records the kernel under other assumptions and returns its time in seconds.
    """
    if len(names) * instructions > LIMIT:
        return (), (
            f"{instructions:,} instructions, {len(names)} switches: together more than the {LIMIT:,} up to "
            "which each is also timed the other way"
        )
    tried = []
    for name in names:
        toggled = assumptions.toggled(name)
        called = name if name in toggled else SWITCHES[name].negation
        try:
            time_s = timed(toggled)
        except KernelError as error:  # it breaks a rule of the machine then, which is told
            tried.append(Alternative(name=called, problem=error.what))
            continue
        tried.append(Alternative(name=called, latency_s=time_s, slower=time_s / latency_s - 1))
    return tuple(sorted(tried, key=lambda each: (-abs(each.slower), each.name))), ""


class Line(Record, kw_only=True):
    """What one line of the kernel's source cost: `seconds` its engines were busy with it."""

    file: str
    line: int
    seconds: float
    instructions: int
    engine: str
    source: str = ""


class KernelRun(Record, kw_only=True):
    """One kernel on one system. Everything but `shares` is of one core.

    Of a launch of several `programs`, `instructions`, `flops` and `bytes` are those of all of them,
    `waterfall` and `path` lead to the end of the last one, `last`; `busy_s` and `lines` are about that one.
    `imbalance`: how much longer that one takes than the programs do on average, as a share of this.

    `busy_s`: seconds per engine and queue. `bytes`: per memory and direction. `waterfall`: from the
    time at the peak that it came closest to up to `latency_s`, in order; its terms add up to `latency_s`.
    `path`: the critical path by cause, adding up to `latency_s` as well.

    `assumed`: what the compiler was taken to do to it, and what it was told not to; `alternatives`: the time
    with each of these the other way, the largest difference first. `not_compared` says why there are none.

    `least_s`: under it clocks and documented rates allow no time.
    """

    kernel: str
    nki: str  # which nki it imported
    system: str
    generation: str
    scope: Scope
    cores: int
    evidence: Evidence
    latency_s: float
    bound: str
    instructions: int
    flops: float
    busy_s: dict[str, float]
    bytes: dict[str, float]
    shares: tuple[Share, ...]
    waterfall: tuple[Part, ...] = ()
    path: tuple[Part, ...] = ()
    lines: tuple[Line, ...] = ()
    notes: tuple[str, ...] = ()
    programs: tuple[ProgramTime, ...] = ()
    last: int = 0
    imbalance: float = 0.0
    assumed: tuple[Assumed, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    not_compared: str = ""
    least_s: float = 0.0

    def __repr__(self) -> str:
        took = f"{show(self.latency_s, 's')} {self.evidence.grade}"
        return brief(self, f"{self.kernel} on {self.system}: {took}, bound by {self.bound}")

    @property
    def expected_s(self) -> tuple[float, float] | None:
        """Least and most seconds to expect of the machine; None where no published evidence stands near."""
        return expected_time(self.evidence, self.latency_s, self.least_s)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why the time cannot be: a rate beyond what the clocks allow. Such a run is suspect."""
        return beyond_clocks((share.what, share.value, share.choice.engine_bound) for share in self.shares)

    @property
    def status(self) -> Status:
        return Status.SUSPECT if self.doubts else Status.OK

    @property
    def intensity(self) -> float | None:
        """FLOP of the tensor engine per byte of device memory; None where there is none of either."""
        moved = self.bytes.get("hbm_read", 0.0) + self.bytes.get("hbm_write", 0.0)
        return self.flops / moved if moved and self.flops else None
