"""Who starts a transfer: the engine in whose queue its trigger waits, and what makes its descriptors.

Any sequencer can trigger a transfer; the Sync engine is there for that. Hardware makes descriptors for the
Sync and the scalar engine, GpSimd makes them for itself. What the kernel leaves open goes to the Sync
engine, with descriptors prepared beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SYNC = "sync"
HARDWARE, SOFTWARE, PREPARED = "hwdge", "swdge", "none"

_GATHERED = ("vector", "column")


def descriptors_by(variables: Mapping[str, Any]) -> str:
    """What makes a transfer's descriptors. Addresses that come one by one from SBUF: GpSimd alone can."""
    if variables.get("indirect") in _GATHERED:
        return SOFTWARE
    given = variables.get("dge")
    return str(given) if given in (HARDWARE, SOFTWARE) else PREPARED


def triggered_by(variables: Mapping[str, Any]) -> str:
    """The engine that starts a transfer."""
    if descriptors_by(variables) == SOFTWARE or variables.get("via") == "gpsimd_dma":
        return "gpsimd"
    return str(variables.get("trigger") or SYNC)
