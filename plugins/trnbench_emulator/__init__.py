"""The backend "emulated": NKI kernels instruction by instruction, collectives as flows on links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

import trnbench
from trnbench import Check, Trace
from trnbench.kernels.kernel import Kernel

if TYPE_CHECKING:
    from trnbench import Backend


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


class KernelQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody's NKI kernel. `source` is "path/to/file.py::function" or "package.module:name"; `operation` is
    what an installed kernel that is written by it does, in the words of published points, else ""."""

    source: str
    dtype: str
    operation: str = ""


class CollectiveQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One collective, or message, of `size` bytes over `ranks` on `nodes` hosts."""

    collective: str
    size: float
    ranks: int
    cores_per_rank: int
    nodes: int = 1
    context: str
    point_to_point: bool = False


@trnbench.hookimpl
def trnbench_backends() -> Iterator[Backend]:
    """Emulates every system that a plugin describes."""
    from trnbench_emulator.backend import EmulatedBackend

    yield EmulatedBackend()


@trnbench.hookimpl
def trnbench_traces() -> Iterator[Trace]:
    """Of its own cases."""
    yield Trace(
        name="emulated",
        timeline="trnbench_emulator.stored_case:case_trace",
        assumptions="trnbench_emulator.stored_case:assumption_ends",
    )


@trnbench.hookimpl
def trnbench_checks() -> Iterator[Check]:
    """NKI sources load and compute what they should; what is emulated is believable."""
    yield Check(
        name="sources", check="trnbench_emulator.checks.values:sources", order=35, kinds=(*SOURCES, *NAMES)
    )
    yield Check(name="values", check="trnbench_emulator.checks.values:values", order=70)
    yield Check(name="pieces", check="trnbench_emulator.checks.pieces:pieces", order=80)
    yield Check(name="emulation", check="trnbench_emulator.checks.emulation:emulation", order=100)
