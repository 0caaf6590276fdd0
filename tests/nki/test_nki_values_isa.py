"""Every instruction against NumPy, and the same instructions when only shapes flow.

A key of CASES is the public name that the case stands for in docs/nki.md.
"""

# ruff: noqa: E501 - one case on one line is read faster

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import msgspec
import numpy as np
import pytest

from trnbench.nki import TensorSpec, load_kernel, record
from trnbench.nki.dtype import dtype_of

RNG = np.random.default_rng(11)
X = RNG.standard_normal((32, 64)).astype(np.float32)
Y = RNG.standard_normal((32, 64)).astype(np.float32)
IDS = RNG.integers(0, 64, (32, 16)).astype(np.uint32)
ROWS = RNG.permutation(64)[:32].astype(np.int32).reshape(32, 1)
BIG = RNG.standard_normal((64, 48)).astype(np.float32)
FLAGS = (RNG.random((32, 64)) > 0.5).astype(np.uint8)
INTS = RNG.integers(0, 1 << 16, (32, 64)).astype(np.int32)
HALF = X.astype(ml_dtypes.bfloat16)
SEGMENTS = np.array([[0, 1, 1, 2, 2, 2, 0, 3]], np.int32)

Case = tuple[str, tuple[Any, ...], Callable[..., Any]]

IN = "x = nl.load(args[0]); y = nl.load(args[1]) if len(args) > 1 else None\n"


def _out(shape: str = "x.shape", dtype: str = "nl.float32") -> str:
    return f"t = nl.ndarray({shape}, dtype={dtype})\n"


def _scan(x: Any, y: Any) -> Any:
    out, state = np.empty_like(x), np.full(len(x), 0.5, np.float32)
    for at in range(x.shape[1]):
        state = x[:, at] * state + y[:, at]
        out[:, at] = state
    return out


def _mx(x: Any, y: Any) -> Any:
    # What quantize_mx keeps: 3 bits after the leading one, at a scale of the largest of 32.
    def kept(v: Any) -> Any:
        groups = v.astype(np.float32).reshape(4, 8, -1, 4)
        largest = np.abs(groups).max(axis=(1, 3), keepdims=True)
        scale = 2.0 ** (np.floor(np.log2(largest)) - 7)
        return ((groups / scale).astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * scale).reshape(v.shape)

    left, right = kept(x).reshape(32, -1, 4), kept(y).reshape(32, -1, 4)
    return np.einsum("kmi,kni->mn", left, right)


