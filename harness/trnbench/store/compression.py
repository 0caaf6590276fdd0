"""How documents of a store and of its cache are made small, and how large a page of either is."""

from __future__ import annotations

import zlib

QUICK, SMALL = 1, 6
"""A case is 6 % larger for two thirds of the time; what is written once a run had better be small."""

PAGE_BYTES = 16384
"""Of a new database. A case takes 2 kB, and the usual page of 4 kB holds no second one."""

_BITS = range(9, 16)
"""Of windows that every reader of zlib takes."""

_BEHIND = 262
"""Bytes of its window that deflate does not look back into."""


def compressed(document: bytes, level: int = QUICK, example: bytes = b"") -> bytes:
    """What zlib takes back; with an `example` of such documents for its dictionary, where there was one.

    The window is no larger than both: to clear the usual one of 32 KiB, with its tables, takes longer than
    most documents do.
    """
    bits = min(max((len(document) + len(example) + _BEHIND).bit_length(), _BITS[0]), _BITS[-1])
    memory = min(bits - 7, zlib.DEF_MEM_LEVEL)
    packer = (
        zlib.compressobj(level, zlib.DEFLATED, bits, memory, zlib.Z_DEFAULT_STRATEGY, example)
        if example
        else zlib.compressobj(level, zlib.DEFLATED, bits, memory)
    )
    return packer.compress(document) + packer.flush()
