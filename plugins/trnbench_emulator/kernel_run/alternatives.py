"""What a kernel's time owes to what the compiler is taken to do: the time with one switch the other way."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import msgspec

from trnbench.errors import KernelError
from trnbench_emulator.compiler import SWITCHES, Assumptions

LIMIT = 60_000
"""Instructions times switches up to which the other ways are worked out: some seconds."""

MATTERS = 0.1
"""Share of the time from which on both times are printed."""


class Assumed(msgspec.Struct, frozen=True, kw_only=True):
    """One switch that a kernel meets. `times`: how often the compiler was taken to do this while the kernel
    was recorded, rounds that fold being decided once; 0 where it is switched off. `about` says what it does
    then, or what is done instead."""

    name: str
    on: bool
    times: int
    about: str


class Alternative(msgspec.Struct, frozen=True, kw_only=True):
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
            about=each.assumed if name in assumptions else each.otherwise,
        )
        for name, each in SWITCHES.items()
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
        other = assumptions.toggled(name)
        called = name if name in other else SWITCHES[name].negation
        try:
            time_s = timed(other)
        except KernelError as error:  # it breaks a rule of the machine then, which is told
            tried.append(Alternative(name=called, problem=error.what))
            continue
        tried.append(Alternative(name=called, latency_s=time_s, slower=time_s / latency_s - 1))
    return tuple(sorted(tried, key=lambda each: (-abs(each.slower), each.name))), ""
