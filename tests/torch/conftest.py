"""Where torch is installed these tests run; elsewhere they are skipped, or fail where it is required."""

from __future__ import annotations

import os
from importlib import util
from typing import Any

import pytest

REQUIRED = "TESTS_REQUIRE_TORCH"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if util.find_spec("torch") is not None:
        return
    if os.environ.get(REQUIRED, "0") not in ("", "0"):
        raise pytest.UsageError(
            f"torch is not installed, and {REQUIRED} is set: pip install 'trnbench[torch]'"
        )
    skip = pytest.mark.skip(reason="torch is not installed: pip install 'trnbench[torch]'")
    for item in items:
        if item.get_closest_marker("torch") is not None:
            item.add_marker(skip)


@pytest.fixture
def cpu() -> Any:
    """A processor, its calls made one after the other."""
    from trnbench_torch.device import CpuDevice

    def at_once(calls: list[Any]) -> tuple[Any, Any, None]:
        def every() -> None:
            for call in calls:
                call()

        return every, lambda: None, None

    device = CpuDevice(at_once)
    device.prepare()
    return device
