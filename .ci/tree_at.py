"""A tree of sources beside this one: those of another commit, and an environment that imports from a tree."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("harness", "plugins", "reports")


def unpack(commit: str, folder: Path) -> Path:
    """The tree of `commit` in `folder`. Ends the program where there is no such commit."""
    archive = subprocess.run(["git", "-C", ROOT, "archive", commit], capture_output=True, check=False)
    if archive.returncode:
        cause = archive.stderr.decode().strip()
        sys.exit(
            f"error: no commit {commit!r}\n  cause: {cause}\n  try:   git log --oneline, which names commits"
        )
    safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # from Python 3.11.4 on
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, **safe)
    return folder.resolve()


def environment(root: Path, home: Path) -> Mapping[str, str]:
    """Variables with which Python imports the packages and entry points of `root`; settings are in `home`."""
    _metadata(root, home)
    outer = {
        name: value for name, value in os.environ.items() if not name.startswith(("TRNBENCH_", "PYTHON"))
    }
    path = os.pathsep.join([str(home), *(str(root / folder) for folder in FOLDERS)])
    return {**outer, "PYTHONPATH": path, "XDG_CONFIG_HOME": str(home), "XDG_CACHE_HOME": str(home)}


def python() -> Path:
    """The interpreter that has the libraries: that of the tree's own environment, else this one."""
    installed = ROOT / ".venv" / "bin" / "python"
    return installed if installed.exists() else Path(sys.executable)


def _metadata(root: Path, folder: Path) -> None:
    """Entry points as the tree's own pyproject.toml has them, whatever is installed."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    info = folder / "trnbench-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: trnbench\nVersion: 0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in names.items())
        for group, names in groups.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
