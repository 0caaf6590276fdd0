"""Microscaled operands: four tiles' scales in one, and what of them counts as traffic."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from trnbench.errors import KernelError
from trnbench.nki import Machine, TensorSpec, Trace

Array = NDArray[Any]

PACKED = """
    scales = nl.ndarray((128, 96), nl.float8_e8m0fnu, buffer=nl.sbuf)
    sums = nl.ndarray((64, 96), nl.float32, buffer=nl.psum)
    for number in range(2):
        left = nl.load(args[2 * number])
        right = nl.load(args[2 * number + 1])
        packed = nl.ndarray((128, 64), nl.float8_e5m2_x4, buffer=nl.sbuf)
        other = nl.ndarray((128, 96), nl.float8_e5m2_x4, buffer=nl.sbuf)
        low, high = scales[8 * number:, :64], scales[8 * number + 4:]
        nisa.quantize_mx(packed, left, low)
        nisa.quantize_mx(other, right, high)
        nisa.nc_matmul_mx(sums, packed, other, low, high)
    out = nl.ndarray((64, 96), nl.float32, buffer=nl.shared_hbm)
    nl.store(out, nl.copy(sums))
    return out
"""


def _operand(rng: np.random.Generator, columns: int) -> Array:
    """bf16 whose groups of 8 partitions × 4 neighbours differ in size, so that a wrong scale shows."""
    sizes = np.exp2(rng.integers(-6, 7, (16, 1, columns, 1)))
    values = rng.standard_normal((16, 8, columns, 4)) * sizes
    return values.reshape(128, columns * 4).astype(ml_dtypes.bfloat16)


def _kept(values: Array) -> Array:
    """What an E5M2 with the scale of its group keeps, the contraction first."""
    groups = values.astype(np.float64).reshape(16, 8, -1, 4)
    largest = np.abs(groups).max(axis=(1, 3), keepdims=True)
    scale = 2.0 ** (np.floor(np.log2(largest)) - 14)
    kept = (groups / scale).astype(ml_dtypes.float8_e5m2).astype(np.float64) * scale
    return kept.transpose(0, 1, 3, 2).reshape(512, -1)


def test_scales_of_four_tiles_lie_in_one(snippets: Any, v4: Machine) -> None:
    rng = np.random.default_rng(2)
    args = [_operand(rng, columns) for columns in (64, 96, 64, 96)]
    trace = snippets.run(PACKED, *args, machine=v4, functional=True)
    kept = [_kept(each) for each in args]
    want = kept[0].T @ kept[1] + kept[2].T @ kept[3]
    np.testing.assert_allclose(trace.outputs[0], want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize("start", [2, 16, 36])
def test_scales_start_at_a_place_for_scales(snippets: Any, v4: Machine, start: int) -> None:
    body = PACKED.replace("scales[8 * number:, :64]", f"scales[{start}:, :64]")
    args = [TensorSpec((128, 4 * columns), "bf16") for columns in (64, 96, 64, 96)]
    with pytest.raises(KernelError, match="quantize_mx on trn3") as caught:
        snippets.run(body, *args, machine=v4)
    assert f"starts at partition {start}, it may start at 0, 4, 8, 12" in caught.value.what


def _bytes(trace: Trace, opcode: str) -> tuple[int, int]:
    found = {op.opcode: op.traffic for op in trace.tally}[opcode]
    return found.get("sbuf_read", 0), found.get("sbuf_write", 0)


def test_only_scales_count_not_the_room_between_them(snippets: Any, v4: Machine) -> None:
    args = [TensorSpec((128, 4 * 64), "bf16")] * 4
    trace = snippets.run(PACKED.replace("96", "64"), *args, machine=v4)
    # 16 scales a column for 128 partitions of words.
    assert _bytes(trace, "quantize_mx") == (128 * 64 * 4 * 2, 128 * 64 * 4 + 16 * 64)
    assert _bytes(trace, "nc_matmul_mx") == (2 * (128 * 64 * 4 + 16 * 64), 0)
