"""The program that a kernel makes on a core, instruction by instruction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from trnbench_emulator.core.builder import Builder
from trnbench_emulator.core.launch import LaunchSchedule
from trnbench_emulator.core.program import Program
from trnbench_emulator.core.scheduler import Schedule
from trnbench_emulator.nki import Machine, load_kernel, record


def program_of(ref: str, args: Sequence[Any], system: Any, **limits: int) -> Program:
    """`ref` as `trnbench nki run` takes it; `limits` of the core in the place of the documented ones."""
    kernel, _, _ = load_kernel(ref, nki="trnbench")
    machine = msgspec.structs.replace(Machine.of(system), **limits)
    builder = Builder(machine)
    record(kernel, args, machine=machine, sink=builder)
    return builder.program


def path_of(schedule: Schedule) -> dict[str, int]:
    """The critical path of a program that runs alone, in ticks by cause."""
    return LaunchSchedule(schedules=(schedule,), waits=({},), whole=()).path()