CASES: dict[str, Case] = {
    "nisa.dma_copy": (IN + "t = x", (X,), lambda x: x),
    "nisa.tensor_copy": (IN + _out(dtype="nl.bfloat16") + "nisa.tensor_copy(t, x)", (X,), lambda x: x),
    "nisa.memset": (_out("(8, 8)") + "nisa.memset(t, 1.5)", (), lambda: np.full((8, 8), 1.5)),
    "nisa.tensor_copy_predicated": (
        IN + _out() + "nisa.memset(t, 7.0)\nnisa.tensor_copy_predicated(t, x, y)",
        (X, FLAGS),
        lambda x, p: np.where(p, x, 7.0),
    ),
    "nisa.nc_matmul": (
        IN
        + "ps = nl.ndarray((64, 64), nl.float32, buffer=nl.psum)\n"
        + "nisa.nc_matmul(ps, x, y, tile_position=(0, 0), tile_size=(32, 64))\n"
        + _out("(64, 64)")
        + "nisa.tensor_copy(t, ps)",
        (X, Y),
        lambda x, y: x.T @ y,
    ),
    "nisa.nc_transpose": (
        IN + _out("(32, 32)") + "nisa.nc_transpose(t, x[:, 0:32], engine=nisa.engine.vector)",
        (X,),
        lambda x: x[:, :32].T,
    ),
    "nisa.dma_transpose": (
        "t = nl.ndarray((64, 32), nl.bfloat16)\nnisa.dma_transpose(t, args[0])",
        (HALF,),
        lambda x: x.T,
    ),
    "nisa.tensor_tensor": (
        IN + _out() + "nisa.tensor_tensor(t, x, y, nl.subtract)",
        (X, Y),
        lambda x, y: x - y,
    ),
    "nisa.tensor_scalar": (
        IN
        + _out(dtype="nl.int32")
        + "nisa.tensor_scalar(t, x, nl.left_shift, 2, op1=nl.bitwise_xor, operand1=-1)",
        (INTS,),
        lambda x: (x << 2) ^ -1,
    ),
    "nisa.tensor_reduce": (
        IN + _out("(32, 1)") + "nisa.tensor_reduce(t, nl.minimum, x, axis=1, negate=True)",
        (X,),
        lambda x: -x.min(1, keepdims=True),
    ),
    "nisa.tensor_partition_reduce": (
        IN + _out("(1, 64)") + "nisa.tensor_partition_reduce(t, nl.add, x)",
        (X,),
        lambda x: x.sum(0, keepdims=True),
    ),
    "nisa.tensor_scalar_cumulative": (
        IN + _out() + "nisa.tensor_scalar_cumulative(t, x, nl.multiply, nl.add, 2.0)",
        (X,),
        lambda x: np.cumsum(2 * x, axis=1),
    ),
    "nisa.tensor_tensor_scan": (
        IN + _out() + "nisa.tensor_tensor_scan(t, x, y, 0.5, nl.multiply, nl.add)",
        (X, Y),
        _scan,
    ),
    "nisa.scalar_tensor_tensor": (
        IN + _out() + "nisa.scalar_tensor_tensor(t, x, nl.square, None, nl.subtract, y, reverse1=True)",
        (X, Y),
        lambda x, y: y - x * x,
    ),
    "nisa.tensor_scalar_reduce": (
        IN
        + _out("(32, 1)")
        + "u = nl.ndarray(x.shape, nl.float32)\n"
        + "nisa.tensor_scalar_reduce(u, x, nl.add, 1.0, nl.maximum, t, reduce_res_negate=True)",
        (X,),
        lambda x: -(x + 1).max(1, keepdims=True),
    ),
    "nisa.activation": (
        IN
        + _out("(32, 1)")
        + "u = nl.ndarray(x.shape, nl.float32)\n"
        + "nisa.activation(u, nl.exp, x, scale=0.5, bias=x[:, 0:1], reduce_op=nl.add,"
        + " reduce_cmd=nisa.reduce_cmd.reset_reduce)\n"
        + "nisa.activation(u, nl.copy, x, reduce_op=nl.add, reduce_res=t, reduce_cmd=nisa.reduce_cmd.reduce)",
        (X,),
        lambda x: (np.exp(x * 0.5 + x[:, :1]) + x).sum(1, keepdims=True),
    ),
    "nisa.activation_reduce": (
        IN
        + _out("(32, 1)")
        + "u = nl.ndarray(x.shape, nl.float32)\n"
        + "nisa.activation_reduce(u, nl.square, x, nl.add, t)",
        (X,),
        lambda x: (x * x).sum(1, keepdims=True),
    ),
    "nisa.activate2": (
        IN + _out() + "nisa.activate2(t, nl.prelu, x, 2.0, 1.0, nl.multiply, nl.subtract, relu_param=0.1)",
        (X,),
        lambda x: np.where(2 * x - 1 >= 0, 2 * x - 1, 0.1 * (2 * x - 1)),
    ),
    "nisa.exponential": (
        IN
        + _out("(32, 1)")
        + "u = nl.ndarray(x.shape, nl.float32)\n"
        + "nisa.exponential(u, x, x[:, 0:1], t, nisa.reduce_cmd.load_reduce, 3.0)",
        (X,),
        lambda x: np.exp(x - x[:, :1]).sum(1, keepdims=True) + 3,
    ),
    "nisa.reciprocal": (IN + _out() + "nisa.reciprocal(t, x)", (X,), lambda x: 1 / x),
    "nisa.iota": (
        _out("(8, 2, 3)", "nl.int32") + "nisa.iota(t, [[10, 2], [1, 3]], offset=5, channel_multiplier=100)",
        (),
        lambda: 5 + 100 * np.arange(8)[:, None, None] + 10 * np.arange(2)[:, None] + np.arange(3),
    ),
    "nisa.affine_select": (
        IN + _out() + "nisa.affine_select(t, [[-1, 64]], 1, x, -9.0, nl.greater_equal)",
        (X,),
        lambda x: np.where(np.arange(32)[:, None] >= np.arange(64), x, -9.0),
    ),
    "nisa.range_select": (
        IN
        + _out("(32, 1)")
        + "u = nl.ndarray(x.shape, nl.float32)\nlow = nl.full((32, 1), 3.0, nl.float32)\n"
        + "high = nl.full((32, 1), 20.0, nl.float32)\n"
        + "nisa.range_select(u, x, nl.greater_equal, nl.less, low, high, reduce_res=t)",
        (X,),
        lambda x: x[:, 3:20].max(1, keepdims=True),
    ),
    "nisa.select_reduce": (
        IN
        + _out("(32, 1)")
        + "u = nl.ndarray(x.shape, nl.float32)\n"
        + "nisa.select_reduce(u, y, x, -5.0, t, nisa.reduce_cmd.reset_reduce, reverse_pred=True)",
        (X, FLAGS),
        lambda x, p: np.where(p == 0, x, -5.0).max(1, keepdims=True),
    ),
    "nisa.sequence_bounds": (
        IN + _out("(1, 2, 8)", "nl.int32") + "nisa.sequence_bounds(t, x)",
        (SEGMENTS,),
        lambda _: np.array([[[8, 1, 1, 3, 3, 3, 8, 7], [-1, 3, 3, 6, 6, 6, -1, 8]]]),
    ),
    "nisa.local_gather": (
        IN + _out("(32, 32)") + "nisa.local_gather(t, x, y)",
        (X, RNG.integers(0, 64, (32, 2)).astype(np.uint16)),
        lambda x, i: np.concatenate([x[r : r + 16][:, i[r : r + 16].T.reshape(-1)] for r in (0, 16)]),
    ),
    "nisa.nc_n_gather": (
        IN + _out("(32, 16)") + "nisa.nc_n_gather(t, x, y)",
        (X, IDS),
        lambda x, i: np.take_along_axis(x, i.astype(np.int64), 1),
    ),
    "nisa.nc_stream_shuffle": (
        IN + _out() + "nisa.nc_stream_shuffle(t, x, [31 - i for i in range(32)])",
        (X,),
        lambda x: x[::-1],
    ),
    "nisa.nonzero_with_count": (
        IN + _out("(1, 65)", "nl.int32") + "nisa.nonzero_with_count(t, x[0:1], index_offset=16)",
        (FLAGS.astype(np.int32),),
        lambda p: np.concatenate(
            [(f := np.flatnonzero(p[0])) + 16, np.full(64 - len(f), -1), [len(f)]]
        ).reshape(1, -1),
    ),
    "nisa.topk": (
        IN
        + "v = nl.ndarray((32, 8), nl.bfloat16); t = nl.ndarray((32, 8), nl.uint32)\n"
        + "nisa.topk(v, t, x[:, 0:3], n=42)",
        (HALF,),
        lambda x: np.concatenate(
            [
                np.tile(
                    np.argsort(x[r : r + 16, :3].T.reshape(-1)[:42].astype(np.float32), kind="stable")[-8:],
                    (16, 1),
                )
                for r in (0, 16)
            ]
        ),
    ),
    "nisa.bn_stats": (
        IN + _out("(32, 6)") + "nisa.bn_stats(t, x)",
        (X,),
        lambda x: np.stack(
            [f for h in (x[:, ::2], x[:, 1::2]) for f in (np.full(32, 32.0), h.mean(1), h.var(1) * 32)], 1
        ),
    ),
    "nisa.bn_aggr": (
        IN
        + _out("(32, 2)")
        + "s = nl.ndarray((32, 12), nl.float32)\nnisa.bn_stats(s[:, 0:6], x)\nnisa.bn_stats(s[:, 6:12], y)\n"
        + "nisa.bn_aggr(t, s)",
        (X, Y),
        lambda x, y: np.stack([(z := np.concatenate([x, y], 1)).mean(1), z.var(1)], 1),
    ),
    "nisa.max8": (
        IN + _out("(32, 8)") + "nisa.max8(t, x)",
        (X,),
        lambda x: np.sort(x, 1)[:, ::-1][:, :8],
    ),
    "nisa.nc_find_index8": (
        IN
        + "v = nl.ndarray((32, 8), nl.float32)\nnisa.max8(v, x)\n"
        + _out("(32, 8)", "nl.uint32")
        + "nisa.nc_find_index8(t, x, v)",
        (X,),
        lambda x: np.argsort(-x, 1)[:, :8],
    ),
    "nisa.nc_match_replace8": (
        IN
        + _out("(1, 8)", "nl.uint32")
        + "u = nl.ndarray((1, 11), nl.float32)\nnisa.nc_match_replace8(u, x, y, 0.0, t)",
        (np.array([[1, 2, 3, 4] + [8] * 7], np.float32), np.array([[3] + [8] * 7], np.float32)),
        lambda _, __: np.array([[2, 10, 9, 8, 7, 6, 5, 4]]),
    ),
    "nisa.dma_compute": (
        IN + _out() + "nisa.dma_compute(t, [x, y, x], nl.add)",
        (X, Y),
        lambda x, y: 2 * x + y,
    ),
    "nisa.quantize_mx": (
        "t = nl.ndarray((32, 16), nl.float8_e4m3fn_x4); s = nl.ndarray((4, 16), nl.uint8)\n"
        "x = nl.load(args[0])\nnisa.quantize_mx(t, x, s)\nt = s",
        (HALF,),
        lambda x: np.floor(np.log2(np.abs(x.astype(np.float32)).reshape(4, 8, 16, 4).max((1, 3)))) - 7 + 127,
    ),
    "nisa.nc_matmul_mx": (
        IN
        + "q = nl.ndarray((32, 16), nl.float8_e4m3fn_x4); s = nl.ndarray((4, 16), nl.uint8)\n"
        + "r = nl.ndarray((32, 16), nl.float8_e4m3fn_x4); u = nl.ndarray((4, 16), nl.float8_e8m0fnu)\n"
        + "nisa.quantize_mx(q, x, s)\nnisa.quantize_mx(r, y, u)\n"
        + "ps = nl.ndarray((16, 16), nl.float32, buffer=nl.psum)\nnisa.nc_matmul_mx(ps, q, r, s, u)\n"
        + _out("(16, 16)")
        + "nisa.tensor_copy(t, ps)",
        (HALF, Y.astype(ml_dtypes.bfloat16)),
        _mx,
    ),
    "nisa.sendrecv": (
        IN + _out() + "nisa.sendrecv(x, t, 0, 0, pipe_id=0)",
        (X,),
        lambda x: x,
    ),
    "nisa.core_barrier": (
        IN + "t = x\nnisa.core_barrier(args[0], (0, 1))",
        (X,),
        lambda x: x,
    ),
    "nisa.rng": (
        "a = nl.ndarray((32, 64), nl.uint16); b = nl.ndarray((32, 64), nl.uint16)\n"
        "seed = nl.full((1, 1), 7, nl.int32)\n"
        "nisa.set_rng_seed(seed); nisa.rng(a); nisa.set_rng_seed(seed); nisa.rng(b)\n"
        + _out("(32, 64)", "nl.uint16")
        + "nisa.tensor_tensor(t, a, b, nl.bitwise_xor)",
        (),
        lambda: np.zeros((32, 64)),
    ),
    "nisa.set_rng_seed": (
        "t = nl.full((1, 1), 7, nl.int32)\nnisa.set_rng_seed(t)",
        (),
        lambda: np.full((1, 1), 7),
    ),
    "nisa.rand_set_state": (
        IN + _out("(32, 6)", "nl.uint32") + "nisa.rand_set_state(x)\nnisa.rand_get_state(t)",
        (IDS[:, :6],),
        lambda i: i,
    ),
    "nisa.rand_get_state": (
        _out("(4, 6)", "nl.uint32") + "nisa.rand_get_state(t)",
        (),
        lambda: np.zeros((4, 6)),
    ),
    "nisa.rand2": (
        "u = nl.ndarray((32, 64), nl.float32)\nnisa.rand2(u, 2.0, 3.0)\n"
        + _out("(32, 64)")
        + "nisa.tensor_scalar(t, u, nl.greater_equal, 2.0)",
        (),
        lambda: np.ones((32, 64)),
    ),
    "nisa.dropout": (IN + _out() + "nisa.dropout(t, x, 1.0)", (X,), np.zeros_like),
    "nisa.register_alloc": (
        "t = nl.ndarray((1, 1), nl.int32)\nr = nisa.register_alloc(41)\nnisa.register_store(t, r)",
        (),
        lambda: np.array([[41]]),
    ),
    "nisa.register_move": (
        "t = nl.ndarray((1, 1), nl.int32)\nr = nisa.register_alloc()\nnisa.register_move(r, 5)\n"
        "nisa.register_store(t, r)",
        (),
        lambda: np.array([[5]]),
    ),
    "nisa.register_load": (
        "t = nl.full((1, 1), 9, nl.int32)\nr = nisa.register_alloc()\nnisa.register_load(r, t)",
        (),
        lambda: np.array([[9]]),
    ),
    "nisa.register_store": (
        "t = nl.ndarray((1, 1), nl.int32)\nnisa.register_store(t, nisa.register_alloc(3))",
        (),
        lambda: np.array([[3]]),
    ),
    "nisa.get_nc_version": (
        "t = nl.full((1, 1), int(nisa.get_nc_version() == nisa.nc_version.gen4), nl.int32)",
        (),
        lambda: np.array([[1]]),
    ),
    "nisa.get_nc_sub_version": (
        "t = nl.full((1, 1), nisa.get_nc_sub_version(), nl.int32)",
        (),
        lambda: np.zeros((1, 1)),
    ),
    "nisa.dge_mode": (
        "t = nl.ndarray((32, 64), nl.float32, buffer=nl.sbuf)\n"
        "nisa.dma_copy(t, args[0], dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine.sync, priority=1)",
        (X,),
        lambda x: x,
    ),
    "nisa.dma_engine": (
        IN + _out() + "nisa.sendrecv(x, t, 0, 0, 0, dma_engine=nisa.dma_engine.gpsimd_dma)",
        (X,),
        lambda x: x,
    ),
    "nisa.VirtualRegister": (
        "r = nisa.register_alloc(2)\nassert isinstance(r, nisa.VirtualRegister) and r and int(r) == 2\n"
        "t = nl.full((1, 1), 2, nl.int32)",
        (),
        lambda: np.full((1, 1), 2),
    ),
    "tensor.ap": (
        IN + "t = x.ap([[64, 32], [2, 16], [32, 2]], offset=1)",
        (X,),
        lambda x: x.reshape(32, 2, 16, 2)[..., 1].transpose(0, 2, 1),
    ),
    "tensor.ap(vector_offset)": (
        "i = nl.load(args[1])\nt = nl.ndarray((32, 48), nl.float32)\n"
        "nisa.dma_copy(t, args[0].ap([[48, 32], [1, 48]], vector_offset=i, indirect_dim=0))",
        (BIG, ROWS),
        lambda x, i: x[i[:, 0]],
    ),
    "tensor.ap(scalar_offset)": (
        "r = nisa.register_alloc(3)\nt = nl.ndarray((4, 48), nl.float32)\n"
        "nisa.dma_copy(t, args[0].ap([[48, 4], [1, 48]], scalar_offset=r, indirect_dim=0))",
        (BIG,),
        lambda x: x[3:7],
    ),
    "tensor.vector_select": (
        "i = nl.load(args[1])\nt = nl.ndarray((32, 48), nl.float32)\n"
        "nisa.dma_copy(t, args[0].vector_select(0, i))",
        (BIG, ROWS),
        lambda x, i: x[i[:, 0]],
    ),
    "tensor.select": (
        "i = nl.full((1, 1), 5, nl.int32)\nt = nl.ndarray((1, 48), nl.float32)\n"
        "nisa.dma_copy(t, args[0].select(0, i))",
        (BIG,),
        lambda x: x[5:6],
    ),
    "tensor.indirect": (
        IN + _out("(32, 8)") + "nisa.tensor_copy(t, x.indirect(y, 8))",
        (X, IDS[:, :1]),
        lambda x, i: x[:, i[:8, 0]],
    ),
    "tensor.slice": (IN + "t = x.slice(1, 8, 24, 2)", (X,), lambda x: x[:, 8:24:2]),
    "tensor.permute": (
        IN + "t = x.reshape((32, 4, 16)).permute((0, 2, 1))",
        (X,),
        lambda x: x.reshape(32, 4, 16).transpose(0, 2, 1),
    ),
    "tensor.broadcast": (
        IN + "t = x.expand_dim(1).broadcast(1, 3)",
        (X,),
        lambda x: np.repeat(x[:, None], 3, 1),
    ),
    "tensor.expand_dim": (IN + "t = x.expand_dim(2)", (X,), lambda x: x[..., None]),
    "tensor.squeeze_dim": (IN + "t = x.expand_dim(1).squeeze_dim(1)", (X,), lambda x: x),
    "tensor.reshape": (IN + "t = x.reshape((32, 8, 8))", (X,), lambda x: x.reshape(32, 8, 8)),
    "tensor.reshape_dim": (IN + "t = x.reshape_dim(1, (4, -1))", (X,), lambda x: x.reshape(32, 4, 16)),
    "tensor.flatten_dims": (IN + "t = x.reshape((32, 4, 16)).flatten_dims(1, 2)", (X,), lambda x: x),
    "tensor.rearrange": (
        IN + "t = x.rearrange(('b', ('h', 'w')), ('b', 'w', 'h'), {'h': 4})",
        (X,),
        lambda x: x.reshape(32, 4, 16).transpose(0, 2, 1),
    ),
    "tensor.view": (IN + "t = x.view(nl.uint16)", (X,), lambda x: x.view(np.uint16)),
    "tensor.is_contiguous": (
        IN + "t = x\nassert x.is_contiguous() and not x[:, ::2].is_contiguous()",
        (X,),
        lambda x: x,
    ),
    "tensor.is_indirect": (
        IN
        + "t = x\nassert not x.is_indirect() and args[0].select(0, nl.full((1, 1), 0, nl.int32)).is_indirect()",
        (X,),
        lambda x: x,
    ),
    "tensor.get_pattern": (
        IN + "t = x\nassert x[:, ::2].get_pattern() == [[64, 32], [2, 32]]",
        (X,),
        lambda x: x,
    ),
}


