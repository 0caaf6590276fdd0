"""docs/emulator.md states the limits that the code has; docs/nki.md has a test of its own."""

from __future__ import annotations

from pathlib import Path

from trnbench.emulator.core.cases import CALL_LIMIT
from trnbench.nki.recorder import DEFAULT_LIMIT

TEXT = (Path(__file__).parents[2] / "docs" / "emulator.md").read_text()


def test_limits_are_the_ones_in_the_code() -> None:
    assert f"more than\n{CALL_LIMIT:,} calls" in TEXT
    assert f"after {DEFAULT_LIMIT:,} instructions" in TEXT
