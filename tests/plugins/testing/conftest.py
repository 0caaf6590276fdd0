"""A new project for each test."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from trnbench.testing.project import write_project

NUMBERS = itertools.count()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A new project under a name of its own: modules stay imported from test to test."""
    return write_project(f"probe-n{next(NUMBERS)}", tmp_path / "project").folder
