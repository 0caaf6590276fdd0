"""What memory holds: PSUM accumulation, values nobody wrote, the precision of each type."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from messages import messages
from nki_machine import V3

from trnbench.errors import KernelError
from trnbench_emulator.nki import Trace
from trnbench_emulator.nki.dtype import DTYPES, dtype_of
from trnbench_emulator.nki.instruction import Listing
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.recorder import Recorder
from trnbench_emulator.nki.tensor import NkiTensor

SNIPPET = """
x, = args
out = nl.ndarray({shape}, dtype={dtype}, buffer=nl.shared_hbm)
{body}
return out
"""


def _run(snippets: Any, body: str, x: Any, shape: str = "(4, 8)", dtype: str = "nl.float32") -> Any:
    return snippets.run(SNIPPET.format(body=body, shape=shape, dtype=dtype), x, functional=True).outputs[0]


ONES = np.ones((4, 8), np.float32)


FRESH = "nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.psum)"


@pytest.mark.parametrize(
    ("sums", "products", "expected"),
    [
        pytest.param(FRESH, ("ps, a, b", "ps, a, b"), 8.0, id="later ones accumulate"),
        pytest.param(FRESH, ("ps, a, b", "ps, a, b, accumulate=True"), 8.0, id="accumulate"),
        pytest.param(FRESH, ("ps, a, b", "ps, a, b, accumulate=False"), 4.0, id="overwrite"),
        pytest.param(FRESH, ("ps[:, 0:4], a, b[:, 0:4]", "ps, a, b"), [8.0] * 4 + [4.0] * 4, id="by element"),
        pytest.param(FRESH.replace("ndarray", "zeros"), ("ps, a, b",), 4.0, id="what memset wrote"),
    ],
)
def test_products_overwrite_what_nobody_wrote_and_add_to_the_rest(
    snippets: Any, sums: str, products: tuple[str, ...], expected: Any
) -> None:
    lines = [f"nisa.nc_matmul({operands})" for operands in products]
    body = f"""
a = nl.load(x[:, 0:4]); b = nl.load(x)
ps = {sums}
{"; ".join(lines)}
t = nl.ndarray((4, 8), dtype=nl.float32)
nisa.tensor_copy(t, ps)
nl.store(out, t)
"""
    np.testing.assert_array_equal(_run(snippets, body, ONES), np.broadcast_to(expected, (4, 8)))


def test_the_number_of_a_dynamic_loop_addresses_rows(snippets: Any) -> None:
    """As in nki-dynamic-loops.rst (aws-neuron-sdk 81ce03ae): `.ap(…, scalar_offset=i)`."""
    body = """
for i in nl.dynamic_range(nisa.register_alloc(0), nisa.register_alloc(4), 2):
    t = nl.ndarray((2, 8), nl.float32)
    nisa.dma_copy(t, x.ap([[8, 2], [1, 8]], scalar_offset=i))
    nisa.dma_copy(out.ap([[8, 2], [1, 8]], scalar_offset=i), t)
"""
    values = np.arange(32, dtype=np.float32).reshape(4, 8)
    assert np.array_equal(_run(snippets, body, values), values)


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


def test_calls_of_the_language_cast_what_those_of_the_kernel_do_not(snippets: Any) -> None:
    """nl.where, `tile[…] =` and nl.multiply take numbers and columns of any type."""
    body = """
