"""Every instruction and every view against NumPy, and the same instructions when only shapes flow.

A key of a case is the public name that it stands for in docs/nki.md.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from nki_values import Run, case, issues_the_same_by_shapes, matches_numpy


def _scan(x: Any, y: Any) -> Any:
    out, state = np.empty_like(x), np.full(len(x), 0.5, np.float32)
    for at in range(x.shape[1]):
        state = x[:, at] * state + y[:, at]
        out[:, at] = state
    return out


def _mx(half: Any, other: Any) -> Any:
    # What quantize_mx keeps: 3 bits after the leading one, at a scale of the largest of 32.
    def kept(v: Any) -> Any:
        groups = v.astype(np.float32).reshape(4, 8, -1, 4)
        largest = np.abs(groups).max(axis=(1, 3), keepdims=True)
        scale = 2.0 ** (np.floor(np.log2(largest)) - 7)
        return ((groups / scale).astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * scale).reshape(v.shape)

    left, right = kept(half).reshape(32, -1, 4), kept(other).reshape(32, -1, 4)
    return np.einsum("kmi,kni->mn", left, right)


PIECES = tomllib.loads(Path(__file__).with_name("pieces.toml").read_text(encoding="utf-8"))
WANTED: dict[str, Callable[..., Any]] = {
    "nisa.dma_copy": lambda x: x,
    "nisa.tensor_copy": lambda x: x,
    "nisa.memset": lambda: np.full((8, 8), 1.5),
    "nisa.tensor_copy_predicated": lambda x, flags: np.where(flags, x, 7.0),
    "nisa.nc_matmul": lambda x, y: x.T @ y,
    "nisa.nc_transpose": lambda x: x[:, :32].T,
    "nisa.dma_transpose": lambda half: half.T,
    "nisa.tensor_tensor": lambda x, y: x - y,
    "nisa.tensor_scalar": lambda ints: (ints << 2) ^ -1,
    "nisa.tensor_reduce": lambda x: -x.min(1, keepdims=True),
    "nisa.tensor_partition_reduce": lambda x: x.sum(0, keepdims=True),
    "nisa.tensor_scalar_cumulative": lambda x: np.cumsum(2 * x, axis=1),
    "nisa.tensor_tensor_scan": _scan,
    "nisa.scalar_tensor_tensor": lambda x, y: y - x * x,
    "nisa.tensor_scalar_reduce": lambda x: -(x + 1).max(1, keepdims=True),
    "nisa.activation": lambda x: (np.exp(x * 0.5 + x[:, :1]) + x).sum(1, keepdims=True),
    "nisa.activation_reduce": lambda x: (x * x).sum(1, keepdims=True),
    "nisa.activate2": lambda x: np.where(2 * x - 1 >= 0, 2 * x - 1, 0.1 * (2 * x - 1)),
    "nisa.exponential": lambda x: np.exp(x - x[:, :1]).sum(1, keepdims=True) + 3,
    "nisa.reciprocal": lambda x: 1 / x,
    "nisa.iota": lambda: 5 + 100 * np.arange(8)[:, None, None] + 10 * np.arange(2)[:, None] + np.arange(3),
    "nisa.affine_select": lambda x: np.where(np.arange(32)[:, None] >= np.arange(64), x, -9.0),
    "nisa.range_select": lambda x: x[:, 3:20].max(1, keepdims=True),
    "nisa.select_reduce": lambda x, flags: np.where(flags == 0, x, -5.0).max(1, keepdims=True),
    "nisa.sequence_bounds": lambda segments: np.array(
        [[[8, 1, 1, 3, 3, 3, 8, 7], [-1, 3, 3, 6, 6, 6, -1, 8]]]
    ),
    "nisa.local_gather": lambda x, picks: np.concatenate(
        [x[r : r + 16][:, picks[r : r + 16].T.reshape(-1)] for r in (0, 16)]
    ),
    "nisa.nc_n_gather": lambda x, ids: np.take_along_axis(x, ids.astype(np.int64), 1),
    "nisa.nc_stream_shuffle": lambda x: x[::-1],
    "nisa.nonzero_with_count": lambda bits: np.concatenate(
        [(f := np.flatnonzero(bits[0])) + 16, np.full(64 - len(f), -1), [len(f)]]
    ).reshape(1, -1),
    "nisa.topk": lambda half: np.concatenate(
        [
            np.tile(
                np.argsort(half[r : r + 16, :3].T.reshape(-1)[:42].astype(np.float32), kind="stable")[-8:],
                (16, 1),
            )
            for r in (0, 16)
        ]
    ),
    "nisa.bn_stats": lambda x: np.stack(
        [f for h in (x[:, ::2], x[:, 1::2]) for f in (np.full(32, 32.0), h.mean(1), h.var(1) * 32)], 1
    ),
    "nisa.bn_aggr": lambda x, y: np.stack([(z := np.concatenate([x, y], 1)).mean(1), z.var(1)], 1),
    "nisa.max8": lambda x: np.sort(x, 1)[:, ::-1][:, :8],
    "nisa.nc_find_index8": lambda x: np.argsort(-x, 1)[:, :8],
    "nisa.nc_match_replace8": lambda digits, eights: np.array([[2, 10, 9, 8, 7, 6, 5, 4]]),
    "nisa.dma_compute": lambda x, y: 2 * x + y,
    "nisa.quantize_mx": lambda half: (
        np.floor(np.log2(np.abs(half.astype(np.float32)).reshape(4, 8, 16, 4).max((1, 3)))) - 7 + 127
    ),
    "nisa.nc_matmul_mx": _mx,
    "nisa.sendrecv": lambda x: x,
    "nisa.core_barrier": lambda x: x,
    "nisa.rng": lambda: np.zeros((32, 64)),
    "nisa.set_rng_seed": lambda: np.full((1, 1), 7),
    "nisa.rand_set_state": lambda states: states,
    "nisa.rand_get_state": lambda: np.zeros((4, 6)),
    "nisa.rand2": lambda: np.ones((32, 64)),
    "nisa.dropout": lambda x: 0 * x,
    "nisa.register_alloc": lambda: np.array([[41]]),
    "nisa.register_move": lambda: np.array([[5]]),
    "nisa.register_load": lambda: np.array([[9]]),
    "nisa.register_store": lambda: np.array([[3]]),
    "nisa.get_nc_version": lambda: np.array([[1]]),
    "nisa.get_nc_sub_version": lambda: np.zeros((1, 1)),
    "nisa.dge_mode": lambda x: x,
    "nisa.dma_engine": lambda x: x,
    "nisa.VirtualRegister": lambda: np.full((1, 1), 2),
    # What is done to a tensor without an instruction: views and addresses.
    "tensor.ap": lambda x: x.reshape(32, 2, 16, 2)[..., 1].transpose(0, 2, 1),
    "tensor.ap(vector_offset)": lambda big, rows: big[rows[:, 0]],
    "tensor.ap(scalar_offset)": lambda big: big[3:7],
    "tensor.vector_select": lambda big, rows: big[rows[:, 0]],
    "tensor.select": lambda big: big[5:6],
    "tensor.indirect": lambda x, column: x[:, column[:8, 0]],
    "tensor.slice": lambda x: x[:, 8:24:2],
    "tensor.permute": lambda x: x.reshape(32, 4, 16).transpose(0, 2, 1),
    "tensor.broadcast": lambda x: np.repeat(x[:, None], 3, 1),
    "tensor.expand_dim": lambda x: x[..., None],
    "tensor.squeeze_dim": lambda x: x,
    "tensor.reshape": lambda x: x.reshape(32, 8, 8),
    "tensor.reshape_dim": lambda x: x.reshape(32, 4, 16),
    "tensor.flatten_dims": lambda x: x,
    "tensor.rearrange": lambda x: x.reshape(32, 4, 16).transpose(0, 2, 1),
    "tensor.view": lambda x: x.view(np.uint16),
    "tensor.is_contiguous": lambda x: x,
    "tensor.is_indirect": lambda x: x,
    "tensor.get_pattern": lambda x: x,
}
"""By name, what becomes of the arguments that the parameters are called by."""
assert PIECES.keys() == WANTED.keys()
CASES = {
    name: case(each["piece"], WANTED[name], each.get("dtype", ""), load=each.get("load", True))
    for name, each in PIECES.items()
}


@pytest.mark.parametrize("name", CASES)
def test_what_comes_out_is_numpys(run_piece: Run, name: str) -> None:
    matches_numpy(run_piece, CASES[name])


@pytest.mark.parametrize(
    "name", [n for n in CASES if n != "nisa.register_store" and "assert" not in CASES[n][0]]
)
def test_shapes_issue_the_same_instructions(run_piece: Run, name: str) -> None:
    issues_the_same_by_shapes(run_piece, CASES[name])
