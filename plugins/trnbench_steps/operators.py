"""What a rank computes and sends in one layer: shapes alone, no time."""

from __future__ import annotations

from typing import TypeAlias

from trnbench.record import Record
from trnbench_steps.layout import Axis


class _OfMatrices(Record, kw_only=True):
    """What is done with each of `copies` matrices of `inputs` × `outputs`."""

    name: str
    tokens: float
    inputs: int
    outputs: int
    copies: int = 1

    @property
    def flops(self) -> float:
        return 2.0 * self.tokens * self.inputs * self.outputs * self.copies


class Product(_OfMatrices, frozen=True, kw_only=True):
    """`tokens` × `inputs` by `inputs` × `outputs`, with each of `copies` matrices.

    Of experts, `tokens` is what each of the rank's copies gets, evenly spread: a mean, which may be below 1.
    """

    @property
    def weights(self) -> int:
        """Parameters that it reads."""
        return self.inputs * self.outputs * self.copies


class WeightGradient(_OfMatrices, frozen=True, kw_only=True):
    """The transpose of `tokens` × `inputs` by `tokens` × `outputs`, for each of `copies` matrices."""


class Mixing(Record, kw_only=True):
    """Attention between tokens: of each of `sequences`, `tokens` new ones over `keys`, in a rank's heads.

    Where a sequence is cut, a rank has its part of the tokens of a prompt, over all keys, or the new token
    over its part of the cache. `pairs` of tokens attend in each head of each sequence, on this rank.
    Latent attention over a cache has keys of `latent_rank + rope_dim` features and values of `latent_rank`,
    in one head of keys and values. `backward`: gradients of queries, keys, values and scores instead, two
    products for each of the forward pass.
    """

    name: str
    sequences: int
    tokens: int
    keys: int
    heads: int
    kv_heads: int
    key_dim: int
    value_dim: int
    window: int
    causal: bool
    pairs: float
    backward: bool = False

    @property
    def flops(self) -> float:
        return (
            (4.0 if self.backward else 2.0)
            * self.sequences
            * self.pairs
            * self.heads
            * (self.key_dim + self.value_dim)
        )


class Convolution(Record, kw_only=True):
    """Before linear attention: each of `channels` features over `taps` tokens."""

    name: str
    sequences: int
    tokens: int
    channels: int
    taps: int
    backward: bool = False

    @property
    def flops(self) -> float:
        once = float(2 * self.sequences * self.tokens * self.taps * self.channels)
        return 2 * once if self.backward else once


class Recurrence(Record, kw_only=True):
    """Linear attention: a state of `key_dim` × `value_dim` in each head of each of `sequences`, to which each
    of `tokens` adds. `before`: there is a state already, of what is cached."""

    name: str
    sequences: int
    tokens: int
    heads: int
    key_dim: int
    value_dim: int
    before: bool = False
    backward: bool = False

    @property
    def flops(self) -> float:
        once = float(7 * self.sequences * self.tokens * self.heads * self.key_dim * self.value_dim)
        return 2 * once if self.backward else once


class Elementwise(Record, kw_only=True):
    """A normalisation, an activation or a sum: `rows` of `width` features; `operands` are read.

    A graph has it in so many `parts`, one after the other.
    """

    name: str
    rows: float
    width: int
    operands: int = 1
    parts: float = 1.0

    @property
    def flops(self) -> float:
        """None: they are not counted as work, and take the time of what they move."""
        return 0.0


class Exchange(Record, kw_only=True):
    """A collective of a rank with its group along `axis`; `size` in bytes, as a question to the fabric."""

    name: str
    collective: str
    axis: Axis
    size: float


Operator: TypeAlias = Product | WeightGradient | Mixing | Convolution | Recurrence | Elementwise | Exchange
