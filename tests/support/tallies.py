"""Sums over the instructions that a kernel issued."""

from __future__ import annotations

from collections import Counter
from typing import Any

from trnbench_emulator.nki import Trace


def flops(trace: Trace) -> float:
    return sum(op.flops * count for op, count in trace.tally.items())


def hbm_bytes(trace: Trace) -> float:
    return sum(
        count * (op.traffic.get("hbm_read", 0) + op.traffic.get("hbm_write", 0))
        for op, count in trace.tally.items()
    )


def alike(trace: Trace, times: int = 1) -> Counter[Any]:
    """How often each instruction came, whatever tiles it was of."""
    found: Counter[Any] = Counter()
    for op, count in trace.tally.items():
        found[op.key()] += count * times
    return found
