"""Tori of any dimension."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from trnbench.topology.builders.assembly import Assembly
from trnbench.topology.builders.lattice import size, torus_neighbours
from trnbench.topology.graph import Link

REPEATED_UP_TO = 1024
"""Nodes of a torus whose steps are kept for the next one of its sides."""


def connect_torus(
    assembly: Assembly, nodes: Sequence[int], dims: Sequence[int], cls: str | Sequence[str]
) -> None:
    """Joins `nodes` (row by row) to their neighbours along every axis, with wrap-around.

    `cls` is one class for all axes or one per axis. A side of 2 gives one cable, not two; a side of
    1 none. From each node the links towards lower coordinates come first, axis by axis, then those
    towards higher ones: on 4×4 that is up, left, down, right, the order in which `neuron-ls` prints.
    Raises `TopologyError` for sides that make no torus, ValueError when the counts differ.
    """
    if len(nodes) != size(dims):
        raise ValueError(f"{len(nodes)} nodes do not fill a torus of {'×'.join(map(str, dims))}")
    classes = [cls] * len(dims) if isinstance(cls, str) else list(cls)
    steps = (_steps if len(nodes) <= REPEATED_UP_TO else torus_neighbours)(tuple(dims))
    assembly.links += [Link(nodes[here], nodes[there], classes[axis]) for here, there, axis in steps]


_steps = lru_cache(maxsize=8)(torus_neighbours)
"""Of tori that a cluster has many of."""
