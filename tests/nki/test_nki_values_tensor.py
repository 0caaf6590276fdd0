"""What is done to a tensor without an instruction: views and addresses, against NumPy.

A key of CASES is the public name that the case stands for in docs/nki.md.
"""

# ruff: noqa: E501 - one case on one line is read faster

from __future__ import annotations

import numpy as np
import pytest
from nki_values import (
    BIG,
    IDS,
    IN,
    ROWS,
    Case,
    Run,
    X,
    issues_the_same_by_shapes,
    matches_numpy,
    out,
)

CASES: dict[str, Case] = {
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
        IN + out("(32, 8)") + "nisa.tensor_copy(t, x.indirect(y, 8))",
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


@pytest.mark.parametrize("name", CASES)
def test_what_comes_out_is_numpys(run_piece: Run, name: str) -> None:
    matches_numpy(run_piece, CASES[name])


@pytest.mark.parametrize(
    "name", [n for n in CASES if n != "nisa.register_store" and "assert" not in CASES[n][0]]
)
def test_shapes_issue_the_same_instructions(run_piece: Run, name: str) -> None:
    issues_the_same_by_shapes(run_piece, CASES[name])
