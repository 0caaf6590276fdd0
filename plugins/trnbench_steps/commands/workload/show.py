"""Counts, FLOP and bytes of models, for people."""

from __future__ import annotations

from typing import Any

from trnbench.facts.format import round_to


def count(value: Any) -> str:
    """Three digits and K, M, B or T, as model cards write parameters: 8.03B."""
    for unit, scale in (("T", 1e12), ("B", 1e9), ("M", 1e6), ("K", 1e3)):
        if round_to(value / scale, 3) >= 1:
            return f"{value / scale:,.3g}{unit}"
    return f"{value:,}"


def flop(value: Any) -> str:
    """Three digits and a decimal prefix: 16.1 GFLOP."""
    from trnbench.facts.format import show

    return show(float(value), "FLOP/s").removesuffix("S")


def size(value: Any) -> str:
    """Three digits and a binary prefix: 128 KiB."""
    from trnbench.facts.format import show

    return show(float(value), "B")
