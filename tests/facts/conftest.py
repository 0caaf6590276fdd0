"""Fact files written on the spot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

HEAD = """schema = 1
[sources.page]
document = "A page"
date = "2026-01-02"
[sources.table]
document = "A table"
date = "2025-01-02"
seed = true
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write(body, name="facts.toml", head=HEAD)` gives the path of a fact file."""

    def make(body: str, name: str = "facts.toml", head: str = HEAD) -> Path:
        path = tmp_path / name
        path.write_text(head + body, encoding="utf-8")
        return path

    return make
