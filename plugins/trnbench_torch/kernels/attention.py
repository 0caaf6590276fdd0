"""Scaled dot-product attention as torch offers it, held against queries computed one by one in NumPy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from torch.nn.functional import scaled_dot_product_attention

from trnbench.kernels.kernel import Point
from trnbench_kernels.split import pairs
from trnbench_torch import data
from trnbench_torch.data import ROUNDOFF
from trnbench_torch.device import Device, Launch

if TYPE_CHECKING:
    from numpy.random import Generator


QUERIES = 6


def prepare(point: Point, device: Device, rng: Generator) -> Launch:
    """Q, K and V are [1, heads, seq, head_dim]; scores are scaled by 1/√head_dim."""
    seq, width, heads = int(point["seq"]), int(point["head_dim"]), int(point["heads"])
    causal, dtype = point["mask"] == "causal", str(point["dtype"])
    shape = (1, heads, seq, width)
    q, k, v = (data.uniform(device, rng, shape, dtype) for _ in range(3))
    places = data.places(seq, QUERIES)
    wanted = [_exact(q, k, v, head, places, causal) for head in (0, heads - 1)]
    unit = q[:, :1, :1].contiguous()

    def check(found: Any) -> str:
        for head, exact in zip((0, heads - 1), wanted, strict=True):
            seen = data.exact_at(found[0, head], places)
            # Probabilities are rounded to `dtype` before they weigh V, and the sum once more.
            reach = 4.0 * ROUNDOFF[dtype] * (np.abs(exact) + 1.0 / math.sqrt(width) + 0.25)
            wrong = np.argwhere(~(np.abs(seen - exact) <= reach))
            if len(wrong):
                row, column = wrong[0]
                return (
                    f"query {int(places[row])} of head {head} gives {seen[row, column]:.6g} "
                    f"at {int(column)}, it should be {exact[row, column]:.6g}"
                )
        return ""

    return Launch(
        call=lambda: scaled_dot_product_attention(q, k, v, is_causal=causal),
        check=check,
        checked=f"{len(places)} queries of two heads in double precision by NumPy",
        amount=4.0 * pairs(point) * heads * width,
        smaller=lambda: prepare({**point, "seq": max(1, seq // 2)}, device, rng),
        idle=lambda: scaled_dot_product_attention(unit, unit, unit),
        settings={"torch_operator": "scaled_dot_product_attention"},
    )


def _exact(q: Any, k: Any, v: Any, head: int, at: Any, causal: bool) -> Any:
    queries, keys, values = (data.exact_at(q[0, head], at), data.exact(k[0, head]), data.exact(v[0, head]))
    scores = queries @ keys.T / math.sqrt(queries.shape[1])
    if causal:
        scores[np.arange(keys.shape[0])[None, :] > at[:, None]] = -np.inf
    power = np.exp(scores - scores.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True) @ values
