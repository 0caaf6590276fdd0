"""Who starts a transfer: the engine in whose queue its trigger waits, and what makes its descriptors.

Any sequencer can trigger a transfer; the Sync engine is there for that. Hardware makes descriptors for the
Sync and the scalar engine, GpSimd makes them for itself. What the kernel leaves open goes to the Sync
engine. A `dma_copy` that leaves it open has its descriptors made by hardware where the core has such a block
(published kernels of Trainium2 that issue hundreds of them take 0.62 µs for each); loads and stores of the
language have descriptors prepared beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SYNC = "sync"
HARDWARE, SOFTWARE, PREPARED, OPEN = "hwdge", "swdge", "none", "unknown"

_GATHERED = ("vector", "column")


def descriptors_by(variables: Mapping[str, Any], *, hardware: bool = False) -> str:
    """What makes a transfer's descriptors. Addresses that come one by one from SBUF: GpSimd alone can.

    `hardware`: the core has a block for it, which then makes those of copies that leave it open, unless they
    turn or convert what they move: it knows bytes alone.
    """
    if variables.get("indirect") in _GATHERED:
        return SOFTWARE
    given = variables.get("dge")
    if hardware and given == OPEN and not variables.get("transpose") and not variables.get("cast"):
        return HARDWARE
    return str(given) if given in (HARDWARE, SOFTWARE) else PREPARED


def triggered_by(variables: Mapping[str, Any]) -> str:
    """The engine that starts a transfer."""
    if descriptors_by(variables) == SOFTWARE or variables.get("via") == "gpsimd_dma":
        return "gpsimd"
    return str(variables.get("trigger") or SYNC)
