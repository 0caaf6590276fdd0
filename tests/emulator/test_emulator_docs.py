"""docs/emulator.md states the limits that the code has; docs/nki.md has a test of its own."""

from __future__ import annotations

import inspect
from pathlib import Path

from trnbench_emulator.core.cases import CALL_LIMIT
from trnbench_emulator.core.recording import Launch
from trnbench_emulator.core.timing import KernelModel
from trnbench_emulator.nki.recorder import DEFAULT_LIMIT

TEXT = (Path(__file__).parents[2] / "docs" / "emulator.md").read_text()


def test_limits_are_the_ones_in_the_code() -> None:
    assert f"more than\n{CALL_LIMIT:,} calls" in TEXT
    assert f"after {DEFAULT_LIMIT:,} instructions" in TEXT


def test_the_one_way_is_called_as_written() -> None:
    assert "KernelModel().time(kernel, arguments, system, Launch(programs=1, cores=1))" in TEXT
    inspect.signature(KernelModel.time).bind(
        KernelModel(), "kernel", (), "system", Launch(programs=1, cores=1)
    )
