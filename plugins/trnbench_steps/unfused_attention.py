"""Attention of a prompt by the operators of a graph, where the software has no kernel that fuses them.

`score`, `mask` and `context_combined` of aws-neuron/transformers-neuronx@0623de2 (layers/attention.py) with
its `softmax` (hlo.py): a product of queries and keys, a mask, the largest of each row, a difference, an
exponential, a sum of each row, a quotient, a product with the values. Each reads the scores of all heads and
writes them anew, through HBM where they do not fit into SBUF.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import TypeAlias

from trnbench_steps.kernel_times import Call
from trnbench_steps.operators import Mixing

NamedCall: TypeAlias = tuple[str, Call]

ROWS = 128
ONE_READ, TWO_READ = 1, 2


def score_elements(mixing: Mixing, cores: int) -> float:
    """Scores that a core has at once: of its heads of all sequences, what a mask hides included."""
    return mixing.sequences * mixing.heads / cores * mixing.tokens * (mixing.tokens + mixing.before)


def unfused_calls(mixing: Mixing, dtype: str, cores: int, *, stays: bool) -> tuple[NamedCall, ...]:
    """The operators of one core, in order, each by what it does; `stays` where scores fit into SBUF."""
    passes = _backward if mixing.backward else _forward
    return tuple(passes(_Scores(mixing, dtype, cores, stays)))


class _Scores:
    """The scores of one core's heads, and what is done with them."""

    def __init__(self, mixing: Mixing, dtype: str, cores: int, stays: bool) -> None:
        self.dtype, self.stays = dtype, stays
        self.queries, self.keys = mixing.tokens, mixing.tokens + mixing.before
        self.key_dim, self.value_dim = mixing.key_dim, mixing.value_dim
        self.heads = mixing.sequences * mixing.heads / cores
        self.elements = score_elements(mixing, cores)

    def product(self, name: str, inner: int, rows: int, columns: int) -> NamedCall:
        """Of each head: (inner, rows) by (inner, columns)."""
        return name, Call(
            source="gemm_best:gemm_best",
            inputs=(((inner, rows), self.dtype), ((inner, columns), self.dtype)),
            times=self.heads,
            stays=self.stays,
            weights=False,
        )

    def scores(self, name: str) -> NamedCall:
        return self.product(name, self.key_dim, self.queries, self.keys)

    def each(self, name: str, operands: int) -> NamedCall:
        """Of every score, with `operands` arrays of them read and one written."""
        shape = (ROWS, max(ceil(self.elements / ROWS), 1))
        return name, Call(
            source="elementwise:combine",
            inputs=((shape, self.dtype), operands),
            stays=self.stays,
            weights=False,
        )

    def row(self, name: str) -> NamedCall:
        """One number of each row."""
        tiles = max(ceil(self.elements / self.keys / ROWS), 1)
        return name, Call(
            source="elementwise:row_maximum",
            inputs=(((tiles, min(ROWS, self.queries), self.keys), self.dtype),),
            stays=self.stays,
            weights=False,
        )


def _forward(scores: _Scores) -> Iterator[NamedCall]:
    yield scores.scores("scores")
    yield scores.each("mask", TWO_READ)
    yield scores.row("largest")
    yield scores.each("difference", ONE_READ)
    yield scores.each("exponential", ONE_READ)
    yield scores.row("sum")
    yield scores.each("quotient", ONE_READ)
    yield scores.product("values", scores.keys, scores.queries, scores.value_dim)


def _backward(scores: _Scores) -> Iterator[NamedCall]:
    """Gradients of values, weights, scores, queries and keys."""
    yield scores.product("values gradient", scores.queries, scores.keys, scores.value_dim)
    yield scores.product("weights gradient", scores.value_dim, scores.queries, scores.keys)
    yield scores.each("weighted gradient", TWO_READ)
    yield scores.row("sum gradient")
    yield scores.each("scores gradient", TWO_READ)
    yield scores.each("mask gradient", TWO_READ)
    yield scores.product("queries gradient", scores.keys, scores.queries, scores.key_dim)
    yield scores.product("keys gradient", scores.queries, scores.keys, scores.key_dim)
