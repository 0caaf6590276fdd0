"""Transfers of a stated size whose descriptors are made by a stated way."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki

ROWS = 128
TARGET_BYTES = 128 << 10  # of a partition, for transfers in flight

_MADE = {"before": "none", "hardware": "hwdge", "software": "swdge"}


@nki.jit
def described(source, made):
    """(transfers, 128, bytes), each into a tile of its own: as many as 128 KiB of a partition hold."""
    transfers, rows, run = source.shape
    mode = getattr(nisa.dge_mode, _MADE[made])
    witness = nl.ndarray((1, 1), dtype=source.dtype, buffer=nl.shared_hbm)
    count = max(1, min(transfers, TARGET_BYTES // run))
    tile = nl.ndarray((rows, count, run), dtype=source.dtype, buffer=nl.sbuf)
    for turn in nl.sequential_range(transfers // count):
        for at in nl.affine_range(count):
            nisa.dma_copy(dst=tile[:, at, :], src=source[turn * count + at], dge_mode=mode)
    for at in nl.affine_range(transfers % count):
        nisa.dma_copy(dst=tile[:, at, :], src=source[transfers - transfers % count + at], dge_mode=mode)
    nisa.dma_copy(dst=witness, src=tile[0:1, (transfers - 1) % count, 0:1])
    return witness


# For whoever runs it --------------------------------------------------------------------------


def described_inputs(point):
    """Bytes, so that a run is what the axis says, and who makes the descriptors."""
    shape = (int(point["transfers"]), ROWS, int(point["bytes_per_partition"]))
    return (shape, "uint8"), str(point["made"])


def described_reference(source, made):  # noqa: ARG001
    """The first element of the last transfer."""
    return source[-1, :1, :1]
