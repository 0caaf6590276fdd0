"""Published points, the emulator's error on them, and the bands that follow."""

from __future__ import annotations

from collections.abc import Iterator

import trnbench
from trnbench import Check, Expectation


@trnbench.hookimpl
def trnbench_expectations() -> Iterator[Expectation]:
    """Published points of all generations, and published steps of models."""
    yield Expectation(
        name="published",
        beside="trnbench_fidelity.snapshot:Published",
        fidelity="trnbench_fidelity.snapshot:fidelity_of",
    )


@trnbench.hookimpl
def trnbench_checks() -> Iterator[Check]:
    """Files of published points load, and name what there is."""
    yield Check(name="published", check="trnbench_fidelity.checks:published", order=45)
