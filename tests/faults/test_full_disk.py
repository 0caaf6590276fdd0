"""A disk that is full at some byte, for the store and for the working folder, and a file system that is."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from forks import Answer, Forks

from trnbench.store.journal import LAST_WORDS
from trnbench.store.store import Store

MODES = ["half", "low", "above", "slightly", "unsupported", "nap"]


@pytest.fixture(scope="module")
def undisturbed(forks: Forks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a complete run, exported too."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert forks(folder, "run", "--no-report", modes=MODES).code == 1
    assert forks(folder, "export", "-o", "run.json").code == 0
    return folder


def outcomes(folder: Path) -> list[tuple[str, str, float | None]]:
    """The cases of the latest run, which has to be complete."""
    with Store(folder / "r.db") as store:
        run = store.load()
    assert run.finished
    assert not run.interrupted
    return [(each.id, str(each.status), each.time_s) for each in run.measurements]


def check_told(answer: Answer) -> None:
    """One message and code 2: nothing blames itself."""
    assert answer.code == 2, answer.stderr
    assert answer.stderr.count("error: ") == 1
    assert "Traceback" not in answer.stderr
    assert "internal error" not in answer.stderr


@pytest.mark.parametrize("share", [-1.0, 0.1, 0.7, 0.75, 0.8])
def test_the_run_stops_and_says_what_is_kept(
    forks: Forks, tmp_path: Path, undisturbed: Path, share: float
) -> None:
    """Room for this share of the journal, and for the record of its end."""
    (journal,) = (undisturbed / "r.db.journals").iterdir()
    room = LAST_WORDS + round(share * journal.stat().st_size)
    done = forks(tmp_path, "run", "--no-report", "--format", "json", modes=MODES, room=room)
    check_told(done)
    with Store(tmp_path / "r.db") as store:
        listed = store.list()
    assert bool(listed) == (share > 0.5)
    if not listed:  # not even the first record fitted, and no case was carried out
        assert done.stdout == ""
        assert "cannot grow: File too large" in done.stderr or "cannot keep a journal" in done.stderr
        return
    (one,) = listed
    path = tmp_path / "r.db.journals" / f"{one.id}.journal"
    assert done.stderr.splitlines()[-3:] == [
        f"error: run {one.id} was stopped, {one.cases} of {len(MODES)} cases are kept: "
        f"the journal {path} cannot grow: File too large",
        "  cause: the disk is full, or a limit on the size of files or on this user's share is reached",
        f"  try:   make room there, then: trnbench resume {one.id}",
    ]
    assert one.cases < len(MODES)
    if one.cases:
        check_shown(forks, tmp_path, one.cases)
    again = forks(tmp_path, "resume", "--no-report", modes=MODES)
    assert again.code == 1, again.stderr
    assert outcomes(tmp_path) == outcomes(undisturbed)


def check_shown(forks: Forks, folder: Path, kept: int) -> None:
    """Whatever shows the run says that cases are missing from it."""
    missing = len(MODES) - kept
    how = f"interrupted, {missing} {'case is' if missing == 1 else 'cases are'} missing"
    ((row),) = json.loads(forks(folder, "runs", "list", "--format", "json").stdout)
    assert (row["state"], row["cases_text"]) == ("interrupted", f"{kept} of {len(MODES)}")
    for words in (
        ("runs", "show"),
        ("report", "-o", "shown.html"),
        ("export", "--as", "json", "-o", "shown.json"),
        ("compare", "latest", "latest"),
        ("history",),
    ):
        shown = forks(folder, *words, modes=MODES)
        assert shown.code == 0, shown.stderr
        assert how in shown.stderr, words
    refused = forks(folder, "gate", "accept", "latest", "--why", "known", "-o", "b.json")
    assert (refused.code, how in refused.stderr) == (2, True)
    # An export says so where it is imported, and a merged store.
    for words in (("import", "shown.json"), ("store", "merge", "r.db")):
        other = {"TRNBENCH_STORE": str(folder / f"{words[0]}.db")}
        assert forks(folder, *words, env=other).code == 0
        assert how in forks(folder, "runs", "show", "latest", env=other).stderr


def test_a_store_that_cannot_grow_costs_no_case(forks: Forks, tmp_path: Path, undisturbed: Path) -> None:
    """The database meets its limit in the middle of the run; the journal, with room of its own, goes on."""
    forks(tmp_path, "run", "--no-report", modes=MODES)
    with closing(sqlite3.connect(tmp_path / "r.db")) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
    limit = [["full_store", "limit_pages", pages]]
    warning = f"warning: the store {tmp_path / 'r.db'} cannot grow: database or disk is full; run "
    done, runs = forks(tmp_path, "run", "--no-report", modes=MODES, before=limit), 2
    while warning not in done.stderr and runs < 9:  # until what is free of its last page is taken
        assert done.code == 1, done.stderr
        done, runs = forks(tmp_path, "run", "--no-report", modes=MODES, before=limit), runs + 1
    assert (done.code, warning in done.stderr) == (1, True), done.stderr
    listed = json.loads(forks(tmp_path, "runs", "list", "--format", "json", before=limit).stdout)
    assert [(row["state"], row["cases"]) for row in listed] == [("done", len(MODES))] * runs
    assert outcomes(tmp_path) == outcomes(undisturbed)


NO_PART = {"before": [["full_disk", "forbid_parts"]]}
SMALL = {"room": 40_000}
"""Less than a database takes, more than SQLite's shared memory."""


