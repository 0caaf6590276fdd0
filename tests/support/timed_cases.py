"""Runs of small cases on this machine, process by process: what comparisons are tried on.

A run takes the processes of a case in rounds, one of every case after the other, as measured runs do. As a
script it is one process of one case and needs Python alone: `timed_cases.py KIND COUNT CLOCK`.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator

PROCESSES = 3
SAMPLES_S = 0.03
"""Seconds that one process takes samples for."""


def _loop(count: int) -> Callable[[], object]:
    def work() -> int:
        total = 0
        for each in range(count):
            total += each & 7
        return total

    return work


def _checksum(count: int) -> Callable[[], object]:
    data = os.urandom(count * 64)
    return lambda: zlib.crc32(data)


def _copy(count: int) -> Callable[[], object]:
    data = bytearray(os.urandom(count * 64))
    return lambda: bytes(data)


def _sorting(count: int) -> Callable[[], object]:
    data = [(each * 7919) % 10_007 for each in range(200)]

    def work() -> None:
        for _ in range(count // 400):
            sorted(data)

    return work


KINDS = {"loop": _loop, "checksum": _checksum, "copy": _copy, "sorting": _sorting}
CASES = [(kind, count) for kind in KINDS for count in (4_000, 8_000, 16_000, 32_000, 64_000)]
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


def _samples(kind: str, count: int, clock: Callable[[], float]) -> list[float]:
    work = KINDS[kind](count)
    work()
    found: list[float] = []
    end = clock() + SAMPLES_S
    while clock() < end or len(found) < 5:
        begun = clock()
        work()
        found.append(clock() - begun)
    return found


def _run(slow: float, clock: str) -> dict[str, list[list[float]]]:
    found: dict[str, list[list[float]]] = {f"{kind}-{count}": [] for kind, count in CASES}
    for _ in range(PROCESSES):
        for number, (kind, count) in enumerate(CASES):
            asked = round(count * (1.0 + slow)) if number % 2 else count
            done = subprocess.run(
                [sys.executable, "-S", __file__, kind, str(asked), clock], stdout=subprocess.PIPE, check=True
            )
            found[f"{kind}-{count}"].append(json.loads(done.stdout))
    return found


def collect(runs: int, slow: float = 0.0, clock: str = "wall") -> list[dict[str, list[list[float]]]]:
    """Per run: case → samples of each process, in seconds. Every second run is the slower one."""
    return [_run(slow if number % 2 else 0.0, clock) for number in range(runs)]


@contextlib.contextmanager
def busy(processes: int) -> Iterator[None]:
    """Beside it, so many processes compute; half come and go: what is always there slows all alike."""
    program = "import time\nwhile True:\n end=time.time()+{}\n while time.time()<end: pass\n time.sleep({})"
    started = [
        subprocess.Popen([sys.executable, "-c", program.format(1.0 + each % 7, 0.0 if each % 2 else 2.0)])
        for each in range(processes)
    ]
    try:
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()


if __name__ == "__main__":
    print(json.dumps(_samples(sys.argv[1], int(sys.argv[2]), CLOCKS[sys.argv[3]])))
