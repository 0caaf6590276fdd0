"""Killed at any step, on a full disk, under a lock: what was done is there, and the run goes on from it."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import tiny_machine as tiny
from stored_run import make_run

import trnbench
from trnbench.results.json import dumps
from trnbench.store.journal import LAST_WORDS
from trnbench.store.store import Store

SUPPORT = Path(tiny.__file__).parent
MODES = ("half", "low", "above", "slightly", "unsupported", "nap")

Program = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """`program("run", …)`: the command with the tiny plugin, in a folder and with a store of its own."""

    def start(*words: str, of: str = "tiny_machine", **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "PYTHONPATH": str(SUPPORT),
            "TRNBENCH_STORE": str(tmp_path / "r.db"),
            "TINY_MODES": ",".join(MODES),
            **variables,
        }
        return subprocess.run(
            [sys.executable, str(SUPPORT / f"{of}.py"), *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return start


def cases(path: Path) -> list[dict[str, Any]]:
    """The cases of the latest run, which has to be complete."""
    with Store(path) as store:
        run = store.load()
    assert run.finished
    assert not run.interrupted
    return [{"id": each.id, "status": str(each.status), "time_s": each.time_s} for each in run.measurements]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where an undisturbed run is kept."""
    folder = tmp_path_factory.mktemp("undisturbed")
    trnbench.bench(registry=tiny.registry(*MODES), store=folder / "r.db")
    return folder


@pytest.fixture(scope="module")
def undisturbed(folder: Path) -> list[dict[str, Any]]:
    return cases(folder / "r.db")


@pytest.mark.parametrize(
    "step",
    [
        "pwrite:1",  # the first line of the journal
        "pwrite:2",  # the run's head
        "pwrite:3",  # the facts
        "pwrite:5",  # the first case
        "pwrite:8",
        "pwrite:11",  # the end of the run
        "fdatasync:1",
        "commit:1",
        "commit:2",
        "commit:6",
        "commit:8",  # the end, in the store
        "ftruncate:1",
        "replace:1",  # the report
    ],
)
def test_killed_at_any_step_the_run_goes_on(
    program: Program, tmp_path: Path, step: str, undisturbed: list[dict[str, Any]]
) -> None:
    report = () if step.startswith("replace") else ("--no-report",)
    done = program("run", *report, of="killed", TINY_KILL=step)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with Store(tmp_path / "r.db") as store:
        kept = store.list()
    if not kept:  # nothing had begun: no case was carried out either
        assert step in ("pwrite:1", "pwrite:2", "pwrite:3", "fdatasync:1")
        (left,) = (tmp_path / "r.db.journals").iterdir()
        os.utime(left, (0, 0))
        assert program("run", "--no-report").returncode == 1
        assert not left.exists()
        return
    if kept[0].state == "unfinished":
        again = program("resume", "--no-report", "--format", "json")
        assert again.returncode == 1, again.stderr  # one case is suspect
        assert json.loads(again.stdout)["cases"] == len(MODES)
    assert cases(tmp_path / "r.db") == undisturbed
    assert program("store", "check").returncode == 0
    if not report:
        # Another report sweeps up what a killed one left half written.
        for left in tmp_path.glob(".*.part"):
            os.utime(left, (0, 0))
        assert program("report", "--force").returncode == 0
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


@pytest.mark.parametrize("step", ["pwrite:1", "pwrite:2", "commit:1", "commit:2", "replace:1"])
def test_a_resumed_run_that_is_killed_goes_on_as_well(
    program: Program, tmp_path: Path, step: str, undisturbed: list[dict[str, Any]]
) -> None:
    report = () if step.startswith("replace") else ("--no-report",)
    assert program("run", *report, of="killed", TINY_KILL="pwrite:7").returncode == -signal.SIGKILL
    assert program("resume", *report, of="killed", TINY_KILL=step).returncode == -signal.SIGKILL
    with Store(tmp_path / "r.db") as store:
        (one,) = store.list()
    if one.state == "unfinished":
        assert program("resume", "--no-report").returncode == 1
    assert cases(tmp_path / "r.db") == undisturbed


def test_a_killed_import_can_be_made_again(program: Program, tmp_path: Path) -> None:
    run = make_run()
    (tmp_path / "run.json").write_bytes(dumps(run))
    assert program("import", "run.json", of="killed", TINY_KILL="commit:1").returncode == -signal.SIGKILL
    done = program("import", "run.json")
    assert (done.returncode, done.stdout) == (0, f"{run.id}\n"), done.stderr
    with Store(tmp_path / "r.db") as store:
        assert store.load() == run


def test_a_killed_export_leaves_the_earlier_file(program: Program, tmp_path: Path) -> None:
    assert program("run", "--no-report").returncode == 1
    assert program("export", "-o", "run.json").returncode == 0
    before = (tmp_path / "run.json").read_bytes()
    killed = program("export", "-o", "run.json", "--force", of="killed", TINY_KILL="replace:1")
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "run.json").read_bytes() == before


@pytest.mark.parametrize("share", [-1.0, 0.1, 0.7, 0.75, 0.8])
def test_on_a_full_disk_the_run_stops_and_says_what_is_kept(
    program: Program, tmp_path: Path, share: float, folder: Path, undisturbed: list[dict[str, Any]]
) -> None:
    """Room for this share of the journal, and for the record of its end."""
    (journal,) = (folder / "r.db.journals").iterdir()
    room = LAST_WORDS + round(share * journal.stat().st_size)
    done = program("run", "--no-report", "--format", "json", of="full_disk", TINY_ROOM=str(room))
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    with Store(tmp_path / "r.db") as store:
        listed = store.list()
    assert bool(listed) == (share > 0.5)
    if not listed:  # not even the first record fitted, and no case was carried out
        assert done.stdout == ""
        assert "cannot grow: File too large" in done.stderr or "cannot keep a journal" in done.stderr
        return
    (one,) = listed
    journal = tmp_path / "r.db.journals" / f"{one.id}.journal"
    assert done.stderr.splitlines()[-3:] == [
        f"error: run {one.id} was stopped, {one.cases} of {len(MODES)} cases are kept: "
        f"the journal {journal} cannot grow: File too large",
        "  cause: the disk is full, or a limit on the size of files or on this user's share is reached",
        f"  try:   make room there, then: trnbench resume {one.id}",
    ]
    assert one.cases < len(MODES)
    again = program("resume", "--no-report")
    assert again.returncode == 1, again.stderr
    assert cases(tmp_path / "r.db") == undisturbed


def test_a_store_that_cannot_grow_costs_no_case(
    program: Program, tmp_path: Path, undisturbed: list[dict[str, Any]]
) -> None:
    """The database meets its limit in the middle of the run; the journal, with room of its own, goes on."""
    program("run", "--no-report")
    with closing(sqlite3.connect(tmp_path / "r.db")) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
    done = program("run", "--no-report", of="full_store", TINY_PAGES=str(pages))
    assert done.returncode == 1, done.stderr
    assert (
        f"warning: the store {tmp_path / 'r.db'} cannot grow: database or disk is full; run " in done.stderr
    )
    assert cases(tmp_path / "r.db") == undisturbed
