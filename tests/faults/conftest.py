"""Commands in forked processes, where one costs some hundredths of a second."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from forks import Forks


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    with Forks() as started:
        yield started
