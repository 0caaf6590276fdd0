"""nki.language against NumPy. A key of CASES is the public name it stands for in docs/nki.md."""

# ruff: noqa: E501 - one case on one line is read faster

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from nki_machine import EVERY_INSTRUCTION
from nki_values import Case, Run, matches_numpy

from trnbench.errors import KernelError
from trnbench_emulator.nki.dtype import DTYPES

RNG = np.random.default_rng(5)
X = (RNG.standard_normal((32, 64)) * 2).astype(np.float32)
Y = RNG.standard_normal((32, 64)).astype(np.float32)
P = np.abs(X) + 0.25
INTS = RNG.integers(1, 1 << 12, (32, 64)).astype(np.int32)
JNTS = RNG.integers(1, 1 << 12, (32, 64)).astype(np.int32)
IDS = RNG.integers(0, 64, (32, 16)).astype(np.uint32)

_erf = np.vectorize(math.erf)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _slope(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A derivative by differences: an independent form of the ones that are provided."""
    return lambda x: (function(x + 1e-4) - function(x - 1e-4)) / 2e-4


def _gelu(x: Any) -> Any:
    return x * 0.5 * (1 + _erf(x / math.sqrt(2)))


UNARY: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "abs": (X, np.abs), "square": (X, lambda x: x * x), "exp": (X, np.exp), "log": (P, np.log),
    "sqrt": (P, np.sqrt), "rsqrt": (P, lambda x: x**-0.5), "tanh": (X, np.tanh), "sigmoid": (X, _sigmoid),
    "relu": (X, lambda x: x * (x > 0)), "gelu": (X, _gelu), "gelu_dx": (X, _slope(_gelu)),
    "gelu_apprx_sigmoid": (X, lambda x: x * _sigmoid(1.702 * x)),
    "gelu_apprx_sigmoid_dx": (X, _slope(lambda x: x * _sigmoid(1.702 * x))),
    "gelu_apprx_tanh": (X, _gelu), "silu": (X, lambda x: x * _sigmoid(x)),
    "silu_dx": (X, _slope(lambda x: x * _sigmoid(x))), "softplus": (X, lambda x: np.log1p(np.exp(x))),
    "mish": (X, lambda x: x * np.tanh(np.log1p(np.exp(x)))), "erf": (X, _erf), "erf_dx": (X, _slope(_erf)),
    "reciprocal": (P, lambda x: 1 / x), "copy": (X, lambda x: x), "sin": (X, np.sin), "cos": (X, np.cos),
    "tan": (Y / 2, np.tan), "arctan": (X, np.arctan), "ceil": (X, np.ceil), "floor": (X, np.floor),
    "trunc": (X, np.trunc), "negative": (X, lambda x: -x), "sign": (X, np.sign),
    "logical_not": (np.floor(P), lambda x: x == 0), "invert": (INTS, lambda x: -x - 1),
}  # fmt: skip

BINARY: dict[str, tuple[Any, Any, Callable[[Any, Any], Any]]] = {
    "add": (X, Y, lambda x, y: x + y), "subtract": (X, Y, lambda x, y: x - y),
    "multiply": (X, Y, lambda x, y: x * y), "divide": (X, P, lambda x, y: x / y),
    "maximum": (X, Y, np.maximum), "minimum": (X, Y, np.minimum),
    "abs_max": (X, Y, lambda x, y: np.where(abs(x) > abs(y), x, y)),
    "abs_min": (X, Y, lambda x, y: np.where(abs(x) < abs(y), x, y)), "power": (P, Y, lambda x, y: x**y),
    "equal": (INTS % 3, JNTS % 3, lambda x, y: x == y), "not_equal": (INTS % 3, JNTS % 3, lambda x, y: x != y),
    "less": (X, Y, lambda x, y: x < y), "less_equal": (X, Y, lambda x, y: x <= y),
    "greater": (X, Y, lambda x, y: x > y), "greater_equal": (X, Y, lambda x, y: x >= y),
    "bitwise_and": (INTS, JNTS, lambda x, y: x & y), "bitwise_or": (INTS, JNTS, lambda x, y: x | y),
    "bitwise_xor": (INTS, JNTS, lambda x, y: x ^ y), "left_shift": (INTS, JNTS % 8, lambda x, y: x << y),
    "right_shift": (INTS, JNTS % 8, lambda x, y: x >> y),
    "logical_and": (INTS % 2, JNTS % 2, lambda x, y: x & y), "logical_or": (INTS % 2, JNTS % 2, lambda x, y: x | y),
    "logical_xor": (INTS % 2, JNTS % 2, lambda x, y: x ^ y),
    "fmod": (X, P, lambda x, y: x - np.trunc(x / y) * y), "mod": (X, P, lambda x, y: x - np.floor(x / y) * y),
}  # fmt: skip

IN = "x = nl.load(args[0]); y = nl.load(args[1]) if len(args) > 1 else None\n"

CASES: dict[str, Case] = {
    "nl.ndarray": (IN + "t = nl.ndarray(x.shape, x.dtype, address=(0, 4096))\nnisa.tensor_copy(t, x)", (X,), lambda x: x),
    "nl.zeros": ("t = nl.zeros((4, 8), nl.float32)", (), lambda: np.zeros((4, 8))),
    "nl.ones": ("t = nl.ones((4, 8), nl.bfloat16)", (), lambda: np.ones((4, 8))),
    "nl.full": ("t = nl.full((4, 8), 2.5, nl.float16)", (), lambda: np.full((4, 8), 2.5)),
    "nl.zeros_like": (IN + "t = nl.zeros_like(x)", (X,), np.zeros_like),
    "nl.empty_like": (IN + "t = nl.empty_like(x, nl.int32)\nnisa.memset(t, 4)", (X,), lambda x: np.full(x.shape, 4)),
    "nl.shared_constant": ("import numpy as np\nt = nl.load(nl.shared_constant(np.arange(12.).reshape(3, 4).astype('f4')))", (), lambda: np.arange(12.0).reshape(3, 4)),
    "nl.shared_identity_matrix": ("t = nl.shared_identity_matrix(8, nl.float32)\nassert nl.shared_identity_matrix(8, nl.float32) is t", (), lambda: np.eye(8)),
    "nl.rand": ("a = nl.rand((32, 64), nl.float32)\nt = nl.logical_and(nl.greater_equal(a, 0.0), nl.less(a, 1.0000001))", (), lambda: np.ones((32, 64))),
    "nl.random_seed": ("s = nl.full((1, 1), 42, nl.int32)\nnl.random_seed(s); a = nl.rand((4, 8), nl.float32)\nnl.random_seed(s); b = nl.rand((4, 8), nl.float32)\nt = nl.subtract(a, b)", (), lambda: np.zeros((4, 8))),
    "nl.load": (IN + "t = nl.load(args[0], dtype=nl.bfloat16)", (INTS % 256,), lambda x: x),
    "nl.store": ("o = nl.ndarray((32, 64), nl.float32, buffer=nl.hbm)\nnl.store(o, nl.load(args[0]))\nt = nl.load(o)", (X,), lambda x: x),
    "nl.load_transpose2d": ("t = nl.load_transpose2d(args[0])", (X,), lambda x: x.T),
    "nl.matmul": (IN + "p = nl.matmul(x[:, 0:32], y)\nt = nl.copy(p)", (X, Y), lambda x, y: x[:, :32] @ y),
    "nl.transpose": (IN + "t = nl.copy(nl.transpose(x))", (X,), lambda x: x.T),
    "nl.sum": (IN + "t = nl.sum(x.reshape((32, 4, 4, 4)), axis=[2, 3])", (X,), lambda x: x.reshape(32, 4, 16).sum(2)),
    "nl.max": (IN + "t = nl.max(x, axis=1)", (X,), lambda x: x.max(1, keepdims=True)),
    "nl.min": (IN + "t = nl.min(x, axis=-1, keepdims=True)", (X,), lambda x: x.min(1, keepdims=True)),
    "nl.mean": (IN + "t = nl.mean(x, axis=1)", (X,), lambda x: x.mean(1, keepdims=True)),
    "nl.prod": (IN + "t = nl.prod(x[:, 0:4], axis=1)", (P,), lambda x: x[:, :4].prod(1, keepdims=True)),
    "nl.var": (IN + "t = nl.var(x, axis=1)", (X,), lambda x: x.var(1, keepdims=True)),
    "nl.all": (IN + "t = nl.all(x, axis=1)", (INTS % 40,), lambda x: (x != 0).all(1, keepdims=True)),
    "nl.softmax": (IN + "t = nl.softmax(x, axis=1)", (X,), lambda x: (e := np.exp(x - x.max(1, keepdims=True))) / e.sum(1, keepdims=True)),
    "nl.rms_norm": (IN + "t = nl.rms_norm(x, y, axis=1, n=64)", (X, Y), lambda x, w: x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6) * w),
    "nl.where": (IN + "t = nl.where(nl.greater(x, 0.0), x, y)", (X, Y), lambda x, y: np.where(x > 0, x, y)),
    "nl.dropout": (IN + "t = nl.dropout(x, 0.0)", (X,), lambda x: x),
    "nl.expand_dims": (IN + "t = nl.expand_dims(x, 1)", (X,), lambda x: x[:, None]),
    "nl.broadcast_to": (IN + "t = nl.broadcast_to(x[0:1], (128, 64))", (X,), lambda x: np.repeat(x[:1], 128, 0)),
    "nl.gather_flattened": (IN + "t = nl.gather_flattened(x, y)", (X, IDS), lambda x, i: np.take_along_axis(x, i.astype(np.int64), 1)),
    "nl.ds": (IN + "t = x[:, nl.ds(8, 16)]", (X,), lambda x: x[:, 8:24]),
    "nl.affine_range": (IN + "t = x\nassert list(nl.affine_range(2, 8, 3)) == [2, 5]", (X,), lambda x: x),
    "nl.sequential_range": (IN + "t = x\nassert list(nl.sequential_range(3)) == [0, 1, 2]", (X,), lambda x: x),
    "nl.static_range": (IN + "t = x\nassert list(nl.static_range(1, 3)) == [1, 2]", (X,), lambda x: x),
    "nl.dynamic_range": ("t = nl.zeros((1, 1), nl.float32)\nfor _ in nl.dynamic_range(nisa.register_alloc(5)):\n    nisa.tensor_scalar(t, t, nl.add, 2.0)", (), lambda: np.array([[10.0]])),
    "nl.fori_loop": ("t = nl.zeros((1, 1), nl.float32)\ndef body(i):\n    nisa.tensor_scalar(t, t, nl.add, float(int(i)))\nnl.fori_loop(0, nisa.register_alloc(5), body)", (), lambda: np.array([[10.0]])),
    "nl.while_loop": ("t = nl.full((1, 1), 4, nl.int32)\nr = nisa.register_alloc(); nisa.register_load(r, t)\ndef body(r):\n    nisa.tensor_scalar(t, t, nl.subtract, 1.0)\n    n = nisa.register_alloc(); nisa.register_load(n, t)\n    return n\nnl.while_loop(r, body)", (), lambda: np.array([[0]])),
    "nl.no_reorder": (IN + "with nl.no_reorder():\n    t = nl.add(x, x)", (X,), lambda x: x + x),
    "nl.device_print": (IN + "t = x\nnl.device_print('x', x)", (X,), lambda x: x),
    "nl.program_id": (IN + "t = x\nassert nl.program_id(0) == 0", (X,), lambda x: x),
    "nl.num_programs": (IN + "t = x\nassert nl.num_programs() == 1", (X,), lambda x: x),
    "nl.program_ndim": (IN + "t = x\nassert nl.program_ndim() == 0", (X,), lambda x: x),
    "nl.is_sbuf": (IN + "t = x\nassert nl.is_sbuf(x.buffer) and nl.is_on_chip(nl.psum) and nl.is_psum(nl.psum) and nl.is_hbm(nl.shared_hbm) and not nl.is_hbm(nl.sbuf)", (X,), lambda x: x),
    "nl.tile_size": (IN + "t = x\nassert (nl.tile_size.pmax, nl.tile_size.psum_bank_fmax, nl.tile_size.bn_stats_fmax, nl.tile_size.psum_num_banks, nl.tile_size.sbuf_fmax_bytes) == (128, 512, 512, 8, 229376)", (X,), lambda x: x),
    "nl.average": (IN + "t = nl.ndarray((1, 64), nl.float32)\nnisa.tensor_partition_reduce(t, nl.average, x)", (X,), lambda x: x.mean(0, keepdims=True)),
    "nl.private_hbm": (IN + "o = nl.ndarray((32, 64), nl.float32, buffer=nl.private_hbm)\nnl.store(o, x)\nt = nl.load(o)", (X,), lambda x: x),
    "nl.MemoryRegion": (IN + "t = x\nassert x.buffer is nl.MemoryRegion.SBUF", (X,), lambda x: x),
    "nl.NkiTensor": (IN + "t = x\nassert isinstance(x, nl.NkiTensor)", (X,), lambda x: x),
    "nl.bypass": (IN + "t = x\nassert nl.bypass is not nl.copy", (X,), lambda x: x),
    "nl.NKIObject": ("from dataclasses import dataclass\n@dataclass\nclass Plain(nl.NKIObject):\n    a = None\n    b = 2\n@dataclass\nclass Noted(nl.NKIObject):\n    a: int\n    b: float = 2.0\np, n = Plain(a=5), Noted(3)\nassert (p.a, p.b, n.a, n.b) == (5, 2, 3, 2.0)\nt = nl.zeros((1, 1), nl.float32)", (), lambda: np.zeros((1, 1))),
}  # fmt: skip


TAIL = "\nout = nl.ndarray(t.shape, t.dtype, buffer=nl.shared_hbm)\nnl.store(out, t)\nreturn out"


@pytest.mark.parametrize("name", CASES)
def test_function_matches_numpy(run_piece: Run, name: str) -> None:
    matches_numpy(run_piece, CASES[name])


@pytest.mark.parametrize("kind", ["float32", "int32"])
def test_any_row_is_broadcast(snippets: Any, kind: str) -> None:
    body = f"t = nl.broadcast_to(nl.load(args[0])[5:6, 0:1], (128, 64)){TAIL}"
    got = snippets.run(body, INTS.astype(kind), functional=True).outputs[0]
    np.testing.assert_array_equal(got, np.full((128, 64), INTS[5, 0]))


@pytest.mark.parametrize("name", UNARY)
def test_unary_operation_matches_numpy(snippets: Any, name: str) -> None:
    x, expected = UNARY[name]
    got = snippets.run(f"t = nl.{name}(nl.load(args[0])){TAIL}", x, functional=True).outputs[0]
    want = expected(x.astype(np.float64) if x.dtype == np.float32 else x)
    # The tanh form of gelu differs from gelu by its error.
    loose = 2e-3 if name == "gelu_apprx_tanh" else 2e-5
    np.testing.assert_allclose(got, np.asarray(want, np.float64), rtol=loose, atol=loose)


@pytest.mark.parametrize("name", BINARY)
def test_binary_operation_matches_numpy(snippets: Any, name: str) -> None:
    x, y, expected = BINARY[name]
    body = f"t = nl.{name}(nl.load(args[0]), nl.load(args[1])){TAIL}"
    got = snippets.run(body, x, y, machine=EVERY_INSTRUCTION, functional=True).outputs[0]
    np.testing.assert_allclose(got, np.asarray(expected(x, y), np.float64), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name", [each for each in DTYPES if each != "float8_e8m0fnu"])
def test_every_type_travels(snippets: Any, name: str) -> None:
    body = f"t = nl.ndarray((4, 8), nl.{name})\nnisa.memset(t, 0){TAIL}"
    got = snippets.run(body, functional=True).outputs[0]
    assert not got.view(np.uint8).any()


def test_a_bound_read_from_memory_needs_values(snippets: Any) -> None:
    body = "t = nl.full((1, 1), 3, nl.int32)\nr = nisa.register_alloc()\nnisa.register_load(r, t)\nwhile r:\n    pass"
    with pytest.raises(KernelError) as caught:
        snippets.run(body)
    assert str(caught.value) == (
        "the value of a register decides a branch, and is not known (snippet.py:9)\n"
        "  cause: it was never set, or was loaded from memory while only shapes are recorded\n"
        "  try:   run the kernel with values (functional mode), which times it too"
    )


def test_an_index_outside_is_named(snippets: Any) -> None:
    body = (
        "t = nl.ndarray((2, 4), nl.float32)\n"
        "nisa.dma_copy(t, args[0].ap([[4, 2], [1, 4]], vector_offset=nl.load(args[1]), indirect_dim=0{skip}))"
    )
    x, i = np.ones((3, 4), np.float32), np.array([[1], [7]], np.int32)
    with pytest.raises(KernelError) as caught:
        snippets.run(body.format(skip=""), x, i, functional=True)
    assert caught.value.what == "dma_copy: an index is outside float32[3, 4]@hbm: 7 (snippet.py:7)"
    skipped = body.format(skip="").replace("dim=0)", "dim=0), oob_mode=nisa.oob_mode.skip") + TAIL
    got = snippets.run("\n" + skipped, x, i, functional=True).outputs[0]
    np.testing.assert_array_equal(got, [[1.0] * 4, [np.nan] * 4])


def test_where_operands_may_start_follows_from_how_many_partitions_they_have(snippets: Any) -> None:
    body = "t = nl.zeros((128, 8), nl.float32)\nnisa.memset(t[{first}:{last}], 1.0)"
    allowed = {
        1: (0, 32, 64, 96),
        32: (0, 32, 64, 96),
        33: (0, 64),
        64: (0, 64),
        65: (0,),
        96: (0,),
        128: (0,),
    }
    for count, starts in allowed.items():
        taken, refused = [], {}
        for first in (0, 1, 16, 31, 32, 33, 48, 63, 64, 80, 95, 96, 112):
            if first + count > 128:
                continue
            try:
                snippets.run(body.format(first=first, last=first + count))
                taken.append(first)
            except KernelError as error:
                refused[first] = error.what
        assert taken == [each for each in starts if each + count <= 128], count
        assert all(f"starts at partition {first}, it may" in what for first, what in refused.items())


def test_two_programs_share_hbm_and_meet(snippets: Any) -> None:
    body = """
me = nl.program_id(0)
assert nl.num_programs() == 2 and nl.program_ndim() == 1
both = nl.ndarray((64, 8), nl.float32, buffer=nl.shared_hbm)
t = nl.full((32, 8), float(me + 1), nl.float32)
nisa.dma_copy(both[32 * me : 32 * me + 32], t)
nisa.core_barrier(both, (0, 1))
u = nl.ndarray((32, 8), nl.float32)
nisa.sendrecv(t, u, 1 - me, 1 - me, pipe_id=0)
out = nl.ndarray((64, 8), nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(out[32 * me : 32 * me + 32], u)
nisa.core_barrier(out, (0, 1))
assert float(both.array[40, 0]) == 2.0 and float(both.array[8, 0]) == 1.0
return out
"""
    trace = snippets.run(body, programs=2, functional=True)
    np.testing.assert_array_equal(trace.outputs[0], np.repeat([[2.0], [1.0]], 32, axis=0).repeat(8, axis=1))
    assert (trace.programs, trace.count) == (2, 6)


def test_two_programs_meet_more_often_than_python_calls_itself(snippets: Any) -> None:
    body = """
out = nl.ndarray((1, 8), nl.float32, buffer=nl.shared_hbm)
nisa.dma_copy(out, nl.full((1, 8), 1.0, nl.float32))
for _ in range(1200):
    nisa.core_barrier(out, (0, 1))
return out
"""
    assert snippets.run(body, programs=2, functional=True).count == 1202


def test_programs_that_wait_for_each_other_in_another_order_are_told(snippets: Any) -> None:
    from trnbench.errors import KernelError

    body = """
me = nl.program_id(0)
t, u, v = (nl.full((32, 8), 1.0, nl.float32) for _ in range(3))
for pipe in ((0, 1) if me == 0 else (1, 0)):
    nisa.sendrecv(t, u if pipe else v, 1 - me, 1 - me, pipe_id=pipe)
return nl.ndarray((1, 1), nl.float32, buffer=nl.shared_hbm)
"""
    with pytest.raises(KernelError) as caught:
        snippets.run(body, programs=2, functional=True)
    lines = re.findall(r":(\d+)\)", caught.value.what)
    assert len(lines) == 2
    assert re.sub(r"\(.*?\)", "(…)", caught.value.what) == (
        "the programs of the launch wait for each other without end: "
        "program 0 at nisa.sendrecv, pipe 0 (…); program 1 at nisa.sendrecv, pipe 1 (…)"
    )
    assert caught.value.cause == "each meets the others in an order of its own"


def test_a_core_receives_from_one_that_sends_to_it(snippets: Any) -> None:
    body = """
(x,) = args
t, u = nl.load(x), nl.ndarray((4, 8), nl.float32)
nisa.sendrecv(t, u, send_to_rank=0, recv_from_rank=1, pipe_id=0)
return x
"""
    with pytest.raises(KernelError, match="core 1 receives from core 1, which sends to core 0"):
        snippets.run(body, np.ones((4, 8), np.float32), functional=True, programs=2)


@pytest.mark.parametrize("call", ["nisa.core_barrier(out, (0, 1))", "nisa.sendrecv(t, u, 0, 0, 0)"])
def test_more_programs_than_a_logical_core_has_cannot_meet(snippets: Any, call: str) -> None:
    body = f"""
out = nl.ndarray((1, 1), nl.float32, buffer=nl.shared_hbm)
t, u = nl.full((32, 8), 1.0, nl.float32), nl.full((32, 8), 1.0, nl.float32)
{call}
return out
"""
    with pytest.raises(KernelError, match="it joins the two cores of a logical core, the launch has 8 progr"):
        snippets.run(body, programs=8)
