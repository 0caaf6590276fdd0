"""docs/comparing.md: its example is typed as printed, and gives what is printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "comparing.md").read_text(encoding="utf-8")
EXAMPLE = PAGE.partition("## An example\n")[2].partition("\n## Which runs")[0]


def steps() -> list[tuple[str, list[str]]]:
    """Each command of the example with what is printed below it; a TOML block is a file that is written."""
    found: list[tuple[str, list[str]]] = []
    for kind, block in re.findall(r"```(console|toml)\n(.*?)```", EXAMPLE, re.S):
        if kind == "toml":
            found.append((block, []))
            continue
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def installed(folder: Path) -> None:
    """What `pip install -e` leaves for a package's entry points, without a network."""
    text = (folder / "pyproject.toml").read_text()
    points = re.findall(r"^\[project.entry-points.\"?([\w.]+)\"?\]\n((?:\w+ = .*\n)+)", text, re.M)
    info = folder / "lab-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lab\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(
        "".join(f"[{group}]\n{lines}\n".replace('"', "") for group, lines in points)
    )


def masked(text: str) -> list[str]:
    """Ids and dates are another run's."""
    text = re.sub(r"\d{8}-\d{6}-\w{4}", "RUN", text)
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:]+\+00:00", "DATE", text).splitlines()


@pytest.mark.campaign("documents")
def test_the_example(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path / "lab"), *sys.path]),
        "TRNBENCH_STORE": str(tmp_path / "results.db"),
        "COLUMNS": "200",
    }
    done = 0
    for command, printed in steps():
        if command.startswith("[[rule]]"):
            (tmp_path / "gate.toml").write_text(command)
            continue
        install = "&& pip install" in command
        words = command.partition(" && ")[0] if install else command
        words = re.sub(r"^trnbench", f"{sys.executable} -m trnbench", words)
        ended = subprocess.run(
            ["bash", "-c", words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        expected = 1 if command == "trnbench gate" else 0
        assert ended.returncode == expected, f"{command}\n{ended.stdout}\n{ended.stderr}"
        if install:
            installed(tmp_path / "lab")
        if printed:
            assert masked(ended.stdout + ended.stderr) == printed, command
            done += 1
    assert done == 6
    assert (tmp_path / "gate.xml").exists()
    shutil.rmtree(tmp_path / "lab")


def test_every_key_of_a_rule_is_listed() -> None:
    from trnbench.compare.gate.rule import _KEYS

    table = PAGE.partition("### Rules\n")[2].partition("\n### ")[0]
    assert set(
        re.findall(
            r"`(\w+)`", " ".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
        )
    ) == set(_KEYS)
