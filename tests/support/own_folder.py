"""A folder of its own for each test, with the store of its commands: for those who import the fixture."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRNBENCH_STORE", str(tmp_path / "results.db"))
