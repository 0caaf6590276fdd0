"""A sample of mutants of legal kernels is caught; all of `python -m tests.nki.mutants` is a campaign."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.nki.mutants import drawn, legal_kernels, mutants, outcomes


def caught(count: int, seed: int, *names: str) -> Counter[str]:
    """How many of so many are caught how; those that change no output aside."""
    kernels = [kernel for kernel in legal_kernels() if kernel.name in names]
    results = Counter(outcome.how for outcome in outcomes(drawn(count, seed, kernels)))
    del results[""]
    return results


def test_a_sample() -> None:
    results = caught(16, 1, "softmax", "hbm_copy", "rows.softmax_rows", "halves.halves_swapped")
    assert results.total() > 10
    assert results["finding"] > 3
    assert results["missed"] <= results.total() // 10, results


def test_dropped_barriers_are_races() -> None:
    legal = next(kernel for kernel in legal_kernels() if kernel.name == "halves.halves_swapped")
    dropped = [mutant for mutant in mutants(legal) if mutant.kind == "barrier dropped"]
    found = outcomes(dropped)
    assert len(found) == 2
    assert all(outcome.how == "finding" and "race" in outcome.why for outcome in found)


@pytest.mark.campaign("hours")
def test_nine_of_ten_of_all() -> None:
    results = caught(300, 1)
    assert results.total() >= 150
    assert results["missed"] <= results.total() // 10, results
