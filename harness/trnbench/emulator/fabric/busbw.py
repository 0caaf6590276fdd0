"""Bus bandwidth: the factor by which nccl-tests and nccom-test turn bytes per second into link traffic."""

from __future__ import annotations

from trnbench.emulator.fabric.algorithms.algorithm import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER


def factor(collective: str, n: int) -> float:
    """busbw / algbw of `n` ranks (nccl-tests' performance notes)."""
    share = (n - 1) / n if n else 0.0
    return {ALL_REDUCE: 2 * share, ALL_GATHER: share, REDUCE_SCATTER: share, ALL_TO_ALL: share}.get(
        collective, 1.0
    )
