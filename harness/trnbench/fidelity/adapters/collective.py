"""Collectives and messages between ranks, by the emulator's model of the links."""

from __future__ import annotations

from trnbench.errors import UsageError
from trnbench.fidelity.bench import Bench
from trnbench.fidelity.point import PublishedPoint, Quantity
from trnbench.fidelity.prediction import NotEmulated, Prediction

OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "permute", "sendrecv")


def predict(point: PublishedPoint, bench: Bench) -> Prediction:
    """A time, or the bus bandwidth by the documented factor. Ranks are cores or logical cores. Where the
    source says that its time holds a launch of so many µs (`launch_us`), so does ours.

    Raises `NotEmulated` where ranks or size are not stated or do not fit the system.
    """
    from trnbench.emulator.fabric.ask import ask
    from trnbench.emulator.fabric.published import published_question
    from trnbench.kernels.families.collective import busbw_factor

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
    launch = point.number("launch_us") or 0
    seconds = answer.time_s + launch * 1e-6
    how = f"{point.operation} of {size:,} B, {ranks} ranks of {system.name}, {answer.algorithm}"
    how += f", with a launch of {launch} µs as the source says" if launch else ""
    if point.quantity is Quantity.LATENCY:
        return Prediction(value=seconds, how=how)
    if point.quantity is Quantity.BUSBW:
        return Prediction(value=busbw_factor(point.operation, ranks) * size / seconds, how=how)
    raise NotEmulated(f"a collective has a time or a bandwidth, not {point.quantity}")
