"""Normalisation layers: what they keep for each feature."""

from __future__ import annotations

from enum import Enum

from trnbench_steps.weight import Part, Weight, vector


class Norm(str, Enum):
    RMS = "rms"  # a scale
    LAYER = "layer"  # a scale and a shift
    BARE = "bare"  # neither

    def __str__(self) -> str:
        return self.value

    def weights(self, name: str, width: int) -> list[Weight]:
        """The vectors of one normalisation of `width` features."""
        named = {Norm.RMS: ("",), Norm.LAYER: ("", " shift"), Norm.BARE: ()}[self]
        return [vector(name + suffix, Part.NORMS, width) for suffix in named]