t = nl.load(x)
t[:, 1:2] = 7.0
nl.store(out, nl.multiply(nl.where(nl.less(t, 3), t, 0.0, dtype=nl.int32), t[:, 1:2]))
"""
    x = np.array([[1, 2, 3, 4]], np.int32)
    assert _run(snippets, body, x, "(1, 4)", "nl.int32").tolist() == [[7, 0, 0, 0]]


GATHERED = "nisa.dma_copy(t, x.vector_select(0, nl.zeros((1, 1), nl.uint32)))"


@pytest.mark.parametrize("call", ["nisa.tensor_copy(t, nl.load(x))", "nisa.dma_copy(t, x)", GATHERED])
@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        ("int32", [2**24 + 1, 2**24 + 3, 300, -1]),
        ("uint32", [2**24, 2**24 + 4, 300, 0]),
        ("uint8", [255, 255, 255, 0]),
    ],
)
def test_a_copy_between_types_passes_through_fp32(
    snippets: Any, call: str, dtype: str, wanted: list[int]
) -> None:
    x = np.array([[2**24 + 1, 2**24 + 3, 300, -1]], np.int32)
    body = f"t = nl.ndarray((1, 4), nl.{dtype})\n{call}\nnl.store(out, t)"
    assert _run(snippets, body, x, "(1, 4)", f"nl.{dtype}").tolist() == [wanted]


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


SPLIT = """
x, w = args
out = nl.ndarray((1, 512), dtype=nl.float32, buffer=nl.shared_hbm)
weights = nl.load(w, dtype={dtype})
scaled = nl.ndarray((128, 2), dtype={dtype})
nisa.tensor_scalar(scaled, nl.load(x), nl.multiply, 3.0)
halves = []
for half in range(2):
    sums = nl.ndarray((1, 512), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(sums, scaled[:, half : half + 1], weights[:, 512 * half : 512 * (half + 1)])
    halves.append(nl.ndarray((1, 512), dtype={dtype}))
    nisa.tensor_copy(halves[half], sums)
nisa.tensor_tensor(halves[0], halves[0], halves[1], nl.add)
nisa.dma_copy(out, halves[0])
return out
"""


def test_a_product_in_halves_rounds_at_every_tile_of_its_way(snippets: Any) -> None:
    """What is scaled, each half of the sum and the result round in tiles of bf16, as in public kernels that
    are compared with fp32. The numbers are whole and below 2**24: nothing else rounds.
    """
    stream = np.random.default_rng(5)
    x = stream.integers(-300, 300, (128, 2)).astype(np.float32)
    w = stream.integers(-8, 8, (128, 1024)).astype(np.float32)

    def result(cast: Any) -> Any:
        left, right = cast(3 * x).T[:, None] @ w.reshape(128, 2, 512).swapaxes(0, 1)
        return cast(cast(left) + cast(right))

    exact, rounded = result(DTYPES["float32"].cast), result(DTYPES["bfloat16"].cast)
    for dtype, wanted in (("nl.float32", exact), ("nl.bfloat16", rounded)):
        (found,) = snippets.run(SPLIT.format(dtype=dtype), x, w, functional=True).outputs
        np.testing.assert_array_equal(found, wanted)
    assert np.mean(~np.isclose(rounded, exact, atol=1e-5, rtol=1e-2)) > 0.1


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


# Whatever stands where a data type should be: the type, or one message -------------------------------


@pytest.mark.parametrize(
    "text",
    ["9" * 4301, "f8," * 5000, "(" * 3000, "(2,)f8", "1" * 400 + "f4", "i4, (2,3)f8, f4", "\0", "f\ud800"],
    ids=["digits", "fields", "brackets", "shape", "size", "record", "zero", "half"],
)
def test_a_text_that_numpy_reads_in_its_own_way_is_refused(text: str) -> None:
    with pytest.raises(KernelError, match="is no data type that NKI kernels can use here"):
        dtype_of(text)


@given(text=st.text(alphabet="0123456789fiubVS(),<>| {}'", max_size=40))
def test_no_text_is_more_than_refused(text: str) -> None:
    with contextlib.suppress(KernelError):
        assert dtype_of(text) in DTYPES.values()


# Zeros in PSUM that a product comes upon first: it overwrites them, so nobody has to write them ------

TWICE = """
(x,) = args
a = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.sbuf)
nisa.dma_copy(dst=a, src=x)
out = nl.ndarray((128, 256), dtype=nl.float32, buffer=nl.shared_hbm)
result = nl.ndarray((128, 256), dtype=nl.float32, buffer=nl.sbuf)
for _ in range(2):
    t = nl.ndarray((128, 256), dtype=nl.float32, buffer=nl.psum)
{body}
    nisa.tensor_copy(dst=result, src=t)
