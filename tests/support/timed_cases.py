"""Runs of small cases on this machine, process by process: what comparisons are tried on. Python alone is needed.

`python tests/support/timed_cases.py FILE --runs 20 [--slow 0.05] [--busy 16]` writes FILE: for each run and case
the seconds of every process's samples. A run takes the processes of a case in rounds, one of every case after
the other, as measured runs do. With --slow every second run does that much more work in every second case.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Callable

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


def _samples(kind: str, count: int) -> list[float]:
    work = KINDS[kind](count)
    work()
    found: list[float] = []
    end = time.perf_counter() + SAMPLES_S
    while time.perf_counter() < end or len(found) < 5:
        begun = time.perf_counter()
        work()
        found.append(time.perf_counter() - begun)
    return found


def _run(slow: float) -> dict[str, list[list[float]]]:
    found: dict[str, list[list[float]]] = {f"{kind}-{count}": [] for kind, count in CASES}
    for _ in range(PROCESSES):
        for number, (kind, count) in enumerate(CASES):
            asked = round(count * (1.0 + slow)) if number % 2 else count
            done = subprocess.run(
                [sys.executable, "-S", __file__, "--one", kind, str(asked)], stdout=subprocess.PIPE, check=True
            )
            found[f"{kind}-{count}"].append(json.loads(done.stdout))
    return found


def collect(runs: int, slow: float = 0.0) -> list[dict[str, list[list[float]]]]:
    """Per run: case → samples of each process, in seconds. Every second run is slower where `slow` says so."""
    return [_run(slow if number % 2 else 0.0) for number in range(runs)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?")
    parser.add_argument("--one", nargs=2)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--slow", type=float, default=0.0)
    parser.add_argument("--busy", type=int, default=0, help="processes that compute beside the runs")
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(_samples(asked.one[0], int(asked.one[1]))))
        return
    # Half of them come and go: what is always there slows every run alike.
    program = "import time\nwhile True:\n end=time.time()+{}\n while time.time()<end: pass\n time.sleep({})"
    busy = [
        subprocess.Popen([sys.executable, "-c", program.format(1.0 + each % 7, 0.0 if each % 2 else 2.0)])
        for each in range(asked.busy)
    ]
    try:
        found = collect(asked.runs, asked.slow)
    finally:
        for each in busy:
            each.kill()
            each.wait()
    with open(asked.file, "w") as file:
        json.dump({"slow": asked.slow, "busy": asked.busy, "runs": found}, file)


if __name__ == "__main__":
    main()
