"""`plugin new`: the project installs, passes its own tests, and shows up everywhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from plugin_parts import Trnbench, pip_install
from stored_run import text_of

from trnbench.errors import UsageError
from trnbench.testing import CHECKS
from trnbench.testing.project import SKELETON, write_project
from trnbench.version import CONTRACT_VERSION


def test_a_new_project_is_written_for_the_contract_of_today(tmp_path: Path) -> None:
    project = write_project("acme-trn9", tmp_path / "acme")
    text = (project.folder / "acme_trn9" / "__init__.py").read_text()
    assert re.findall(r"^trnbench_contract = (\d+)", text, re.MULTILINE) == [str(CONTRACT_VERSION)]


@pytest.mark.campaign("environments")
def test_new_project_installs_and_passes_its_own_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trnbench: Trnbench
) -> None:
    told = trnbench("plugin", "new", "acme-trn9")
    assert (told.returncode, told.stdout) == (0, "acme-trn9\n")
    project = tmp_path / "acme-trn9"
    assert {path.name for path in project.iterdir()} == {"README.md", "acme_trn9", "pyproject.toml", "tests"}
    written = [path for path in project.rglob("*") if path.is_file()]
    assert len(written) == 12
    assert not [path for path in written if re.search("@[A-Z]+@", path.read_text())]

    target = tmp_path / "installed"
    pip_install(project, target)
    existing = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(target), *([existing] if existing else [])]))

    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", str(project)],
        capture_output=True,
        text=True,
        check=False,
        cwd=project,
        timeout=300,
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert f"{len(CHECKS) + 2} passed" in tested.stdout

    only = [word for check in list(CHECKS)[:3] for word in ("--only", check)]
    checked = trnbench("plugin", "check", "acme-trn9", *only)
    assert (checked.returncode, checked.stdout) == (0, "")
    assert checked.stderr == (
        "acme-trn9 (acme-trn9 0.1.0): all well (looked at: loading 2, imports 6, references 2)\n"
    )
    own = trnbench("acme-trn9")
    assert own.stdout == "acme-trn9.4xlarge: 4 devices, 128 GiB of device memory\n"
    assert "  acme-trn9  (from acme-trn9)" in trnbench("--help").stdout
    rows = json.loads(trnbench("plugin", "list", "--format", "json").stdout)
    row = next(row for row in rows if row["plugin"] == "acme-trn9")
    assert row["brings"] == "1 generation, 1 kernel, 1 section, 1 model, 1 instance, command acme-trn9"
    assert (row["state"], row["version"]) == ("ok", "0.1.0")


@pytest.mark.parts
def test_project_is_checked_without_being_installed(tmp_path: Path, trnbench: Trnbench) -> None:
    write_project("acme-trn8", tmp_path / "acme-trn8")
    checked = trnbench("plugin", "check", "./acme-trn8", "--only", "facts", "--only", "topologies")
    assert (checked.returncode, checked.stdout) == (0, "")
    facts = tmp_path / "acme-trn8" / "acme_trn8" / "facts.toml"
    facts.write_text(facts.read_text().replace('printed = "524"', 'printed = "1,048"'))
    checked = trnbench("plugin", "check", "./acme-trn8", "--only", "facts")
    assert checked.returncode == 1
    assert "documents disagree by rule 'devices-sum': 1,048 TFLOPS (acme-trn8-guide)" in checked.stdout


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    assert text_of(UsageError, write_project, "acme-trn7", tmp_path) == (
        f"{tmp_path} exists already\n"
        "  cause: a new project is written into a folder of its own, nothing is overwritten\n"
        f"  try:   trnbench plugin new acme-trn7 --dir {tmp_path}-2"
    )


@pytest.mark.parts
@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("trn2", "plugin 'trn2' of trnbench"),
        ("run", "command 'run' of trnbench"),
        ("scoreboard", "section 'scoreboard' of trnbench"),
    ],
)
def test_name_that_is_taken_is_refused(name: str, owner: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"'{name}' is taken") as error:
        write_project(name, tmp_path / name)
    assert re.fullmatch(rf"{owner} \S+ is installed here", error.value.cause)
    assert error.value.try_ == f"trnbench plugin new my-{name}"


def test_skeleton_has_every_hook_that_a_plugin_of_hardware_needs() -> None:
    text = (SKELETON / "package" / "__init__.py.txt").read_text()
    for hook in ("trnbench_generations", "trnbench_kernels", "trnbench_reports"):
        assert f"def {hook}()" in text
