"""Measured cases as a run measures them beside pyperf, in the same minutes: ratios of medians, and statuses.

    python tests/benchmarks/test_steady_against_pyperf.py [--busy]

GEMM, triad and copy of the `host` backend, four sizes each, on one processor; pyperf times the same
expression on the same processor, three processes each. `--busy` runs one busy process per processor beside
both, and then once more without: told is which cases are called good though they are more than a tenth away
from pyperf without the load.

As tests, only what no other process can disturb is asserted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest

import trnbench
from trnbench import Measurement, Status


class Case(NamedTuple):
    """A case of the `host` backend and the expression that pyperf is given for it; `size` counts rows of a
    matrix, or bytes of an array."""

    kernel: str
    size: int
    setup: str
    statement: str

    @property
    def name(self) -> str:
        return f"{self.kernel} {self.size}"


MATRICES = (
    "import numpy as np; r = np.random.default_rng(1); n = {size}; "
    "a = r.uniform(-1, 1, (n, n)).astype('f4'); b = r.uniform(-1, 1, (n, n)).astype('f4'); "
    "out = np.empty_like(a)"
)
ARRAYS = (
    "import numpy as np; n = {size} // 8; "
    "a, b, c = (np.resize(np.random.default_rng(1).uniform(-1, 1, 65536), n) for _ in range(3))"
)
TRIAD = "np.multiply(c, 3.0, out=a); np.add(a, b, out=a)"
SIZES = tuple(size << 10 for size in (16, 256, 4096, 32768))
CASES = (
    *(Case("host_matmul", size, MATRICES, "np.matmul(a, b, out=out)") for size in (64, 256, 512, 1024)),
    *(Case("stream_triad", size, ARRAYS, TRIAD) for size in SIZES),
    *(Case("stream_copy", size, ARRAYS, "np.copyto(c, a)") for size in SIZES),
)

FAR = 0.10


class Beside(NamedTuple):
    """One case by both: seconds, and what we say of ours."""

    name: str
    ours_s: float
    pyperf_s: float
    status: Status
    stability: str

    @property
    def ratio(self) -> float:
        return self.ours_s / self.pyperf_s


def ours(cases: Sequence[Case]) -> dict[str, Measurement]:
    """By one `trnbench.bench`: three processes for each, round after round, on one processor."""
    sizes: dict[str, list[str]] = {}
    for each in cases:
        sizes.setdefault(each.kernel, []).append(str(each.size))
    run = trnbench.bench(
        list(sizes),
        backend="host",
        axes=[
            *(["host_matmul.dtype=fp32"] if "host_matmul" in sizes else []),
            *(f"{kernel}.size={','.join(found)}" for kernel, found in sizes.items()),
        ],
        scopes=["core"],
        seed=1,
    )
    return {f"{each.case.kernel} {each.case.point['size']}": each for each in run.measurements}


def pyperfs(case: Case, values: int = 50) -> float:
    """The median of pyperf's values of one process, on the processor that our cases are kept on. A value
    lasts 2 ms and not pyperf's usual 100: a mean over 100 ms holds whatever else ran meanwhile."""
    often = ["-p", "1", "-w", "1", "-n", str(values), "--min-time", "0.002"]
    often += ["--affinity", str(max(os.sched_getaffinity(0))), "--inherit-environ", "OPENBLAS_NUM_THREADS"]
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out.json"
        command = [sys.executable, "-m", "pyperf", "timeit", "-q", *often, "--output", str(target)]
        subprocess.run(
            [*command, "-s", case.setup.replace("{size}", str(case.size)), case.statement],
            check=True,
            capture_output=True,
            timeout=600,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
        found = json.loads(target.read_text())["benchmarks"][0]
    return median(value for each in found["runs"] for value in each.get("values", ()))


def beside(cases: Sequence[Case]) -> list[Beside]:
    """pyperf's first process of each case, all of ours, pyperf's other two: a drift is in both."""
    theirs = [[pyperfs(each)] for each in cases]
    measured = ours(cases)
    for _ in range(2):
        for found, each in zip(theirs, cases, strict=True):
            found.append(pyperfs(each))
    made = []
    for found, each in zip(theirs, cases, strict=True):
        one = measured[each.name]
        assert one.time_s is not None, one.reason_text
        verdict = one.stability.verdict if one.stability else ""
        made.append(Beside(each.name, one.time_s, median(found), one.status, verdict))
    return made


@contextmanager
def busy() -> Iterator[None]:
    """One process per processor that does nothing but take its time. They end with the block."""
    started = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
        for _ in os.sched_getaffinity(0)
    ]
    try:
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()


def wrong(found: list[Beside], quiet: dict[str, float]) -> list[str]:
    """Cases called good whose time is more than a tenth away from that of a quiet machine."""
    return [
        f"{each.name}: {each.ours_s / quiet[each.name]:.2f} times"
        for each in found
        if each.status is Status.OK and abs(each.ours_s / quiet[each.name] - 1.0) > FAR
    ]


def told(found: list[Beside]) -> str:
    ratios = [each.ratio for each in found]
    good = [each for each in found if each.status is Status.OK]
    lines = [
        f"  {each.name:24} {each.ours_s * 1e6:12.2f} µs {each.pyperf_s * 1e6:12.2f} µs {each.ratio:8.3f}  "
        f"{each.status} ({each.stability})"
        for each in found
    ]
    lines.append(
        f"  median ratio {median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}), "
        f"{len(good)} of {len(found)} ok"
    )
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    def load() -> str:
        return f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} processors"

    found: list[Beside] = []
    if "--busy" in arguments:
        with busy():
            found = beside(CASES)
            print(f"one busy process per processor beside it ({load()})\n{told(found)}")
    plain = beside(CASES)
    print(f"as the machine was ({load()})\n{told(plain)}")
    if found:
        far = wrong(found, {each.name: each.pyperf_s for each in plain})
        print(f"good under load and more than {FAR:.0%} off: {'; '.join(far) or 'none'}")


def test_both_time_the_same_expression() -> None:
    pytest.importorskip("pyperf", reason="pyperf, of the test extra, is not installed")
    case = CASES[1]
    measured = ours([case])[case.name]
    assert measured.time_s is not None, measured.reason_text
    assert len(measured.processes) == 3
    theirs = pyperfs(case, values=2)
    # A factor of ten is no noise: both time the same work, in seconds, per call.
    assert 0.1 < measured.time_s / theirs < 10


if __name__ == "__main__":
    main(sys.argv[1:])
