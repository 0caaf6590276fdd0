"""Tiles that today's calls have made."""

from __future__ import annotations

from trnbench_emulator.nki.beta1.root import Root
from trnbench_emulator.nki.beta1.tile import Tile
from trnbench_emulator.nki.tensor import NkiTensor


def made_of(tensor: NkiTensor) -> Tile:
    """A tile that today's calls have made."""
    root = Root(tensor.shape, 0 if tensor.form.on_chip else -1, tensor.dtype, tensor.buffer, tensor.name)
    root.adopt(tensor)
    return Tile.of(root)
