"""Message sizes as nccl-tests and nccom-test take them: 8, 64K, 1G; and the sweep between two."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import floor

import click

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
LARGEST = 2**50


class Size(click.ParamType[int]):
    """Bytes; a suffix multiplies by a power of two."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from trnbench.errors import UsageError

        if isinstance(value, int):
            return value
        match = _SIZE.fullmatch(str(value).strip())
        if match is None:
            raise UsageError(
                f"{value!r} is no size",
                cause="a number with K, M or G behind it, which are powers of two",
                try_="64K, 1M or 1G",
            )
        found = float(match[1]) * _UNITS[match[2].upper()]
        if found > LARGEST:
            raise UsageError(f"{value} is too large", cause="1,024 T is the most", try_="1T")
        return floor(found)


SIZE = Size()


def shown(size: float) -> str:
    """8 B, 64 KiB, 1 GiB."""
    from trnbench.facts.format import show

    return show(size, "B")


def sweep(first: int, last: int, factor: float, step: int | None) -> Iterator[int]:
    """`first`, then times `factor` (or plus `step` bytes) up to `last`. Raises UsageError for no way up."""
    from trnbench.errors import UsageError

    if first < 1:
        raise UsageError("a sweep starts at 1 byte or more", cause=f"-b is {first}", try_="-b 8")
    if last < first:
        raise UsageError(
            f"the sweep ends at {last} B before it starts at {first} B",
            cause="-e is the last size, -b the first",
            try_="-b 8 -e 1G",
        )
    if step is not None and step < 1:
        raise UsageError(
            f"a step of {step} bytes leads nowhere", cause="it is added to the size", try_="--step 1M"
        )
    if step is None and not factor > 1:
        raise UsageError(f"a factor of {factor:g} leads nowhere", cause="it multiplies the size", try_="-f 2")
    if step is not None and (last - first) // step > 10_000:
        raise UsageError("more than 10,000 sizes", cause=f"{first} to {last} in steps of {step}", try_="-f 2")
    size = first
    while size <= last:
        yield size
        size = size + step if step is not None else max(floor(size * factor), size + 1)
