"""An environment with the core, the reports, one generation and the host, and no other part of trnbench."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
PARTS = ("trnbench", "trnbench_reports", "trnbench_trn2", "trnbench_host")
_OURS = ("trnbench", "_trnbench", "__editable__.trnbench", "__editable___trnbench")


def build(folder: Path) -> Path:
    """The Python of a virtual environment in `folder` where of trnbench `PARTS` alone can be imported.

    Libraries are links to those of the running environment; entry points are those whose package is there.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    packages = folder / "packages"
    packages.mkdir()
    for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
        if not entry.name.startswith(_OURS) and entry.suffix != ".pth":
            (packages / entry.name).symlink_to(entry)
    for part in PARTS:
        (source,) = (
            path for root in ("harness", "plugins", "reports") if (path := ROOT / root / part).is_dir()
        )
        (packages / part).symlink_to(source)
    _metadata(packages / "trnbench-0.dist-info")
    library = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    (Path(library) / "packages.pth").write_text(f"{packages}\n")
    return folder / "bin" / "python"


def _metadata(folder: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: trnbench\nVersion: 0\n")
    lines = []
    for group, entries in project["entry-points"].items():
        lines.append(f"[{group}]")
        lines += [f"{name} = {target}" for name, target in entries.items() if _package(target) in PARTS]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")


def _package(target: str) -> str:
    return target.partition(":")[0].partition(".")[0]


def ask(python: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`trnbench WORDS…` in that environment, with a store of its own."""
    return subprocess.run(
        [python, "-m", "trnbench", "--store", str(cwd / "results.db"), *words],
        cwd=cwd, capture_output=True, text=True, timeout=300, env={"PATH": "/usr/bin:/bin", "HOME": str(cwd)},
    )  # fmt: skip


if __name__ == "__main__":
    sys.stdout.write(f"{build(Path(sys.argv[1]))}\n")
