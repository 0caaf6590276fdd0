"""A run of several sizes of the kernels that a headline asks for."""

from __future__ import annotations

import pytest
from synthetic_run import make_run

from trnbench import Run


@pytest.fixture(scope="module")
def small() -> Run:
    return make_run(sizes=5, extra_kernels=0)
