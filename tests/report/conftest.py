"""Synthetic runs for the report's tests."""

from __future__ import annotations

import pytest
from hostile_run import make_hostile
from synthetic_run import make_run, with_verdicts

from trnbench import Run


@pytest.fixture(scope="session")
def run() -> Run:
    """The default run's size and shape, with one case of every status."""
    return with_verdicts(make_run())


@pytest.fixture(scope="session")
def small() -> Run:
    """One size of every kernel, for what does not depend on how many there are."""
    return with_verdicts(make_run(sizes=1, extra_kernels=0))


@pytest.fixture(scope="session")
def hostile() -> Run:
    return make_hostile(make_run(sizes=4, extra_kernels=0))
