"""docs/emulator.md lists what is provided: all of it, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from trnbench.emulator.core.recorded import CALL_LIMIT
from trnbench.nki import isa, language, typing
from trnbench.nki.recorder import DEFAULT_LIMIT

TEXT = (Path(__file__).parents[2] / "docs" / "emulator.md").read_text()


@pytest.mark.parametrize(
    ("name", "module"), [("nki.isa", isa), ("nki.language", language), ("nki.typing", typing)]
)
def test_every_provided_name_is_listed(name: str, module: Any) -> None:
    paragraph = TEXT.split(f"\n`{name}`:")[1].split("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", paragraph)) == set(module.__all__)


def test_limits_are_the_ones_in_the_code() -> None:
    assert f"more than\n{CALL_LIMIT:,} calls" in TEXT
    assert f"after {DEFAULT_LIMIT:,} instructions" in TEXT
