"""The backend "emulated": NKI kernels instruction by instruction, collectives as flows on links.

Here: its clock, the kinds of implementation that it carries out, and a kernel's sources among them.

Modelled time is a whole number of ticks, so that a run repeats bit for bit. An instant and a figure that is
stated are rounded to the nearest tick. What work takes, amount over rate, is rounded up on a core, so that a
result is never faster than its parts; flows that share links end at the nearest tick instead, for they are
cut at every change of rate, and rounding up would add up.
"""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trnbench.kernels.kernel import Kernel


NKI = ("nki", "nki-mx")
"""Of NKI sources; "nki-mx" takes microscaled operands, each with its scales beside it."""

BETA1 = "nki-beta1"
"""Of sources in the language of SDK 2.26 and before, `neuronxcc.nki`."""

SOURCES = (*NKI, BETA1)
"""Those whose module imports an `nki`, which its plugin has to provide."""

NAMES = ("collective", "model")
"""Those that name something of the emulator's own."""


def nki_sources(kernel: Kernel) -> tuple[str, ...]:
    """What the kernel is in NKI: the first whose `…_inputs` takes a point is the source of that point.

    Beta 1's source is that of a kernel which is written in nothing else.
    """
    kinds = NKI if any(kind in kernel.implementations for kind in NKI) else (BETA1,)
    references = (kernel.implementations.get(kind, "") for kind in kinds)
    return tuple(reference.replace("::", ":", 1) for reference in references if reference)


TICKS_PER_SECOND = 10**12
"""One tick is a picosecond: a thousandth of the finest time any source states."""

TICKS_PER_US = TICKS_PER_SECOND // 10**6

HALF = 0.5 + 2.0**-10
"""Added before rounding down to the nearest; the nudge keeps an exact half tick from falling either way
with the last bit of a float."""


def ticks(seconds: float) -> int:
    """To the nearest tick; halves go up."""
    return floor(seconds * TICKS_PER_SECOND + HALF)


def ticks_up(seconds: float) -> int:
    """Of work: rounded up, but for what a float's last bits add to a whole number of ticks."""
    return ceil(round(seconds * TICKS_PER_SECOND, 3))


def seconds(ticks: int) -> float:
    return ticks / TICKS_PER_SECOND
