"""What indexing and operands see of a tile."""

from __future__ import annotations

from typing import Any, Protocol

from trnbench_emulator.nki.beta1.index import Grid
from trnbench_emulator.nki.beta1.root import Root
from trnbench_emulator.nki.dtype import DType
from trnbench_emulator.nki.memory import Buffer

BLOCK, PARTITION, FREE = "block", "partition", "free"
"""Kinds of a tile's dimensions."""


class View(Protocol):
    """A `Tile`, whose own words tell what these are."""

    root: Root
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    kinds: tuple[str, ...]
    block: int
    offset: int
    dtype: DType
    over: tuple[tuple[Grid, int], ...]
    rows: Any

    @property
    def buffer(self) -> Buffer: ...
    @property
    def on_chip(self) -> bool: ...
    @property
    def size(self) -> int: ...
