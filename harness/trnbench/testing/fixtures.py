"""The conformance kit as pytest fixtures: `pytest_plugins = ["trnbench.testing.fixtures"]`."""

from __future__ import annotations

from collections.abc import Callable

import pytest  # noqa: TID253  only pytest loads this file

from trnbench.registry import Registry, load_registry
from trnbench.testing.conformance import check_plugin


@pytest.fixture
def conformance() -> Callable[..., None]:
    """`conformance(name_or_path, *checks)`: fails with every promise the plugin does not keep."""

    def conform(what: str, *checks: str) -> None:
        report = check_plugin(what, checks=checks)
        if not report.passed:
            problems = [str(each) for each in report.repeated if not each.first.warning]
            pytest.fail("\n".join(problems), pytrace=False)

    return conform


@pytest.fixture
def plugin_registry() -> Registry:
    """Everything installed, the plugin under test with it; fails when a plugin has a problem."""
    registry = load_registry()
    registry.collect()
    if registry.problems:
        pytest.fail("\n".join(map(str, registry.problems)), pytrace=False)
    return registry
