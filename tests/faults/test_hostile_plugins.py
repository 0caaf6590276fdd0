"""Whatever a plugin does, it is named, and what the others bring is there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from campaigns import sweep
from forks import Answer, Forks
from hostile_plugins import HOOK, IMPORT, RENDER

LOST = ("exits without a word", "kills itself")
"""No process survives these: the command dies with its plugin, and `plugin list` finds the culprit."""

HARMLESS = {
    *("prints", "leaves a thread", "returns none", "has a name of a megabyte", "raises in its formula"),
    *("prints in a hook",),
}
"""What costs nobody anything before it is used, or is undone: there is nothing to name."""

FEW = (
    *("exits without a word", "interrupts", "closes descriptors", "changes the folder", "traces"),
    *("raises half way", "takes a name", "yields an object that answers nothing"),
    *("raises", "returns what breaks the page"),
)
"""What stands for the rest in every run."""


def installed(folder: Path, text: str) -> str:
    """A distribution `bad` with the plugin `bad`; the folder it is found in."""
    site = folder / "site"
    info = site / "bad-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "bad.py").write_text(text, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[trnbench]\nbad = bad\n")
    return str(site)


def check(answer: Answer) -> None:
    assert not answer.late, answer.stderr
    assert "Traceback" not in answer.stderr
    assert "internal error" not in answer.stderr
    assert answer.left == 0


def test_there_are_enough() -> None:
    assert len(IMPORT) + len(HOOK) + len(RENDER) >= 40


@pytest.mark.parametrize("name", sweep([*IMPORT, *HOOK], FEW.__contains__))
def test_it_is_named_and_the_others_are_there(forks: Forks, tmp_path: Path, name: str) -> None:
    path = [installed(tmp_path, IMPORT.get(name) or HOOK[name])]
    found = forks(tmp_path, "plugin", "list", "--format", "json", path=path)
    check(found)
    assert found.code == 0, found.stderr
    rows = {row["plugin"]: row for row in json.loads(found.stdout)}
    assert len(rows) > 5
    assert {row["state"] for plugin, row in rows.items() if plugin != "bad"} <= {"ok", "slow"}
    if name not in HARMLESS:
        assert rows["bad"]["state"] == "problem"
        assert "'bad' of bad 1.0" in rows["bad"]["problems"][0]
    listed = forks(tmp_path, "list", "kernels", "--format", "json", path=path)
    if name in LOST:
        return
    check(listed)
    assert listed.code == 0, listed.stderr
    assert "gemm" in [row["kernel"] for row in json.loads(listed.stdout)]


@pytest.fixture(scope="module")
def stored(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small run."""
    folder = tmp_path_factory.mktemp("stored")
    assert forks(folder, "run", "--no-report", modes=["half", "low"]).code == 0
    return folder


@pytest.mark.parametrize("name", sweep(RENDER, FEW.__contains__))
def test_a_section_costs_itself_alone(forks: Forks, tmp_path: Path, stored: Path, name: str) -> None:
    path = [installed(tmp_path, RENDER[name])]
    folder = tmp_path / "work"
    shutil.copytree(stored, folder)
    answer = forks(folder, "report", path=path)
    check(answer)
    assert (answer.code, answer.stdout) == (0, "trnbench-report.html\n"), answer.stderr
    page = (folder / "trnbench-report.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert "tiny.2" in page  # what the other sections were given
    if name not in ("returns what breaks the page", "prints"):
        assert "Bad" in page