@pytest.mark.parametrize(
    ("words", "full"),
    [
        (("report",), NO_PART),
        (("export", "-o", "out.json"), NO_PART),
        (("store", "backup", "copy.db"), SMALL),
        (("import", "run.json"), SMALL),
    ],
    ids=["report", "export", "backup", "import"],
)
def test_what_does_not_fit_is_said_and_leaves_nothing(
    forks: Forks, tmp_path: Path, undisturbed: Path, words: tuple[str, ...], full: dict[str, Any]
) -> None:
    folder = tmp_path / "work"
    shutil.copytree(undisturbed, folder)
    env = {"TRNBENCH_STORE": str(folder / ("other.db" if words[0] == "import" else "r.db"))}
    before = visible(folder)
    check_told(forks(folder, *words, modes=MODES, env=env, **full))
    assert visible(folder) - {"other.db"} == before
    done = forks(folder, *words, modes=MODES, env=env)
    assert done.code == 0, done.stderr
    assert outcomes(folder) == outcomes(undisturbed)


def visible(folder: Path) -> set[str]:
    """The files of a folder without those that SQLite has beside an open database."""
    return {each.name for each in folder.iterdir() if not each.name.endswith(("-wal", "-shm"))}


def test_a_report_that_does_not_fit_costs_the_report_alone(forks: Forks, tmp_path: Path) -> None:
    """The run before it is kept, and said to be."""
    done = forks(tmp_path, "run", "--format", "json", modes=MODES, before=[["full_disk", "forbid_parts"]])
    check_told(done)
    with Store(tmp_path / "r.db") as store:
        (one,) = store.list()
    assert (one.cases, one.state) == (len(MODES), "done")
    assert not (tmp_path / "trnbench-report.html").exists()
    assert not list(tmp_path.glob(".*.part"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of 2 MiB, in memory."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "trnbench-test", str(folder)],
        capture_output=True,
        text=True,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_file_system_that_fills_up_while_runs_are_kept(
    forks: Forks, small_disk: Path, undisturbed: Path
) -> None:
    """Until one does not fit: every one before it is whole, and it goes on when there is room."""
    for _ in range(100):
        done = forks(small_disk, "run", "--no-report", modes=MODES)
        if done.code != 1 or "warning: the store" in done.stderr:
            break
    else:
        raise AssertionError("the disk never filled up")
    listed = forks(small_disk, "runs", "list", "--format", "json")
    assert listed.code == 0, listed.stderr
    *whole, last = json.loads(listed.stdout)
    assert len(whole) > 1
    assert {(row["state"], row["cases"]) for row in whole} == {("done", len(MODES))}
    for row in whole[:2]:
        assert forks(small_disk, "runs", "delete", row["run"], "--yes").code == 0
    if last["state"] != "done" or last["cases"] < len(MODES):  # its end may fit where a case does not
        again = forks(small_disk, "resume", "--no-report", modes=MODES)
        assert again.code == 1, again.stderr
    assert outcomes(small_disk) == outcomes(undisturbed)
    assert forks(small_disk, "store", "check").code == 0
