"""Collectives and messages between ranks, by the emulator's model of the links."""

from __future__ import annotations

from trnbench.errors import UsageError
from trnbench.kernels.work import busbw_factor
from trnbench_emulator import seconds
from trnbench_emulator.core.recording import Launch
from trnbench_emulator.fabric.ask import ask, published_question
from trnbench_fidelity.bench import Bench
from trnbench_fidelity.point import NotEmulated, Prediction, PublishedPoint, Quantity
from trnbench_fidelity.probes import timed

OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "permute", "sendrecv")


def predict(point: PublishedPoint, bench: Bench) -> Prediction:
    """A time, or the bus bandwidth by the documented factor. Ranks are cores or logical cores. Where a call
    of a kernel was timed (`call = "nki"`), ours holds the copies that it makes.

    Raises `NotEmulated` where ranks or size are not stated or do not fit the system.
    """
    ranks, size = point.number("ranks"), point.number("bytes")
    if ranks is None or size is None:
        raise NotEmulated("ranks and message size are not both stated")
    if point.operation not in OPERATIONS:
        raise NotEmulated(f"no model of {point.operation or point.op}")
    system = bench.system(point.system)
    try:
        answer = ask(
            published_question(
                system,
                point.operation,
                float(size),
                ranks,
                nodes=point.number("nodes") or 1,
                lnc=point.number("lnc") or 0,
                context=str(point.shape.get("context", "nccom")),
            )
        )
    except UsageError as error:
        raise NotEmulated(f"{error.what} ({error.cause})" if error.cause else error.what) from None
    seconds = answer.time_s
    how = f"{point.operation} of {size:,} B, {ranks} ranks of {system.name}, {answer.algorithm}"
    if point.shape.get("call") == KERNEL:
        copied = copies_s(point, ranks, size, bench)
        seconds += copied
        how += f", and {copied * 1e6:.1f} µs of copies in a kernel's call"
    if point.quantity is Quantity.LATENCY:
        return Prediction(value=seconds, how=how)
    if point.quantity is Quantity.BUSBW:
        return Prediction(value=busbw_factor(point.operation, ranks) * size / seconds, how=how)
    raise NotEmulated(f"a collective has a time or a bandwidth, not {point.quantity}")


KERNEL = "nki"
"""`call` of a point's shape: what is timed is a call of such a kernel, queued behind others."""
_BUFFERS = {"all_gather": (1, 1), "reduce_scatter": (1, 1), "broadcast": (1, 0)}
"""What a rank keeps in memory: whole tensors, and shards of one; elsewhere one to send and one to receive."""
_ROW = 128 * 4  # bytes: one element of fp32 on every partition


def copies_s(point: PublishedPoint, ranks: int, size: int, bench: Bench) -> float:
    """Seconds of the two copies of each rank, all ranks of a device at once, by the timed core.

    `size` as the collective's question states it: what a rank holds before and after follows from it.
    Raises `NotEmulated` where these are no whole rows of 128 partitions.
    """
    whole, shards = _BUFFERS.get(point.operation, (2, 0))
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
