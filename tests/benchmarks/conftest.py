"""What times something is asked for: by `--benchmark-enable`, or as a campaign, which tries that it works."""

from __future__ import annotations

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.campaign("benchmarks"))
