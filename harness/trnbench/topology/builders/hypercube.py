"""Hypercubes, and the Gray code that shows a torus of 4s to be one."""

from __future__ import annotations

from collections.abc import Sequence

from trnbench.topology.builders.assembly import Assembly


def connect_hypercube(assembly: Assembly, nodes: Sequence[int], cls: str) -> None:
    """Joins nodes whose positions differ in one bit. ValueError unless there are 2^n of them."""
    count = len(nodes)
    if count < 1 or count & (count - 1):
        raise ValueError(f"a hypercube has 2^n nodes, not {count}")
    for position, node in enumerate(nodes):
        for bit in range(count.bit_length() - 1):
            assembly.send(node, nodes[position ^ (1 << bit)], cls)


def gray(number: int) -> int:
    """The reflected Gray code: consecutive numbers differ in one bit, and so do 3 and 0 of two bits."""
    return number ^ (number >> 1)


def label(coord: Sequence[int]) -> int:
    """The hypercube corner of a position in a torus whose sides are all 4.

    Each coordinate becomes two bits of Gray code, so one step along any axis, the wrap-around
    included, flips one bit: a ring of 4 is a square, and a product of squares a hypercube.
    """
    found = 0
    for at in coord:
        found = found << 2 | gray(at)
    return found
