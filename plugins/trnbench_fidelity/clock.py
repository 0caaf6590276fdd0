"""Which launch the clock of a publication holds beside the kernel: none, the device's or the host's."""

from __future__ import annotations

from trnbench_fidelity.bench import Bench
from trnbench_fidelity.point import Clock, PublishedPoint

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