@pytest.fixture
def run(snippets: Any, v3: Any) -> Callable[..., Any]:
    v4 = msgspec.structs.replace(
        v3, generation="trn3", core="neuroncore-v4", nc_version=4, psum_dtypes=("float32", "bfloat16")
    )
    tail = "\nout = nl.ndarray(t.shape, t.dtype, buffer=nl.shared_hbm)\nnl.store(out, t)\nreturn out"

    def carry_out(body: str, args: tuple[Any, ...], functional: bool) -> Any:
        kernel, _, _ = load_kernel(snippets.write(body + tail), nki="trnbench")
        given = args if functional else [TensorSpec(a.shape, dtype_of(a.dtype).name) for a in args]
        return record(kernel, given, machine=v4, functional=functional)

    return carry_out


@pytest.mark.parametrize("name", CASES)
def test_instruction_matches_numpy(run: Callable[..., Any], name: str) -> None:
    body, args, expected = CASES[name]
    trace = run(body, args, True)
    got, want = trace.outputs[0], np.asarray(expected(*args))
    assert got.shape == want.shape
    tolerance = 2.0**-8 if got.dtype == ml_dtypes.bfloat16 else 2e-5
    np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=tolerance, atol=1e-5)


@pytest.mark.parametrize(
    "name", [n for n in CASES if n != "nisa.register_store" and "assert" not in CASES[n][0]]
)
def test_shapes_issue_the_same_instructions(run: Callable[..., Any], name: str) -> None:
    body, args, _ = CASES[name]
    values, shapes = run(body, args, True), run(body, args, False)
    assert {op.key(): n for op, n in values.tally.items()} == {op.key(): n for op, n in shapes.tally.items()}
    assert values.output_specs == shapes.output_specs