nisa.dma_copy(dst=out, src=result)
return out
"""
ZEROS = "nisa.memset(dst=t, value=0.0)"
PRODUCTS = "[nisa.nc_matmul(dst=t[:, at : at + 128], stationary=a, moving=a) for at in (0, 128, 0)]"


def twice(snippets: Any, *lines: str, functional: bool = True) -> Trace:
    body = TWICE.format(body="\n".join(f"    {line}" for line in lines))
    return snippets.run(body, np.eye(128, dtype=np.float32), functional=functional, keep=True)


def opcodes(trace: Trace) -> list[str]:
    return [each.op.opcode for each in trace.instructions if each.op.engine != "dma"]


@pytest.mark.parametrize("functional", [True, False])
def test_a_product_that_comes_first_overwrites(snippets: Any, functional: bool) -> None:
    found = twice(snippets, ZEROS, PRODUCTS, functional=functional)
    assert opcodes(found) == [*["nc_matmul"] * 3, "tensor_copy"] * 2
    assert found.count == len(found.instructions)
    if functional:
        np.testing.assert_array_equal(found.outputs[0][:, :128], 2 * np.eye(128))
        np.testing.assert_array_equal(found.outputs[0][:, 128:], np.eye(128))


@pytest.mark.parametrize(
    "lines",
    [
        (ZEROS,),
        (ZEROS, "nisa.nc_matmul(dst=t[:, 0:128], stationary=a, moving=a, accumulate=True)"),
        ("nisa.memset(dst=t, value=1.0)", PRODUCTS),
        (ZEROS, "nisa.activation(dst=t[:, 0:128], op=nl.exp, data=a)"),
    ],
)
def test_zeros_that_somebody_finds_are_written_before(snippets: Any, lines: tuple[str, ...]) -> None:
    found = twice(snippets, *lines)
    assert opcodes(found).count("memset") == 2
    assert opcodes(found)[0] == "memset"
    first = next(each for each in found.instructions if each.op.opcode == "memset")
    text = (snippets.folder / "snippet.py").read_text()
    assert first.line == 1 + text.partition(lines[0])[0].count("\n")


def test_what_no_product_reaches_is_written(snippets: Any) -> None:
    parts = ("nisa.memset(dst=t[:, 0:128], value=0.0)", "nisa.memset(dst=t[:, 128:256], value=0.0)")
    found = twice(snippets, *parts, "nisa.nc_matmul(dst=t[:, 0:128], stationary=a, moving=a)")
    assert opcodes(found) == ["nc_matmul", "memset", "tensor_copy"] * 2
    np.testing.assert_array_equal(found.outputs[0][:, 128:], 0)


# Views agree with NumPy's, and their regions cover what they touch -----------------------------------


def _tensor(shape: tuple[int, ...], buffer: Buffer = Buffer.HBM) -> tuple[NkiTensor, np.ndarray[Any, Any]]:
    recorder = Recorder(V3, Listing(), functional=True)
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    tensor = recorder.allocate(shape, DTYPES["float32"], buffer)
    tensor.put(values)
    return tensor, values


@st.composite
def _slices(draw: st.DrawFn, size: int) -> slice:
    start = draw(st.integers(0, size - 1))
    return slice(start, draw(st.integers(start + 1, size)), draw(st.integers(1, 3)))


@given(st.data())
def test_slicing_is_numpys(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    tensor, values = _tensor(shape)
    for _ in range(2):
        if not tensor.shape:
            break
        index = tuple(data.draw(st.one_of(_slices(size), st.integers(0, size - 1))) for size in tensor.shape)
        tensor, values = tensor[index], np.atleast_1d(values[index])
        np.testing.assert_array_equal(tensor.array, values)
        assert tensor.shape == values.shape


@given(st.data())
def test_reshape_permute_and_slices_compose(data: st.DataObject) -> None:
    tensor, values = _tensor((4, 6, 10))
    tensor, values = tensor[1:3], values[1:3]
    for _ in range(3):
        if data.draw(st.booleans()):
            order = tuple(data.draw(st.permutations(range(len(tensor.shape)))))
            tensor, values = tensor.permute(order), values.transpose(order)
        else:
            shape = data.draw(st.sampled_from([(2, 60), (2, 6, 5, 2), (120,), (12, 10), (2, 6, 10)]))
            if not np.shares_memory(values.reshape(shape), values):
                with pytest.raises(KernelError, match="needs a copy"):
                    tensor.reshape(shape)
                return
            tensor, values = tensor.reshape(shape), values.reshape(shape)
        np.testing.assert_array_equal(tensor.array, values)


@given(st.data())
def test_a_region_covers_the_view_and_stays_in_its_partitions(data: st.DataObject) -> None:
    tensor, _ = _tensor((8, 3, 5), Buffer.SBUF)
    view = tensor[tuple(data.draw(_slices(size)) for size in tensor.shape)]
    touched = np.zeros((8, 15), bool)
    root = np.arange(120).reshape(8, 15)
    touched[np.isin(root, view.array.astype(int).ravel())] = True
    rows, columns = np.nonzero(touched)
    region = view.region
    assert region.storage is tensor.storage
    size = tensor.dtype.size
    assert region.rows == (rows.min(), rows.max() + 1)
    assert region.bytes == (columns.min() * size, (columns.max() + 1) * size)


def test_an_index_keeps_the_partition_dimension_on_chip() -> None:
    tensor, values = _tensor((8, 3, 5), Buffer.SBUF)
    assert tensor[2].shape == (1, 3, 5)
    assert tensor[:, 1].shape == (8, 5)
    assert tensor[2, 1, 3].shape == (1, 1)
    np.testing.assert_array_equal(tensor[..., 4].array, values[..., 4])


def test_access_patterns_and_broadcasts() -> None:
    tensor, values = _tensor((8, 15), Buffer.SBUF)
    diagonal = tensor.ap([[15, 4], [1, 3]], offset=16)
    np.testing.assert_array_equal(diagonal.array, values[1:5, 1:4])
    wide = tensor[:, 0:1].broadcast(1, 7)
    np.testing.assert_array_equal(wide.array, np.repeat(values[:, :1], 7, axis=1))
    np.testing.assert_array_equal(tensor.expand_dim(1).array, values[:, None])


OUTSIDE = """[0:9] is outside dimension 0 (size 8) of float32[8, 15]@sbuf (test_nki_semantics.py:1)
  try:   mind the last, smaller tile when the size is no multiple of the tile"""


@pytest.mark.parametrize(
    ("use", "message", "_"),
    [("t[0:9]", OUTSIDE, 2), *messages(Path(__file__).with_name("impossible_views.txt"))],
)
def test_what_no_view_can_do(use: str, message: str, _: int) -> None:
    """An expression of the tensor `t`, on line 1 of this file as far as it can tell."""
    tensor, _ = _tensor((8, 15), Buffer.SBUF)
    with pytest.raises(KernelError) as caught:
        eval(compile(use, __file__, "eval"), {"t": tensor, "np": np})
    assert str(caught.value) == message
