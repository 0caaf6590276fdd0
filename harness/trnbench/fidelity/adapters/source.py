"""Public kernels, taken from a folder of the user's: loaded, recorded, timed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trnbench.errors import TrnbenchError
from trnbench.fidelity.point import KernelSource, PublishedPoint, Quantity
from trnbench.fidelity.prediction import NotEmulated, Prediction

if TYPE_CHECKING:
    from trnbench.emulator.core.costs import CostTable
    from trnbench.fidelity.bench import Bench

CALL_LIMIT = 2_000_000
"""Calls recorded for one public kernel: some 20 s."""


def predict(point: PublishedPoint, bench: Bench) -> Prediction:
    """The latency of the kernel named in the point.

    Raises `NotEmulated` when the point names no file, the folder lacks it, it does not load, or
    breaks a rule of the machine.
    """
    source = point.kernel
    if source is None:
        raise NotEmulated("the file of the kernel is not recorded", source_missing=True)
    if bench.kernels is None:
        raise NotEmulated(f"{source.file}::{source.function}", source_missing=True)
    if point.quantity is not Quantity.LATENCY:
        raise NotEmulated(f"a kernel has a time, not {point.quantity}")
    path = find(bench.kernels, source)
    from trnbench.emulator.core.demand import of_recording

    found = _recorded(path, source, point, bench)
    table = bench.table(point.system)
    demand = of_recording(found, table)
    time_s, bound = _time(demand, table)
    return Prediction(
        value=time_s, how=f"{source.file}::{source.function}, {found.calls:,} calls, {bound}-bound"
    )


def find(folder: Path, source: KernelSource) -> Path:
    """The file under `folder` whose path ends as the point says; the longest common end wins.

    Raises `NotEmulated` when there is none, or when two fit equally well.
    """
    wanted = Path(source.file).parts
    found: dict[int, list[Path]] = {}
    for path in sorted(folder.rglob(wanted[-1])):
        if path.is_file():
            found.setdefault(_common_end(path.parts, wanted), []).append(path)
    if not found:
        raise NotEmulated(f"{source.file} is not under {folder}", source_missing=True)
    best = found[max(found)]
    if len(best) > 1:
        raise NotEmulated(f"{source.file} is there twice: {best[0]}, {best[1]}", source_missing=True)
    return best[0]


def _common_end(parts: Sequence[str], wanted: Sequence[str]) -> int:
    count = 0
    for a, b in zip(reversed(parts), reversed(wanted), strict=False):
        if a != b:
            break
        count += 1
    return count


def _recorded(path: Path, source: KernelSource, point: PublishedPoint, bench: Bench) -> Any:
    from trnbench.emulator.core.recorded import Recording
    from trnbench.nki import Machine, load_kernel, record
    from trnbench.nki.provide import provide

    machine = Machine.of(bench.system(point.system))
    try:
        kernel, _, by = load_kernel(f"{path}::{source.function}", nki="trnbench")
        with provide("trnbench"):
            arguments = [_argument(each) for each in source.arguments]
            trace = record(kernel, arguments, machine=machine, limit=CALL_LIMIT)
    except TrnbenchError as error:
        raise NotEmulated(error.what) from None
    return Recording(dict(trace.tally), trace.count, "recorded call by call", str(by))


def _argument(text: str) -> Any:
    """ "float32[128,512]" → a tensor of that shape, "1e-05" → the number."""
    from trnbench.nki import TensorSpec

    dtype, bracket, rest = text.partition("[")
    if bracket:
        return TensorSpec(tuple(int(side) for side in rest.rstrip("]").split(",")), dtype)
    return float(text) if any(mark in text for mark in ".e") else int(text)


def _time(demand: Any, table: CostTable) -> tuple[float, str]:
    """One core alone, without the launch: profiles count from the first instruction."""
    busy = {name: seconds + demand.lead_s for name, seconds in demand.engines.items()}
    if demand.dma_s:
        busy["dma"] = demand.dma_s
    if demand.hbm_bytes:
        busy["hbm"] = demand.hbm_bytes / table.hbm_rate
    if not busy:
        raise NotEmulated("the kernel does nothing that takes time")
    bound = max(busy, key=lambda name: (busy[name], name))
    return busy[bound] + demand.fill_s, bound
