"""A kernel of ours on the timed core, for points that speak of single instructions and transfers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from trnbench.errors import TrnbenchError
from trnbench_emulator.core.builder import Builder
from trnbench_emulator.core.cases import arguments_of
from trnbench_emulator.core.recording import Launch, Recording
from trnbench_emulator.nki import load_kernel
from trnbench_emulator.nki.instruction import Instruction
from trnbench_emulator.nki.op import Op
from trnbench_fidelity.point import NotEmulated

if TYPE_CHECKING:
    from trnbench_emulator.core.timing import Timing
    from trnbench_fidelity.bench import Bench


def timed(
    ref: str, arguments: Sequence[Any], bench: Bench, system: str, launch: Launch | None = None
) -> Timing:
    """The kernel `ref` ("module:function") as `trnbench nki run` emulates it, without a waterfall.

    `arguments`: (shape, dtype) for a tensor, other values as they are. Raises `NotEmulated` for what the
    machine refuses and for costs that are missing.
    """
    launch = launch or Launch(explain=False)
    try:
        return bench.kernel_model.time(
            _kernel(ref), arguments_of(tuple(arguments)), bench.system(system), launch
        )
    except TrnbenchError as error:
        raise NotEmulated(error.what) from None


def repeated(
    engine: str, opcode: str, dtype: str, variables: dict[str, Any], count: int, bench: Bench, system: str
) -> Timing:
    """`count` of one instruction that no call of NKI makes alone, one behind the other."""
    builder = Builder(bench.kernel_model.machine(bench.system(system)))
    op = Op(engine, opcode, dtype, variables, {})
    for _ in range(count):
        builder.take(Instruction(op, (), (), "", 0))
    return timing_of(Recording((builder.program,)), bench, system)


def timing_of(recording: Recording, bench: Bench, system: str, *, cores: int = 1) -> Timing:
    """Of what was recorded, where `cores` of a device run it at once. Raises `NotEmulated`."""
    try:
        return bench.kernel_model.timing(recording, bench.system(system), Launch(cores=cores, explain=False))
    except TrnbenchError as error:
        raise NotEmulated(error.what) from None


@lru_cache(maxsize=64)
def _kernel(ref: str) -> Any:
    return load_kernel(ref, nki="trnbench")[0]
