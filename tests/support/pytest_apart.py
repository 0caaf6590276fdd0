"""pytest in a process of its own, with our plugin and nothing of the pytest around it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PLUGIN = "trnbench.pytest_plugin.plugin"


def run(
    folder: Path, *arguments: str, more: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """pytest as a user runs it, every warning an error."""
    from importlib.metadata import entry_points

    installed = any(each.value == PLUGIN for each in entry_points(group="pytest11"))
    plugin = () if installed else ("-p", PLUGIN)
    command = [
        sys.executable,
        "-m",
        "pytest",
        *plugin,
        "-q",
        "-W",
        "error",
        "-p",
        "no:cacheprovider",
        *arguments,
    ]
    # A pytest of its own: what the one around it tells its workers is not for it.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = {**inherited, "PYTHONDONTWRITEBYTECODE": "1", **(more or {})}
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, env=environment, check=False
    )
