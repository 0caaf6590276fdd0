"""One kind of layer: a mixer, a network, and the normalisations around them."""

from __future__ import annotations

from enum import Enum

import msgspec

from trnbench_steps.attention import Attention
from trnbench_steps.feed_forward import FeedForward
from trnbench_steps.weight import Part, Weight, vector


class Norm(str, Enum):
    """Normalisation layers: what they keep for each feature."""

    RMS = "rms"  # a scale
    LAYER = "layer"  # a scale and a shift
    BARE = "bare"  # neither

    def __str__(self) -> str:
        return self.value

    def weights(self, name: str, width: int) -> list[Weight]:
        """The vectors of one normalisation of `width` features."""
        named = {Norm.RMS: ("",), Norm.LAYER: ("", " shift"), Norm.BARE: ()}[self]
        return [vector(name + suffix, Part.NORMS, width) for suffix in named]


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """`parallel`: mixer and network read the same input, and their results are added at once."""

    attention: Attention
    feed_forward: FeedForward
    norm: Norm
    norms: int  # of `hidden` features each
    parallel: bool = False

    def weights(self, hidden: int) -> list[Weight]:
        """Everything it has, in the order in which it is used."""
        norms = [
            weight
            for number in range(1, self.norms + 1)
            for weight in self.norm.weights(f"norm {number}", hidden)
        ]
        return [*norms, *self.attention.weights(hidden), *self.feed_forward.weights(hidden)]
