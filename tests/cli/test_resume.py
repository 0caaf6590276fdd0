"""`trnbench resume` as a person meets it: what it says before it works, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tiny_machine as tiny
from click.testing import Result
from command import refusal, typed
from stored_run import make_run

from trnbench.store.store import Store

MODES = ("half", "above", "low", "slightly")


def invoke(*arguments: str, modes: tuple[str, ...] = MODES, **changes: Any) -> Result:
    return typed(*arguments, registry=tiny.registry(*modes, **changes))


def begun(*words: str) -> str:
    """A run that stops after its second case; its id."""
    done = invoke("run", "--no-report", "--maxfail", "1", "--format", "json", *words)
    assert json.loads(done.stdout)["cases"] == 2, done.stderr
    return str(json.loads(done.stdout)["run"])


def test_what_is_left_is_carried_out_and_the_whole_is_reported(tmp_path: Path) -> None:
    run = begun()
    done = invoke("resume", "--format", "json", "--force")
    assert done.exit_code == 1, done.stderr  # one case is suspect
    assert done.stderr.splitlines()[0] == f"emulated: run {run} goes on with 2 of 4 cases"
    found = json.loads(done.stdout)
    assert (found["run"], found["cases"], found["report"]) == (run, 4, "trnbench-report.html")
    assert (tmp_path / "trnbench-report.html").read_bytes().endswith(f"<p>{run}: 4".encode())
    assert [row["state"] for row in json.loads(invoke("runs", "list", "--format", "json").stdout)] == ["done"]


def test_without_a_store_there_is_nothing_to_resume(tmp_path: Path) -> None:
    assert refusal(invoke("resume")) == (
        f"error: there are no stored runs yet: {tmp_path / 'results.db'} does not exist\n"
        "  cause: nothing was run with this store, or --store or TRNBENCH_STORE points elsewhere\n"
        "  try:   trnbench run\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_report_that_cannot_be_written_is_met_before_the_work(tmp_path: Path) -> None:
    begun()
    (tmp_path / "notes.html").write_text("precious")
    done = invoke("resume", "-o", "notes.html")
    assert done.stderr.startswith("error: notes.html exists and is no report of trnbench\n")
    with Store() as store:
        assert store.list()[0].cases == 2


def test_a_run_of_several_ranks_says_why_not() -> None:
    run = msgspec.structs.replace(make_run(), measurements=(), finished="", digest="")
    with Store() as store:
        store.record(run, planned=5, executor="ranks").journal.close()
    assert refusal(invoke("resume")) == (
        f"error: run {run.id} cannot be resumed: several ranks measured every case of it together\n"
        "  cause: rank 0 alone has the journal, and the others would not know which cases are left\n"
        "  try:   the same command on all ranks again, as a new run; what was done stays in this one\n"
    )


def test_facts_of_ones_own_are_those_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "my.toml"
    tiny.own_facts(own, "150")
    run = begun("--facts", "my.toml", "--peak", "latest")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    tiny.own_facts(own, "151")
    assert refusal(invoke("resume", "--no-report")) == (
        f"error: run {run} cannot be resumed as it began\n"
        "  cause: facts of tiny differs\n"
        "  try:   undo that, or: --anyway  goes on with what is here, and the run notes it\n"
    )
    own.rename(elsewhere / "moved.toml")
    assert (str(own)) in refusal(invoke("resume", "--no-report"))
    tiny.own_facts(elsewhere / "moved.toml", "150")
    assert invoke("resume", "--no-report", "--facts", "moved.toml").exit_code in (0, 1)
    with Store(tmp_path / "results.db") as store:
        found = store.load(run)
    assert [each.judgement.peaks.chosen.value for each in found.measurements if each.judgement] == [150e9] * 4
    assert found.notes == ()
