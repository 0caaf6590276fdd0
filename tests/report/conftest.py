"""Synthetic runs for the report's tests, and the page of the default run in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_run import make_hostile
from page_visit import Visit
from synthetic_run import make_run, with_verdicts

from trnbench import Run


@pytest.fixture(scope="session")
def run() -> Run:
    """The default run's size and shape, with one case of every status."""
    return with_verdicts(make_run())


@pytest.fixture(scope="session")
def fewer() -> Run:
    """Three sizes of each kernel: what is clicked and searched does not depend on how many there are."""
    return with_verdicts(make_run(sizes=3, extra_kernels=0))


@pytest.fixture(scope="session")
def small() -> Run:
    """One size of every kernel, for what does not depend on how many there are."""
    return with_verdicts(make_run(sizes=1, extra_kernels=0))


@pytest.fixture(scope="session")
def several() -> Run:
    """Five sizes of each kernel, with no verdict of an earlier run."""
    return make_run(sizes=5, extra_kernels=0)


@pytest.fixture(scope="session")
def hostile() -> Run:
    return make_hostile(make_run(sizes=4, extra_kernels=0))


@pytest.fixture
def opened(browser: Any, default_run: Path) -> Iterator[Visit]:
    visit = Visit(browser, default_run / "trnbench-report.html")
    yield visit
    assert visit.complaints == []
    visit.close()
