"""What the build of the wheel makes: the pages of help, which are shown before click is imported."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("harness", "plugins", "reports")
PAGES = "trnbench/cli/help.txt"
# Not by PYTHONPATH: where an editable installation is renewed, pip takes its folders out of it.
MAKER = """
import os, runpy, sys
sys.path[:0] = sys.argv.pop(1).split(os.pathsep)
runpy.run_module("trnbench.cli.help_text", run_name="__main__", alter_sys=True)
"""


class HelpPages(BuildHookInterface):  # type: ignore[type-arg]
    """An editable installation has them beside its sources, a wheel has them alone."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        self.folder = tempfile.TemporaryDirectory()
        home = Path(self.folder.name)
        editable = version == "editable"
        pages = root / "harness" / PAGES if editable else home / "help.txt"
        self._entry_points(home / "trnbench-0.dist-info")
        path = [str(home), *(str(root / folder) for folder in FOLDERS)]
        command = [sys.executable, "-B", "-c", MAKER, os.pathsep.join(path), str(pages)]
        subprocess.run([*command, "--editable"] if editable else command, check=True)
        if not editable:
            build_data["force_include"][str(pages)] = PAGES

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self.folder.cleanup()

    def _entry_points(self, folder: Path) -> None:
        """Commands as they will be installed."""
        folder.mkdir()
        names = self.metadata.core.entry_points["trnbench.commands"]
        lines = [f"{name} = {target}\n" for name, target in names.items()]
        (folder / "entry_points.txt").write_text("[trnbench.commands]\n" + "".join(lines), encoding="utf-8")
