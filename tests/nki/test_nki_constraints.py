"""Every broken rule names call, rule, limit, generation, file and line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trnbench.errors import KernelError
from trnbench_emulator.nki import Machine, TensorSpec

# A kernel file made of one snippet; its first line is line 6.
BROKEN = [
    (
        "nl.ndarray((129, 4), dtype=nl.float32)",
        "ndarray: 129 partitions of float32[129, 4]@sbuf exceed the 128 of SBUF on trn2 (snippet.py:6)",
    ),
    (
        "nl.ndarray((128, 65536), dtype=nl.float32, name='big')",
        "ndarray: 262,144 bytes per partition of 'big' float32[128, 65536]@sbuf exceed the 229,376 of SBUF "
        "on trn2 (snippet.py:6)",
    ),
    (
        "nl.ndarray((128, 8192), dtype=nl.float32, buffer=nl.psum)",
        "ndarray: 32,768 bytes per partition of float32[128, 8192]@psum exceed the 16,384 of PSUM "
        "on trn2 (snippet.py:6)",
    ),
    ("nl.ndarray((4, 0), dtype=nl.float32)", "shape [4, 0] has no elements (snippet.py:6)"),
    ("nl.ndarray((4, 1.5), dtype=nl.float32)", "shape (4, 1.5) is not made of integers (snippet.py:6)"),
    ("nl.ndarray((4, 4), dtype='bf17')", "'bf17' is no data type that NKI kernels can use here"),
    ("nl.ndarray((4, 4), dtype=nl.int8, buffer='l2')", "ndarray: 'l2' is no buffer (snippet.py:6)"),
]

ALLOCATED = """
s = nl.ndarray((128, 256), dtype=nl.bfloat16)
m = nl.ndarray((128, 1024), dtype=nl.bfloat16)
f = nl.ndarray((128, 512), dtype=nl.float32)
i = nl.ndarray((128, 512), dtype=nl.int32)
e = nl.ndarray((128, 2, 512), dtype=nl.float8_e4m3)
p = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
q = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
h = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.hbm)
"""
LINE = 6 + len(ALLOCATED.strip().splitlines())

ILLEGAL = [
    (
        "nisa.nc_matmul(p, s, m[:, 0:512])",
        "nc_matmul on trn2: stationary free size is 256, the limit is 128",
        "tile M by nl.tile_size.gemm_stationary_fmax",
    ),
    (
        "nisa.nc_matmul(p, s[:, 0:128], m)",
        "nc_matmul on trn2: moving free size is 1024, the limit is 512",
        "tile N by nl.tile_size.gemm_moving_fmax",
    ),
    (
        "nisa.nc_matmul(p, s[:, 0:128], m[0:64, 0:512])",
        "nc_matmul on trn2: stationary has 128 partitions, moving has 64: both are the contraction",
        "",
    ),
    (
        "nisa.nc_matmul(p, h[:, 0:128], m[:, 0:512])",
        "nc_matmul on trn2: stationary is in HBM, it must be in SBUF",
        "nisa.dma_copy moves between HBM and SBUF, nisa.tensor_copy between SBUF and PSUM",
    ),
    (
        "nisa.nc_matmul(f, s[:, 0:128], m[:, 0:512])",
        "nc_matmul on trn2: dst is in SBUF, it must be in PSUM",
        "nisa.dma_copy moves between HBM and SBUF, nisa.tensor_copy between SBUF and PSUM",
    ),
    (
        "nisa.nc_matmul(p[:, 0:256], s[:, 0:128], m[:, 0:512])",
        "nc_matmul on trn2: dst has 128 × 256 elements (partitions × free), the product has 128 × 512",
        "",
    ),
    (
        "nisa.nc_matmul(p, f[:, 0:128], m[:, 0:512])",
        "nc_matmul on trn2: stationary is float32, moving is bfloat16: float32 mixes only with float32 and "
        "tfloat32",
        "",
    ),
    (
        "nisa.nc_matmul(p, i[:, 0:128], i)",
        "nc_matmul on trn2: stationary has dtype int32, the tensor engine takes float32, tfloat32, bfloat16, "
        "float16, float8_e4m3, float8_e4m3fn, float8_e5m2",
        "",
    ),
    (
        "nisa.nc_matmul(p, s[:, 0:128], m[:, 0:512], perf_mode=nisa.matmul_perf_mode.double_row)",
        "nc_matmul on trn2: stationary is bfloat16[128, 128]@sbuf, double_row takes 8-bit floats of shape "
        "(K, 2, free)",
        "",
    ),
    (
        "nisa.nc_matmul(p, s[:, 0:128], m[:, 0:512], tile_size=(64, 64))",
        "nc_matmul on trn2: tile_position is not set and tile_size is (64, 64): both are set, or neither",
        "",
    ),
    (
        "nisa.dma_copy(h, p)",
        "dma_copy on trn2: src is in PSUM, DMA engines reach SBUF and HBM",
        "copy through SBUF with nisa.tensor_copy",
    ),
    (
        "nisa.dma_copy(h[0:64], f)",
        "dma_copy on trn2: src has 65536 elements [128, 512], dst has 32768 [64, 512]",
        "",
    ),
    (
        "nisa.tensor_tensor(f, p, q, nl.add)",
        "tensor_tensor on trn2: data1 and data2 are both in PSUM, one may be",
        "copy one to SBUF with nisa.tensor_copy",
    ),
    (
        "nisa.tensor_copy(f, p, engine=nisa.engine.gpsimd)",
        "tensor_copy on trn2: engine gpsimd cannot reach PSUM",
        "use engine=nisa.engine.vector, or copy to SBUF first",
    ),
    (
        "nisa.tensor_copy(f, p, engine=nisa.engine.tensor)",
        "tensor_copy on trn2: engine tensor cannot carry it out, vector, scalar, gpsimd can",
        "",
    ),
    (
        "nisa.tensor_copy(f, s)",
        "tensor_copy on trn2: dst has 128 × 512 elements (partitions × free), src has 128 × 256",
        "",
    ),
    (
        "nisa.activation(f, nl.exp, f, bias=p[:, 0:2])",
        "activation on trn2: bias has shape [128, 2], it must be (128, 1)",
        "",
    ),
    (
        "nisa.tensor_scalar(f, f, nl.multiply, 'two')",
        "tensor_scalar on trn2: operand0 is str, it must be a number or a (P, 1) tensor",
        "",
    ),
    (
        "nisa.tensor_reduce(f[:, 0:2], nl.add, e[:, :, 0:8], axis=1)",
        "tensor_reduce on trn2: axis 1 of float8_e4m3[128, 2, 8]@sbuf is not made of the last free "
        "dimensions",
        "",
    ),
    (
        "nisa.nc_transpose(p[:, 0:128], f[:, 0:128], engine=nisa.engine.vector)",
        "nc_transpose on trn2: data is float32[128, 128]@sbuf, the Vector engine transposes at most 32 × 32",
        "",
    ),
    (
        "nisa.nc_transpose(p[:, 0:128], s[:, 0:128])",
        "nc_transpose on trn2: dst has dtype float32, data has bfloat16: they must be the same",
        "",
    ),
]


@pytest.mark.parametrize(("line", "message"), BROKEN, ids=[line[:40] for line, _ in BROKEN])
def test_allocations(snippets: Any, line: str, message: str) -> None:
    with pytest.raises(KernelError) as caught:
        snippets.run(line)
    assert caught.value.what == message


@pytest.mark.parametrize(("line", "message", "try_"), ILLEGAL, ids=[line[:60] for line, _, _ in ILLEGAL])
@pytest.mark.parametrize("functional", [False, True])
def test_instructions(snippets: Any, line: str, message: str, try_: str, functional: bool) -> None:
    with pytest.raises(KernelError) as caught:
        snippets.run(ALLOCATED + line, functional=functional)
    assert caught.value.what == f"{message} (snippet.py:{LINE})"
    assert caught.value.try_ == try_


def test_generations_differ(snippets: Any, v2: Machine, v3: Machine) -> None:
    body = "t = nl.ndarray((4, 4), dtype=nl.float32)\nnisa.tensor_copy(t, t, engine=nisa.engine.scalar)"
    snippets.run(body, machine=v3)
    with pytest.raises(KernelError) as caught:
        snippets.run(body, machine=v2)
    assert caught.value.what == (
        "tensor_copy on trn1: engine scalar copies from NeuronCore-v3 on (snippet.py:7)"
    )


TILES = """
for n in nl.affine_range(3):
    kept = [nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum) for _ in range({count})]
    for each in kept:
        nisa.memset(each, 1)
    {after}
