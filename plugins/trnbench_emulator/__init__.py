"""The backend "emulated": NKI kernels instruction by instruction, collectives as flows on links.

Here: kinds of implementation that it carries out, and a kernel's sources among them.
"""

from __future__ import annotations

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
