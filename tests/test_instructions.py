"""`.ci/instructions`: commands counted at two commits, what is accepted, and slowdowns that are planted."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

ENTRY = {"command": "help", "factor": 1.1, "why": "a check of the locale"}


@pytest.fixture(scope="module")
def script(root: Path) -> dict[str, Any]:
    return run_path(str(root / ".ci" / "instructions"))


def test_the_list_names_twenty_commands_that_trnbench_has(script: dict[str, Any], root: Path) -> None:
    listed = script["commands"](script["read"](root))
    assert len({command.words for command in listed}) >= 20


def test_an_accepted_change_counts_against_commits_without_its_entry_alone(script: dict[str, Any]) -> None:
    here = {"tolerance": 0.02, "accepted": [ENTRY]}
    assert script["allowed"]("help", here, {"tolerance": 0.02}) == pytest.approx(1.122)
    assert script["allowed"]("list", here, {}) == pytest.approx(1.02)
    assert script["allowed"]("help", here, {"accepted": [ENTRY]}) == pytest.approx(1.02)


@pytest.mark.parametrize(("here", "verdict"), [(1021, "slower"), (1019, ""), (981, ""), (979, "faster")])
def test_what_is_slower_and_what_is_faster(script: dict[str, Any], here: int, verdict: str) -> None:
    change = script["Change"]("help", 1000, here, 1.02)
    assert change.verdict == verdict
    assert f"{here / 10 - 100:+.2f}%" in script["table"]([change])


def test_a_forked_process_has_the_count_of_its_parent_in_its_own(script: dict[str, Any]) -> None:
    lines = [
        "==12== I   refs:      2,119,097,893",
        "==11== I refs:  824,243,772",
        "==10== I refs:  895,611,707",
    ]
    assert script["heaviest"]("\n".join(lines)) == 2_119_097_893


counting = pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind on this machine")


@pytest.mark.campaign("benchmarks")
@counting
def test_a_kernel_s_own_process_is_always_counted(script: dict[str, Any], root: Path) -> None:
    rows = next(command for command in script["commands"](script["read"](root)) if command.name == "rows")
    first, second = (script["count"](rows, root) for _ in range(2))
    assert first == pytest.approx(second, rel=1e-3)


@pytest.fixture(scope="module")
def clone(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources in a repository of their own, as one commit."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("harness", "plugins", "reports", ".ci", "pyproject.toml"):
        if (root / name).is_dir():
            shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(root / name, folder)
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "one")):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


@pytest.mark.campaign("benchmarks")
@counting
@pytest.mark.parametrize(
    ("command", "path", "rounds"),
    [
        ("help", "harness/trnbench/program.py", 800_000),
        ("stream", "plugins/trnbench_emulator/commands/nki/__init__.py", 6_000_000),
        ("spec", "harness/trnbench/facts/units.py", 6_000_000),
    ],
)
def test_a_slowdown_that_is_planted_fails_by_name(clone: Path, command: str, path: str, rounds: int) -> None:
    module = clone / path
    text = module.read_text()
    module.write_text(f"{text}\nfor _round in range({rounds}):\n    pass\n")
    try:
        done = subprocess.run(
            [sys.executable, clone / ".ci" / "instructions", "--against", "HEAD", command],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        module.write_text(text)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"more instructions than at HEAD: {command}" in done.stderr