"""


def test_tiles_in_use_must_fit_together(snippets: Any) -> None:
    with pytest.raises(KernelError) as caught:
        snippets.run(TILES.format(count=9, after="nisa.memset(kept[0], 1)"))
    assert caught.value.what == (
        "ndarray: tiles in use hold 18,432 bytes per partition, more than the 16,384 of PSUM on trn2 "
        "(snippet.py:7)"
    )
    assert caught.value.cause.startswith("9 tiles are alive there, the largest: 2,048 from snippet.py:7")


def test_a_tile_is_held_to_its_last_use_only(snippets: Any) -> None:
    """The names of the round before still refer to eight tiles while the next eight are made."""
    trace = snippets.run(TILES.format(count=8, after="pass"))
    assert trace.psum_peak_bytes == 16 << 10


def test_device_memory_is_bounded(snippets: Any) -> None:
    huge = TensorSpec((1 << 20, 1 << 15), "fp32")
    with pytest.raises(KernelError) as caught:
        snippets.run("return args[0]", huge)
    assert caught.value.what.startswith(
        "ndarray: 137,438,953,472 bytes of HBM in all exceed the 103,079,215,104 of one trn2 device"
    )


@pytest.mark.parametrize("functional", [False, True])
def test_outputs_are_tensors_in_hbm(snippets: Any, functional: bool) -> None:
    with pytest.raises(KernelError) as caught:
        snippets.run("return nl.ndarray((4, 4), dtype=nl.int8)", functional=functional)
    assert (
        caught.value.what == "kernel 'kernel' returns NkiTensor(int8[4, 4]@sbuf), outputs are tensors in HBM"
    )


def test_shapes_have_no_values(snippets: Any) -> None:
    with pytest.raises(KernelError) as caught:
        snippets.run("pass", TensorSpec((4, 4), "fp32"), functional=True)
    assert caught.value.what.endswith("has a shape but no values")
    assert snippets.run("pass", np.ones((4, 4), np.float32)).count == 0
