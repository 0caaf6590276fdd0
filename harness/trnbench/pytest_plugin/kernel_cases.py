"""Collected by `pytest --trnbench-instance NAME`: one test for each case of trnbench's plan."""

from __future__ import annotations

from typing import Any

import pytest  # noqa: TID253 (a test file)

from trnbench.pytest_plugin.cases import Cases, cases_of

_KEY = pytest.StashKey[Cases]()


def _cases(config: pytest.Config) -> Cases:
    if _KEY not in config.stash:
        from trnbench.errors import TrnbenchError

        try:
            config.stash[_KEY] = cases_of(
                config.getoption("--trnbench-instance"),
                tuple(config.getoption("--trnbench-kernel")),
                config.getoption("--trnbench-backend"),
            )
        except TrnbenchError as error:  # an option is wrong: frames of this package say nothing of it
            raise pytest.Collector.CollectError(str(error)) from None
    return config.stash[_KEY]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One parameter for each case, named as reports name it."""
    found = _cases(metafunc.config).plan.cases
    metafunc.parametrize("case", found, ids=[each.key.fullname for each in found])


def test_kernel(case: Any, benchmark: Any, pytestconfig: pytest.Config) -> None:
    """Fails where `trnbench run` would say failed or suspect, skips where it would skip."""
    _cases(pytestconfig).carry_out(case, benchmark)
