"""Stand-ins for NVIDIA's tool, and the device tests' condition."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPT = """#!/bin/sh
echo "$@" >> {log}
case "$*" in
{cases}
*) echo "ERROR: what was that?"; exit 2;;
esac
"""


@pytest.fixture
def nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], Path]:
    """Puts an executable on the PATH that answers by what its arguments hold; returns the log of calls."""

    def install(answers: dict[str, str]) -> Path:
        folder, log = tmp_path / "bin", tmp_path / "calls.log"
        folder.mkdir(exist_ok=True)
        cases = "\n".join(f"*'{holds}'*) {does};;" for holds, does in answers.items())
        path = folder / "nvidia-smi"
        path.write_text(SCRIPT.format(log=log, cases=cases))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        return log

    return install
