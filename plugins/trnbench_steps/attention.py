"""How the tokens of a sequence look at each other: the mixer of one layer."""

from __future__ import annotations

from enum import StrEnum

from trnbench.record import Record
from trnbench_steps.weight import Cut, Part, Weight, vector


class AttentionKind(StrEnum):
    FULL = "full"
    SLIDING = "sliding"  # the last `window` tokens
    CHUNKED = "chunked"  # those of the same block of `window` tokens
    LATENT = "latent"  # keys and values come from one compressed vector (DeepSeek-V2, section 2.1)
    LINEAR = "linear"  # a state of constant size instead of a cache (gated delta rule)


class Attention(Record, kw_only=True):
    """`heads` query heads of `head_dim` features share `kv_heads` heads of keys and of values.

    Latent: `query_rank` (0: queries are not compressed), `latent_rank`, `rope_dim` of the key that all
    heads share; a query head has `head_dim + rope_dim` features. Linear: `kv_heads` key heads of `head_dim`,
    `heads` value heads of `value_dim`, a convolution over `convolution` tokens before them.
    """

    kind: AttentionKind
    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int  # features of a value head; `head_dim` in most models
    window: int = 0
    query_rank: int = 0
    latent_rank: int = 0
    rope_dim: int = 0
    convolution: int = 0
    gated: bool = False  # the output is multiplied by a gate as wide as itself
    query_bias: bool = False  # of queries, keys and values
    output_bias: bool = False
    head_norm: bool = False  # queries and keys are normalised head by head
    projection_norm: bool = False  # or over all heads at once
    sinks: bool = False  # one learned score for each head
    causal: bool = True

    def weights(self, hidden: int) -> list[Weight]:
        """All its matrices and vectors between `hidden` features and `hidden` features."""
        if self.kind is AttentionKind.LATENT:
            return self._latent(hidden)
        if self.kind is AttentionKind.LINEAR:
            return self._linear(hidden)
        query, key, value = (
            self.heads * self.head_dim,
            self.kv_heads * self.head_dim,
            self.kv_heads * self.value_dim,
        )
        matrices = [
            _matrix("query", hidden, query, self.heads),
            _matrix("key", hidden, key, self.kv_heads),
            _matrix("value", hidden, value, self.kv_heads),
            _matrix("output", self.heads * self.value_dim, hidden, self.heads, Cut.INPUTS),
        ]
        if self.gated:
            matrices.append(_matrix("gate", hidden, self.heads * self.value_dim, self.heads))
        if self.query_bias:
            matrices += [
                _cut_vector("query bias", query, self.heads),
                _cut_vector("key bias", key, self.kv_heads),
                _cut_vector("value bias", value, self.kv_heads),
            ]
        if self.output_bias:
            matrices.append(vector("output bias", Part.ATTENTION, hidden))
        if self.head_norm:
            matrices += [vector(f"{name} norm", Part.ATTENTION, self.head_dim) for name in ("query", "key")]
        if self.projection_norm:
            matrices += [
                _cut_vector("query norm", query, self.heads),
                _cut_vector("key norm", key, self.kv_heads),
            ]
        if self.sinks:
            matrices.append(_cut_vector("sinks", self.heads, self.heads))
        return matrices

    def _latent(self, hidden: int) -> list[Weight]:
        query = self.heads * (self.head_dim + self.rope_dim)
        matrices = [
            vector("latent norm", Part.ATTENTION, self.latent_rank),
            _matrix("latent down", hidden, self.latent_rank + self.rope_dim, cut=Cut.NONE),
            _matrix("key up", self.latent_rank, self.heads * self.head_dim, self.heads),
            _matrix("value up", self.latent_rank, self.heads * self.value_dim, self.heads),
            _matrix("output", self.heads * self.value_dim, hidden, self.heads, Cut.INPUTS),
        ]
        if not self.query_rank:
            return [_matrix("query", hidden, query, self.heads), *matrices]
        return [
            _matrix("query down", hidden, self.query_rank, cut=Cut.NONE),
            vector("query norm", Part.ATTENTION, self.query_rank),
            _matrix("query up", self.query_rank, query, self.heads),
            *matrices,
        ]

    def _linear(self, hidden: int) -> list[Weight]:
        key, value = self.kv_heads * self.head_dim, self.heads * self.value_dim
        return [
            _matrix("query", hidden, key, self.kv_heads),
            _matrix("key", hidden, key, self.kv_heads),
            _matrix("value", hidden, value, self.heads),
            _matrix("gate", hidden, value, self.heads),
            _matrix("strength", hidden, self.heads, self.heads),
            _matrix("decay", hidden, self.heads, self.heads),
            _cut_vector("decay scale", self.heads, self.heads),
            _cut_vector("decay bias", self.heads, self.heads),
            # One filter for each feature of queries, keys and values; no matrix product.
            _cut_vector("key convolution", 2 * key * self.convolution, self.kv_heads),
            _cut_vector("value convolution", value * self.convolution, self.heads),
            vector("head norm", Part.ATTENTION, self.value_dim),
            _matrix("output", value, hidden, self.heads, Cut.INPUTS),
        ]

    def pairs(self, before: int, tokens: int, *, masked: bool = True) -> int:
        """Pairs of tokens that attend, for `tokens` new ones after `before` others.

        Without `masked`, what causality hides is counted too, as published utilisations do
        (PaLM, appendix B); the window stays.
        """
        if self.kind is AttentionKind.LINEAR:
            return 0
        end = before + tokens
        if not (self.causal and masked):
            return tokens * (min(end, self.window) if self.window else end)
        if self.kind is AttentionKind.CHUNKED:
            return _triangle_of_chunks(end, self.window) - _triangle_of_chunks(before, self.window)
        if self.window and end > self.window:
            within = max(self.window - before, 0)
            return _triangle(before + within) - _triangle(before) + (tokens - within) * self.window
        return _triangle(end) - _triangle(before)


def _triangle(tokens: int) -> int:
    return tokens * (tokens + 1) // 2


def _triangle_of_chunks(tokens: int, chunk: int) -> int:
    whole, rest = divmod(tokens, chunk)
    return whole * _triangle(chunk) + _triangle(rest)


def _matrix(name: str, inputs: int, outputs: int, units: int = 0, cut: Cut = Cut.OUTPUTS) -> Weight:
    return Weight(name=name, part=Part.ATTENTION, inputs=inputs, outputs=outputs, cut=cut, units=units)


def _cut_vector(name: str, length: int, units: int) -> Weight:
    return vector(name, Part.ATTENTION, length, cut=Cut.OUTPUTS, units=units)
