"""What adapters share: a kernel of ours on the timed core, and the launch that a published clock holds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from trnbench.errors import TrnbenchError
from trnbench_emulator.core.builder import Builder
from trnbench_emulator.core.cases import arguments_of
from trnbench_emulator.core.recording import Launch, Recording
from trnbench_emulator.core.timing import Timing
from trnbench_emulator.nki import load_kernel
from trnbench_emulator.nki.instruction import Instruction
from trnbench_emulator.nki.op import Op
from trnbench_fidelity.bench import Bench
from trnbench_fidelity.point import Clock, NotEmulated, PublishedPoint


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


HOST_LAUNCH = "host-launch-overhead"
"""The assumption that gives the time of one launch by the clock on the wall."""


def launch_of(point: PublishedPoint, bench: Bench) -> tuple[float, str]:
    """Seconds of each launch in the published time, and the words that say so.

    A profile counts from the first instruction to the last and has none. A call of the host has a launch by
    the host in it, and the one on the device with it; in a loop that queues calls and waits once they pass
    while the device works. (Such a source's uint8 product takes 13.95 ms a pass sustained and 13.87 ms on
    the device.)
    """
    if point.clock is Clock.HOST:
        found = bench.system(point.system).book.assumptions.get(HOST_LAUNCH)
        if found is not None:
            return found.value, f"{found.printed} {found.printed_unit} of launch assumed"
    if point.clock is Clock.DEVICE:
        seconds = bench.table(point.system).launch_s
        return seconds, f"{seconds * 1e6:g} µs of launch" if seconds else ""
    return 0.0, ""
