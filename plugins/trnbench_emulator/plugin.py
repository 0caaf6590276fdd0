"""The emulator as a plugin: a backend, its traces, and what it checks of kernels.

Apart from the package itself, whose fixtures every run of pytest loads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import trnbench
from trnbench import Check, Trace
from trnbench_emulator import NAMES, SOURCES

if TYPE_CHECKING:
    from trnbench import Backend


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
