"""The smallest third-party plugin, installed as a stranger would install it, seen through `trnbench`.

What else an installed project shows, plugins/test_new_project.py tells.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from plugin_parts import Trnbench, pip_install
from whole_page import unfolded

SMALLEST = Path(__file__).parent / "trnbench_smallest"

pytestmark = pytest.mark.campaign("environments")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder it is installed into; built from a copy, so that nothing is left beside the source."""
    folder = tmp_path_factory.mktemp("smallest")
    shutil.copytree(SMALLEST, folder / "source")
    target = folder / "installed"
    pip_install(folder / "source", target)
    return target


@pytest.fixture
def trnbench(installed: Path, tmp_path: Path) -> Trnbench:
    existing = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(installed), *([existing] if existing else [])])

    def call(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "trnbench", *args],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            timeout=120,
        )

    return call


def test_its_instance_kernel_and_section_are_listed(trnbench: Trnbench) -> None:
    def names(what: str, key: str) -> list[str]:
        return [row[key] for row in json.loads(trnbench("list", what, "--format", "json").stdout)]

    assert "smallest.1" in names("instances", "instance")
    assert "smallest_read" in names("kernels", "kernel")
    assert "smallest" in names("sections", "section")


def test_it_is_run_and_its_section_is_in_the_report(trnbench: Trnbench, tmp_path: Path) -> None:
    store = str(tmp_path / "results.db")
    told = trnbench("--store", store, "run", "smallest_read", "-i", "smallest.1")
    assert told.returncode == 5  # it brings no costs: nothing of it can be emulated
    assert "cause: 2 × smallest has no cost table, so no time follows for a core\n" in told.stderr
    page = tmp_path / "page.html"
    told = trnbench("--store", store, "report", "-o", str(page))
    assert told.returncode == 0, told.stderr
    html = unfolded(page.read_text(encoding="utf-8"))  # it says no depth: the third
    assert "The smallest section" in html
    assert "1 runs, by the smallest plugin." in html


def test_without_it_nothing_of_it_is_left(trnbench: Trnbench) -> None:
    assert "  smallest  (from trnbench-smallest)" in trnbench("--help").stdout
    assert "smallest" not in trnbench("--no-plugin", "smallest", "--help").stdout
    assert "smallest" not in trnbench("--no-plugin", "trnbench-smallest", "list", "kernels").stdout
