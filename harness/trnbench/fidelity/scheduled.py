"""A kernel of ours on the scheduler of the emulator, for points that speak of single instructions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from trnbench.errors import TrnbenchError
from trnbench.fidelity.prediction import NotEmulated

if TYPE_CHECKING:
    from trnbench.emulator.core.pace import Without
    from trnbench.emulator.core.program import Program
    from trnbench.emulator.core.scheduler import Schedule
    from trnbench.fidelity.bench import Bench
    from trnbench.nki import Machine


def scheduled(
    ref: str,
    arguments: Sequence[Any],
    bench: Bench,
    system: str,
    *,
    cores: int = 1,
    without: Without | None = None,
) -> Schedule:
    """The kernel `ref` ("module:function") recorded with shapes and scheduled as `trnbench nki run` does.

    `arguments`: (shape, dtype) for a tensor, other values as they are; `cores` of one device run it at
    once; `without`: causes of lost time left out. Raises `NotEmulated` for what the machine refuses and
    for costs that are missing.
    """
    from trnbench.emulator.core.pace import Pace
    from trnbench.emulator.core.scheduler import NOTHING_REMOVED, schedule
    from trnbench.nki import Machine

    try:
        program = _recorded(ref, tuple(arguments), Machine.of(bench.system(system)))
        pace = Pace(bench.table(system), sharing=cores)
        return schedule(program, pace, without=without or NOTHING_REMOVED)
    except TrnbenchError as error:
        raise NotEmulated(error.what) from None


def repeated(
    engine: str, opcode: str, dtype: str, variables: dict[str, Any], count: int, bench: Bench, system: str
) -> Schedule:
    """`count` of one instruction that no call of NKI makes alone, one behind the other."""
    from trnbench.emulator.core.builder import Builder
    from trnbench.emulator.core.pace import Pace
    from trnbench.emulator.core.scheduler import schedule
    from trnbench.nki import Machine
    from trnbench.nki.instruction import Instruction, Op

    builder = Builder(Machine.of(bench.system(system)))
    op = Op(engine, opcode, dtype, variables, {})
    for _ in range(count):
        builder.take(Instruction(op, (), (), "", 0))
    try:
        return schedule(builder.program, Pace(bench.table(system)))
    except TrnbenchError as error:
        raise NotEmulated(error.what) from None


@lru_cache(maxsize=64)
def _recorded(ref: str, arguments: tuple[Any, ...], machine: Machine) -> Program:
    """What an instruction depends on is the same for every table of costs: it is recorded once."""
    from trnbench.emulator.core.builder import Builder
    from trnbench.nki import TensorSpec, load_kernel, record

    kernel, _, _ = load_kernel(ref, nki="trnbench")
    builder = Builder(machine)
    given = [TensorSpec(each[0], each[1]) if isinstance(each, tuple) else each for each in arguments]
    record(kernel, given, machine=machine, sink=builder)
    return builder.program
