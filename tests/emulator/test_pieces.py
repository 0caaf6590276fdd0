"""A large problem in pieces takes as long as the same problem recorded and scheduled whole."""

from __future__ import annotations

from typing import Any

import pytest

from trnbench_emulator.core.cases import arguments_of
from trnbench_emulator.core.recording import Launch
from trnbench_emulator.core.timing import KernelModel, Timing
from trnbench_emulator.nki import load_kernel
from trnbench_emulator.nki.source import Source

BASE = "trnbench_kernels.nki"
SYSTEMS = ("trn1.32xlarge", "trn2-16.48xlarge", "trn3-gen2-ultraserver")
EVERYWHERE = ("gemm_best", "gemm_naive", "causal attention")
"""Problems tried on a core of each generation, and products in each type: whether a piece takes as long
beside others depends on what holds it up."""
BF16, FP32 = "bfloat16", "float32"


def _square(size: int, dtype: str) -> Any:
    return (((size, size), dtype),) * 2


def _heads(causal: bool) -> Any:
    across, along = ((8, 128, 2048), BF16), ((8, 2048, 128), BF16)
    return (across, across, along, causal)


PROBLEMS = {
    "gemm_best": ("gemm_best:gemm_best", _square(4096, BF16)),
    "gemm_best of unlike blocks": ("gemm_best:gemm_best", (((4100, 4097), FP32), ((4100, 4095), FP32))),
    "gemm_best of wide rest": ("gemm_best:gemm_best", (((2048, 4096), FP32), ((2048, 10944), FP32))),
    "gemm_best of long sums": ("gemm_best:gemm_best", (((16384, 4096), BF16), ((16384, 4096), BF16))),
    "gemm_naive": ("gemm:gemm_naive", _square(4096, BF16)),
    "gemm_naive of a few tiles": ("gemm:gemm_naive", _square(2048, BF16)),
    "transpose": ("transpose:transpose", (((4096, 4096), FP32),)),
    "attention": ("attention:attention", _heads(False)),
    "causal attention": ("attention:attention", _heads(True)),
    **{
        f"{name} in {dtype}": (f"{file}:{name}", _square(2048, dtype))
        for file, name in (("gemm_best", "gemm_best"), ("gemm", "gemm_naive"))
        for dtype in ("float16", "tfloat32", FP32, "float8_e4m3")
    },
}


def _timed(name: str, where: Any, *, whole: bool) -> Timing:
    ref, inputs = PROBLEMS[name]
    kernel, module, by = load_kernel(f"{BASE}.{ref}", nki="trnbench")
    source = Source(ref, kernel, module, by, inputs)
    parts = () if whole else tuple((arguments_of(part), times) for part, times in source.pieces())
    return KernelModel().time(kernel, arguments_of(inputs), where, Launch(explain=False), parts=parts)


@pytest.mark.parametrize(
    ("name", "where"),
    [
        (name, where)
        for name in PROBLEMS
        for where in SYSTEMS
        if where == SYSTEMS[1] or name in EVERYWHERE or " in " in name
    ],
)
def test_pieces_take_as_long_as_the_whole(registry: Any, name: str, where: str) -> None:
    system = registry.system(where)
    some, all_of_it = (_timed(name, system, whole=each) for each in (False, True))
    assert some.latency_s == pytest.approx(all_of_it.latency_s, rel=1e-4)
    # The last copy need not keep each engine as busy as the average: how warm the tensor engine is differs.
    assert some.busy_s == pytest.approx(all_of_it.busy_s, rel=0.03)
    assert some.bytes == all_of_it.bytes
    assert some.bound == all_of_it.bound
    assert some.slowest.instructions <= all_of_it.slowest.instructions


@pytest.mark.parametrize("name", ["gemm_best of unlike blocks", "gemm_naive of a few tiles"])
def test_what_hardly_repeats_or_is_small_is_recorded_whole(registry: Any, name: str) -> None:
    recording = _timed(name, registry.system(SYSTEMS[1]), whole=False).recording
    assert recording.how == "recorded call by call"
    assert recording.pieces == ()
    assert recording.calls == len(recording.programs[0])


def test_short_pieces_are_recorded_more_often(registry: Any) -> None:
    system = registry.system(SYSTEMS[1])
    short, long = (_timed(name, system, whole=False).recording for name in ("gemm_naive", "gemm_best"))
    assert [(len(each.ends), each.times) for each in short.pieces] == [(9, 256)]
    assert [(len(each.ends), each.times) for each in long.pieces] == [(2, 8)]


def test_what_differs_in_how_often_pieces_occur_is_recorded_once(registry: Any) -> None:
    on = registry.system(SYSTEMS[1])
    kernel, module, _ = load_kernel(f"{BASE}.gemm:gemm_naive", nki="trnbench")

    def timed(model: KernelModel, rows: int) -> Timing:
        inputs = (((512, rows), BF16), ((512, 2048), BF16))
        parts = tuple((arguments_of(part), times) for part, times in module.gemm_naive_pieces(inputs))
        return model.time(kernel, arguments_of(inputs), on, Launch(explain=False), parts=parts)

    model, sizes = KernelModel(), (32768, 16384, 512)
    large, smaller, short = (timed(model, rows) for rows in sizes)
    assert large.recording.pieces
    assert smaller.recording.programs[0] is large.recording.programs[0]
    assert short.recording.pieces == ()
    for rows, again in zip(sizes, (large, smaller, short), strict=True):
        alone = timed(KernelModel(), rows)
        assert alone.recording.pieces == again.recording.pieces
        assert (alone.total, alone.busy_s) == (again.total, again.busy_s)
