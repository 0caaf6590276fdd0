"""The torch stack beside the timers that its users know: torch.utils.benchmark, and Triton's do_bench.

Run as a script it prints the ratios: `python tests/benchmarks/test_torch_against_others.py [TURNS]`. On a
processor both time the same call on the same tensors in one process, in the order A B B A. Each pair of turns
gives one ratio; told are their median and its bootstrap interval, of medians and of minima (load only adds
time: where the two disagree, the machine was busy). On a GPU the whole path of a measured case (events,
flushed L2 for a copy) is held against do_bench on the same tensors.

As tests, only what no other process can disturb is asserted: that both time the same call.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pytest

from trnbench.measure.timing import time_batch
from trnbench.reference import resolve
from trnbench.results.statistics import bootstrap
from trnbench_cuda.backend import CudaBackend
from trnbench_torch import SOURCES, library

POINTS: dict[str, tuple[str, dict[str, Any]]] = {
    "gemm fp32 512": ("gemm", {"dtype": "fp32", "size": 512}),
    "gemm bf16 1024": ("gemm", {"dtype": "bf16", "size": 1024}),
    "copy 64 MiB": ("hbm_copy", {"size": 64 << 20}),
}
ON_GPU: dict[str, tuple[str, dict[str, Any]]] = {
    "gemm bf16 8192": ("gemm", {"dtype": "bf16", "size": 8192}),
    "gemm bf16 1024": ("gemm", {"dtype": "bf16", "size": 1024}),
    "copy 1 GiB": ("hbm_copy", {"size": 1 << 30}),
    "copy 16 MiB": ("hbm_copy", {"size": 16 << 20}),
}
TURNS, ROUNDS = 10, 30
NO_TORCH = library.missing()
GPU = CudaBackend().detect()
needs_torch = pytest.mark.skipif(NO_TORCH is not None, reason="torch is not installed")


class Pairs(NamedTuple):
    """Samples of both, turn by turn."""

    one: list[tuple[float, ...]]
    other: list[tuple[float, ...]]

    def ratios(self, of: Callable[[Sequence[float]], float]) -> list[float]:
        return [of(a) / of(b) for a, b in zip(self.one, self.other, strict=True)]


def in_turns(one: Any, other: Any, turns: int) -> Pairs:
    """A B B A B … : neither always goes first."""
    pairs = Pairs([], [])
    for turn in range(turns):
        for first in (True, False) if turn % 2 == 0 else (False, True):
            (pairs.one if first else pairs.other).append(one() if first else other())
    return pairs


def told(name: str, pairs: Pairs) -> str:
    """The ratio with its interval (bootstrap over pairs of turns, 95 %), by medians and by minima."""
    parts = []
    for word, of in (("medians", median), ("minima", min)):
        ratios = tuple(pairs.ratios(of))
        interval = bootstrap(ratios, seed=0)
        parts.append(f"{word} {median(ratios):.4f} ({interval.low:.4f} to {interval.high:.4f})")
    return f"{name}, {len(pairs.one)} pairs of turns: {', '.join(parts)}"


def on_processor(kernel: str, point: dict[str, Any]) -> Callable[[], Any]:
    """The very call that a measured case times."""
    from trnbench_torch.device import CpuDevice

    device = CpuDevice(lambda calls: (calls[0], lambda: None, None))
    device.prepare()
    made = resolve(SOURCES[kernel])(point, device, np.random.default_rng(1))
    assert made.check(made.call()) == ""
    return made.call  # type: ignore[no-any-return]


def ours(call: Callable[[], Any], rounds: int) -> tuple[float, ...]:
    return time_batch(call, rounds=rounds).samples


def theirs(call: Callable[[], Any], rounds: int) -> tuple[float, ...]:
    """One call to a measurement, as ours; one thread, as ours."""
    from torch.utils.benchmark import Timer

    timer = Timer("call()", globals={"call": call}, num_threads=1)
    return tuple(timer.timeit(1).mean for _ in range(rounds))


@needs_torch
def test_torch_utils_benchmark_sees_the_same_order_of_time() -> None:
    call = on_processor("gemm", {"dtype": "fp32", "size": 256})
    # A factor of ten is no noise: both time the same work, in seconds, per call.
    assert 0.1 < median(ours(call, 10)) / median(theirs(call, 10)) < 10


def beside_do_bench(kernel: str, point: dict[str, Any]) -> tuple[float, float]:
    """(seconds by the path of a measured case, seconds by do_bench) of one call on GPU 0."""
    from triton.testing import do_bench

    import torch
    from trnbench.measure.session import measure
    from trnbench_torch.cuda import CudaCarrier, CudaDevice
    from trnbench_torch.device import Launches

    device = CudaDevice(0)
    made = resolve(SOURCES[kernel])(point, device, np.random.default_rng(1))
    cache = float(getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 0))
    program = CudaCarrier([device], torch=torch, cache_bytes=cache).program(Launches([made]))
    assert program.check(program.run()) == ""
    return (
        median(measure(program).chosen.device_samples),
        do_bench(made.call, warmup=50, rep=300, return_mode="median") * 1e-3,
    )


@pytest.mark.device
@pytest.mark.skipif(not GPU.available, reason=f"needs a CUDA device: {GPU.why}")
@pytest.mark.parametrize("name", ON_GPU)
def test_do_bench_sees_the_same_time(name: str) -> None:
    pytest.importorskip("triton", reason="Triton is not installed: it comes with torch for CUDA")
    one, other = beside_do_bench(*ON_GPU[name])
    print(f"{name}: {one / other:.4f} of do_bench's time")
    assert 0.5 < one / other < 2.0


def main(turns: int = TURNS) -> None:
    """The ratios, for people; on one processor."""
    if NO_TORCH is not None:
        print(f"{NO_TORCH.why}: {NO_TORCH.try_}")
        return
    os.sched_setaffinity(0, (max(os.sched_getaffinity(0)),))
    for name, (kernel, point) in POINTS.items():
        call = on_processor(kernel, point)
        pairs = in_turns(lambda c=call: ours(c, ROUNDS), lambda c=call: theirs(c, ROUNDS), turns)
        print(told(f"ours / torch.utils.benchmark, {name}", pairs))
    if not GPU.available:
        print(f"beside Triton's do_bench: skipped, {GPU.why}")
        return
    for name, (kernel, point) in ON_GPU.items():
        one, other = beside_do_bench(kernel, point)
        print(f"ours / do_bench, {name}: {one / other:.4f} ({one:.4g} s, {other:.4g} s)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TURNS)
