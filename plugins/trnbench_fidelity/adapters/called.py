"""What a call of an NKI kernel takes beside the one collective in it.

A collective takes neither arguments nor results of a kernel, so that such a kernel copies its input to a
buffer of its own and the result out of one: `all_reduce_hbm_kernel` and its like in aws-neuron/nki-library.
"""

from __future__ import annotations

from trnbench_emulator.clock import seconds
from trnbench_fidelity.bench import Bench
from trnbench_fidelity.point import PublishedPoint
from trnbench_fidelity.prediction import NotEmulated
from trnbench_fidelity.scheduled import timed

KERNEL = "nki"
"""`call` of a point's shape: what is timed is a call of such a kernel, queued behind others."""
_ROW = 128 * 4  # bytes: one element of fp32 on every partition


def copies_s(point: PublishedPoint, ranks: int, size: int, bench: Bench) -> float:
    """Seconds of the two copies of each rank, all ranks of a device at once, by the timed core.

    `size` as the collective's question states it: what a rank holds before and after follows from it.
    Raises `NotEmulated` where these are no whole rows of 128 partitions.
    """
    from trnbench_emulator.core.launch import Launch
    from trnbench_kernels.families.collective import PATTERNS

    whole, shards = PATTERNS[point.operation].held
    cores_of_rank = point.number("lnc") or 1
    cores = min(ranks * cores_of_rank, bench.system(point.system).cores_per_device)
    total = 0.0
    for held in [size] * whole + [size // ranks] * shards:
        columns, rest = divmod(held // cores_of_rank, _ROW)
        if rest or not columns:
            raise NotEmulated(f"{held:,} B are no whole rows of 128 partitions to copy")
        timing = timed(
            "trnbench_kernels.nki.streams:hbm_copy",
            (((1, 128, columns), "float32"),),
            bench,
            point.system,
            Launch(cores=cores, explain=False),
        )
        total += seconds(timing.total)
    return total
