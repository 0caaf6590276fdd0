"""The modules that go first are there."""

from __future__ import annotations

from pathlib import Path

from longest import LONGEST


def test_a_module_that_is_renamed_is_renamed_in_the_order() -> None:
    assert [name for name in LONGEST if not (Path(__file__).parent / name).is_file()] == []
