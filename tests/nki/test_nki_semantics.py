"""What memory holds: PSUM accumulation, values nobody wrote, the precision of each type."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from trnbench_emulator.nki.dtype import DTYPES, dtype_of

SNIPPET = """
x, = args
out = nl.ndarray({shape}, dtype={dtype}, buffer=nl.shared_hbm)
{body}
return out
"""


def _run(snippets: Any, body: str, x: Any, shape: str = "(4, 8)", dtype: str = "nl.float32") -> Any:
    return snippets.run(SNIPPET.format(body=body, shape=shape, dtype=dtype), x, functional=True).outputs[0]


ONES = np.ones((4, 8), np.float32)


@pytest.mark.parametrize(
    ("second", "expected"),
    [("", 8.0), (", accumulate=True", 8.0), (", accumulate=False", 4.0)],
    ids=["unset", "accumulate", "overwrite"],
)
def test_first_matmul_overwrites_later_ones_accumulate(snippets: Any, second: str, expected: float) -> None:
    body = f"""
a = nl.load(x[:, 0:4]); b = nl.load(x)
ps = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul(ps, a, b)
nisa.nc_matmul(ps, a, b{second})
t = nl.ndarray((4, 8), dtype=nl.float32)
nisa.tensor_copy(t, ps)
nl.store(out, t)
"""
    np.testing.assert_array_equal(_run(snippets, body, ONES), np.full((4, 8), expected))


def test_accumulation_is_tracked_by_element(snippets: Any) -> None:
    body = """
a = nl.load(x[:, 0:4]); b = nl.load(x)
ps = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul(ps[:, 0:4], a, b[:, 0:4])
nisa.nc_matmul(ps, a, b)
t = nl.ndarray((4, 8), dtype=nl.float32)
nisa.tensor_copy(t, ps)
nl.store(out, t)
"""
    got = _run(snippets, body, ONES)
    np.testing.assert_array_equal(got, np.repeat([[8.0, 4.0]], 4, axis=0).repeat(4, axis=1))


def test_what_memset_wrote_is_added_to(snippets: Any) -> None:
    body = """
a = nl.load(x[:, 0:4]); b = nl.load(x)
ps = nl.zeros((4, 8), dtype=nl.float32, buffer=nl.psum)
nisa.nc_matmul(ps, a, b)
t = nl.ndarray((4, 8), dtype=nl.float32)
nisa.tensor_copy(t, ps)
nl.store(out, t)
"""
    np.testing.assert_array_equal(_run(snippets, body, ONES), np.full((4, 8), 4.0))


def test_memory_nobody_wrote_is_nan(snippets: Any) -> None:
    body = """
t = nl.ndarray((4, 8), dtype=nl.float32)
nisa.memset(t[:, 0:4], 2.5)
nl.store(out, t)
"""
    got = _run(snippets, body, ONES)
    np.testing.assert_array_equal(got[:, :4], 2.5)
    assert np.isnan(got[:, 4:]).all()


def test_every_store_rounds_to_the_type(snippets: Any) -> None:
    x = np.array([[1.0, 1 + 2**-8, 1 + 2**-7, 300.0]], np.float32)
    for dtype, kind in (("nl.bfloat16", ml_dtypes.bfloat16), ("nl.float16", np.float16)):
        got = _run(snippets, "nl.store(out, nl.load(x))", x, "(1, 4)", dtype)
        np.testing.assert_array_equal(got, x.astype(kind))


@given(arrays.arrays(np.float32, st.integers(1, 20), elements=st.floats(-(2.0**90), 2.0**90, width=32)))
def test_tfloat32_keeps_ten_bits(values: np.ndarray[Any, Any]) -> None:
    rounded = DTYPES["tfloat32"].cast(values)
    assert not (rounded.view(np.uint32) & np.uint32((1 << 13) - 1)).any()
    np.testing.assert_array_less(np.abs(rounded - values), np.maximum(np.abs(values) * 2.0**-10, 1e-37))


def test_arithmetic_is_in_fp32_and_reads_low_precision_exactly(snippets: Any) -> None:
    x = np.linspace(-3, 3, 32, dtype=np.float32).reshape(4, 8).astype(ml_dtypes.bfloat16)
    body = """
t = nl.load(x)
u = nl.ndarray((4, 8), dtype=nl.float32)
nisa.tensor_scalar(u, t, nl.multiply, 2.0, op1=nl.add, operand1=0.1)
nisa.scalar_tensor_tensor(u, u, nl.subtract, 1.0, nl.maximum, t)
nisa.activation(u, nl.tanh, u, scale=0.5)
nl.store(out, u)
"""
    wide = x.astype(np.float32)
    inner = np.maximum(wide * np.float32(2) + np.float32(0.1) - np.float32(1), wide)
    np.testing.assert_allclose(_run(snippets, body, x), np.tanh(inner * np.float32(0.5)), rtol=1e-6)


def test_random_bits_take_every_value_of_their_type(snippets: Any) -> None:
    body = """
t = nl.ndarray((128, 64), dtype=nl.uint8)
nisa.rng(t)
nl.store(out, t)
"""
    bits = _run(snippets, body, ONES, "(128, 64)", "nl.uint8")
    assert set(bits.ravel().tolist()) == set(range(256))


def test_reverse_swaps_operands_and_columns_broadcast(snippets: Any) -> None:
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    body = """
t = nl.load(x)
u = nl.ndarray((4, 8), dtype=nl.float32)
nisa.tensor_scalar(u, t, nl.subtract, t[:, 1:2], reverse0=True)
nl.store(out, u)
"""
    np.testing.assert_array_equal(_run(snippets, body, x), x[:, 1:2] - x)


@pytest.mark.parametrize(
    ("op", "axis", "shape", "fold"),
    [
        ("nl.add", "1", (4, 1), lambda x: x.reshape(4, 8).sum(1, keepdims=True)),
        ("nl.maximum", "2", (4, 2), lambda x: x.max(2)),
        ("nl.minimum", "(1, 2)", (4, 1), lambda x: x.min((1, 2)).reshape(4, 1)),
    ],
)
def test_reductions(snippets: Any, op: str, axis: str, shape: tuple[int, int], fold: Any) -> None:
    x = np.random.default_rng(0).standard_normal((4, 2, 4)).astype(np.float32)
    view = "t.reshape((4, 8))" if axis == "1" else "t"
    body = f"""
t = nl.load(x)
u = nl.ndarray({shape}, dtype=nl.float32)
nisa.tensor_reduce(u, {op}, {view}, axis={axis})
nl.store(out, u)
"""
    np.testing.assert_allclose(_run(snippets, body, x, str(shape)), fold(x), rtol=1e-6)


def test_dtypes_by_every_name() -> None:
    assert dtype_of("bf16") is dtype_of("bfloat16") is dtype_of(ml_dtypes.bfloat16) is DTYPES["bfloat16"]
    assert dtype_of(np.float32) is dtype_of(np.dtype("f4")) is DTYPES["float32"]
