"""Tiles that DMA engines transpose on the way into SBUF, or only copy."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki

SIDE = 128
SETS = 32  # results that transfers go round, so that none waits for the one before
_NAMES = {"bf16": "bfloat16", "fp16": "float16"}


@nki.jit
def turned(source, by, memory, count):
    """Tiles of `source` (tiles, 128, 128), moved `count` times in all; the last result is returned.

    From device memory each transfer reads a tile of its own; within SBUF all read the same one.
    """
    result = nl.ndarray(source.shape[1:], dtype=source.dtype, buffer=nl.shared_hbm)
    tiles = [nl.ndarray(source.shape[1:], dtype=source.dtype, buffer=nl.sbuf) for _ in range(SETS)]
    held = None
    if memory == "sbuf":
        held = nl.ndarray(source.shape[1:], dtype=source.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=held, src=source[0])
    for turn in nl.sequential_range(count // SETS):
        for at in range(SETS):
            _moved(tiles[at], source[turn * SETS + at] if held is None else held, by)
    for at in range(count % SETS):
        _moved(tiles[at], source[count - count % SETS + at] if held is None else held, by)
    nisa.dma_copy(dst=result, src=tiles[(count - 1) % SETS])
    return result


def _moved(tile, source, by):
    if by == "transpose":
        nisa.dma_transpose(dst=tile, src=source)
    else:
        nisa.dma_copy(dst=tile, src=source)


# For whoever runs it --------------------------------------------------------------------------


def turned_inputs(point):
    """As many tiles as there are transfers, or the one that all of them read; how, where, and how many."""
    count = int(point["transfers"])
    shape = (count if point["memory"] == "hbm" else 1, SIDE, SIDE)
    return (shape, _NAMES[str(point["dtype"])]), str(point["by"]), str(point["memory"]), count


def turned_reference(source, by, memory, count):  # noqa: ARG001
    """The last tile, transposed where it is."""
    return source[-1].T if by == "transpose" else source[-1]
