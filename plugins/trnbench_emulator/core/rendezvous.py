"""Where the programs of one launch (SPMD) meet, each of which runs on a core of its own.

A rendezvous is a call that all programs make, in one order: `core_barrier` or `sendrecv`. Each core tells the
others by a semaphore, which they see `signal` later. A barrier ends when all have told; an exchange begins
when all have come, and ends when the slowest of its transfers has.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from trnbench.errors import KernelError
from trnbench_emulator.core.core import MET, Core
from trnbench_emulator.core.program import Program

BARRIER, EXCHANGE = "core_barrier", "sendrecv"
OPCODES = (BARRIER, EXCHANGE)


class Wait(NamedTuple):
    """At one rendezvous, in ticks: when the program could have gone on alone, because of what, and when it
    did. `tells`: when it has told the others that it has come; they see it a signal later.
    """

    ready: int
    start: int
    cause: int
    tells: int

    @property
    def waited(self) -> bool:
        return self.start > self.ready


def rendezvous_of(program: Program) -> list[int]:
    """Instructions at which a program meets the others."""
    ops = [number for number, op in enumerate(program.ops) if op.opcode in OPCODES]
    if not ops:
        return []
    numbers: list[int] = np.flatnonzero(np.isin(np.frombuffer(program.op, np.uint32), ops)).tolist()
    return numbers


def meet(cores: dict[int, Core], here: dict[int, int], of: Sequence[int], signal: int) -> dict[int, Wait]:
    """Carry out a rendezvous on all `cores` at once: instruction `here` of each. Program i runs as that of
    core `of[i]` does.
    """
    first = next(iter(cores))
    barrier = cores[first].program.ops[cores[first].program.op[here[first]]].opcode == BARRIER
    alone = {number: _alone(core, here[number]) for number, core in cores.items()}
    # At a barrier a core tells the others once it is done with its own part of it.
    tells = {number: done if barrier else ready for number, (ready, done, _) in alone.items()}
    waits = {}
    for number, core in cores.items():
        ready, done, cause = alone[number]
        others = [tells[core_of] for program, core_of in enumerate(of) if program != of.index(number)]
        start = max(ready, max(others) + signal - (done - ready if barrier else 0))
        queue = core.plain[core.op[here[number]]][0]
        if start > ready:
            core.free[queue] = start
        core.advance(here[number], here[number] + 1)
        if start > ready:
            core.cause[here[number]] = MET
        waits[number] = Wait(ready, start, cause, tells[number])
    if not barrier:
        end = max(core.end[here[number]] for number, core in cores.items())
        for number, core in cores.items():
            queue = core.plain[core.op[here[number]]][0]
            core.end[here[number]] = core.last[queue] = end
    return waits


def _alone(core: Core, number: int) -> tuple[int, int, int]:
    """When instruction `number`, the next of `core`, would start and let its queue go, and what it would wait
    for. Nothing is changed.
    """
    twin = copy.copy(core)
    for name, value in vars(core).items():
        if isinstance(value, list) and name != "plain":
            setattr(twin, name, [list(each) if isinstance(each, list) else each for each in value])
    twin.used = dict(core.used)
    twin.advance(number, number + 1)
    return twin.start[number], twin.issued[number], twin.cause[number]


def check_same_rendezvous(one: Program, other: Program, number: int) -> None:
    """Raises `KernelError` unless programs 0 and `number` meet in one order."""
    ours, theirs = rendezvous_of(one), rendezvous_of(other)
    for turn, (here, there) in enumerate(zip(ours, theirs, strict=False), start=1):
        if _call(one, here) != _call(other, there):
            raise KernelError(
                f"meeting {turn} of the launch is {_shown(one, here)} in program 0 and "
                f"{_shown(other, there)} in program {number}",
                cause="programs that meet in different orders wait for each other without end",
                try_="make the same calls of core_barrier and sendrecv in the same order in every program",
            )
    if len(ours) != len(theirs):
        waits, program, missing = (0, one, number) if len(ours) > len(theirs) else (number, other, 0)
        place = _shown(program, max(ours, theirs, key=len)[min(len(ours), len(theirs))])
        raise KernelError(
            f"program {waits} waits at {place} for program {missing}, which has ended",
            cause="nisa.core_barrier and nisa.sendrecv are calls that all programs have to make",
        )


def _call(program: Program, number: int) -> tuple[str, Any]:
    op = program.ops[program.op[number]]
    return op.opcode, op.variables.get("pipe")


def _shown(program: Program, number: int) -> str:
    opcode, pipe = _call(program, number)
    file, line = program.places[program.place[number]]
    which = "" if pipe is None else f", pipe {pipe}"
    return f"nisa.{opcode}{which} ({PurePath(file).name}:{line})"
