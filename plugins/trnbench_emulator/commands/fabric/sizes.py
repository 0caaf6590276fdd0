"""Message sizes as nccl-tests and nccom-test take them: 8, 64K, 1G; and the sweep between two."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor

import click

from trnbench.bounded import kinds
from trnbench.cli.bundle import bundle
from trnbench.cli.number import NumberType

MOST = 10_000
"""Sizes of one sweep at most: more is a slip of the finger."""

SIZE = NumberType(kinds.MESSAGE)
"""Bytes; a suffix multiplies by a power of two."""

sweep_options = bundle(
    click.option("-b", "--minbytes", type=SIZE, default="8", show_default=True, help="The smallest message."),
    click.option("-e", "--maxbytes", type=SIZE, default="1G", show_default=True, help="The largest message."),
    click.option(
        "-f",
        "--stepfactor",
        type=NumberType(kinds.STEP_FACTOR),
        default=2.0,
        show_default=True,
        help="From size to size.",
    ),
)
"""-b, -e and -f, in this order, of every command that sweeps message sizes."""


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
    size = first
    for _ in range(MOST):
        yield size
        size = size + step if step is not None else max(floor(size * factor), size + 1)
        if size > last:
            return
    how = f"in steps of {step}" if step is not None else f"by a factor of {factor!r}"
    raise UsageError(f"more than {MOST:,} sizes", cause=f"{first} to {last} {how}", try_="-f 2")
