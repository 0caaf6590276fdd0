"""Runs out of files: ours, journals, and what plugins read; nothing is stored of what cannot be read."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny_machine as tiny
from click.testing import Result
from command import refusal, typed
from own_folder import _own_folder  # noqa: F401  (for every test)
from stored_run import make_run, text_of

import trnbench
from trnbench import Importer, Run
from trnbench.errors import MissingFile, PluginError, UnknownName
from trnbench.registry import Registry
from trnbench.results.json import dumps, write
from trnbench.results.run import EDITED
from trnbench.run.importing import find_importer, read_given, read_runs
from trnbench.store.store import Store


class WithImporters(tiny.Tiny):
    @trnbench.hookimpl
    def trnbench_importers(self) -> Iterator[Importer]:
        for name in ("times", "twice", "nothing", "badly"):
            yield Importer(name=name, title=f"reads {name}", read=f"tiny_importers:read_{name}")


@pytest.fixture(scope="module")
def run() -> Run:
    return make_run()


def invoke(*arguments: str, **more: Any) -> Result:
    return typed(*arguments, registry=Registry.of(tiny=WithImporters()), **more)


def stored(ref: str = "latest") -> Run:
    with Store() as store:
        return store.load(ref)


def test_an_export_comes_back(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(dumps(run))
    done = invoke("import", "run.json", "--label", "theirs")
    assert (done.exit_code, done.stdout) == (0, f"{run.id}\n"), done.stderr
    assert done.stderr == f"1 run with 5 cases put into {tmp_path / 'results.db'}\n"
    assert stored("theirs") == run
    assert invoke("store", "check").exit_code == 0


def test_several_runs_in_several_files_and_from_standard_input(run: Run, tmp_path: Path) -> None:
    others = [make_run(), make_run()]
    (tmp_path / "two.json").write_bytes(write(others))
    done = invoke("import", "two.json", "-", input=dumps(run))
    assert done.stdout.split() == [*(each.id for each in others), run.id]
    assert [stored(each.id) for each in (*others, run)] == [*others, run]


def test_a_closed_standard_input_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert text_of(MissingFile, read_given, None) == (
        "there is no standard input\n"
        "  cause: it is closed, as in a job of cron\n"
        "  try:   name a file in the place of -"
    )


def test_a_run_of_one_case_is_counted_so(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(dumps(make_run(measurements=run.measurements[:1], digest="")))
    assert "1 run with 1 case put into" in invoke("import", "run.json").stderr


def test_all_or_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_bytes(dumps(run))
    (tmp_path / "again.json").write_bytes(write([make_run(), run]))
    assert invoke("import", "one.json").exit_code == 0
    assert refusal(invoke("import", "again.json")).startswith(
        f"error: run {run.id} is in {tmp_path / 'results.db'} already\n"
    )
    with Store() as store:
        assert [each.id for each in store.list()] == [run.id]


def test_a_run_that_was_edited_is_refused_unless_anyway(run: Run, tmp_path: Path) -> None:
    edited = json.loads(dumps(run))
    edited["measurements"][0]["time_s"] = 1e-9
    (tmp_path / "run.json").write_text(json.dumps(edited))
    assert refusal(invoke("import", "run.json")) == (
        "error: run.json was edited: its digest belongs to another content\n"
        "  cause: a figure or a word in it was changed after the run had ended\n"
        "  try:   --anyway  keeps it as it is; its digest goes on saying so\n"
    )
    assert invoke("import", "run.json", "--anyway").exit_code == 0
    kept = stored()
    assert (kept.measurements[0].time_s, kept.notes[-1]) == (1e-9, EDITED)
    assert f"note: {EDITED}" in invoke("runs", "show", "latest").stderr
    assert invoke("run", "--no-report").exit_code == 1
    for words in (["gate", "latest", "--against", run.id], ["gate", "accept", run.id, "--why", "as it is"]):
        assert refusal(invoke(*words)).startswith(f"error: run {run.id} was edited by hand: a gate neither ")
    checked = invoke("store", "check", "--format", "json")
    assert checked.exit_code == 1
    assert [each["problem"] for each in json.loads(checked.stdout)] == [
        "its digest belongs to another content: it was edited after it had ended"
    ]


def test_a_journal_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    assert invoke("run", "--no-report").exit_code == 1
    run = stored()
    path = tmp_path / "results.db.journals" / f"{run.id}.journal"
    whole = path.read_bytes()
    assert read_runs(find_importer(Registry.of()), whole, "it") == (run,)
    (cut,) = read_runs(find_importer(Registry.of()), whole[: len(whole) - 3], "it")
    assert (cut.interrupted, cut.finished, cut.measurements) == (True, "", run.measurements)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "f.json is not JSON: "),
        (b"3", "f.json is not a trnbench result: "),
        (b"{}", "f.json has no usable schema_version (found None)"),
        (b'{"schema_version": 99}', "f.json is written in result schema 99; "),
        (b"trnbench journal 1\nbegin 3 xx\n", "f.json holds no run"),
        (b"[]", "f.json holds no run"),
    ],
)
def test_what_is_no_run_is_said(data: bytes, text: str, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_bytes(data)
    assert refusal(invoke("import", "f.json")).startswith(f"error: {text}")
    assert not (tmp_path / "results.db").exists()


def test_plugins_read_other_formats(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("0.5")
    done = invoke("import", "--from", "times", "t.txt")
    assert (done.exit_code, done.stdout) == (0, "times-0.5\n"), done.stderr
    assert stored().measurements[0].time_s == 0.5
    assert "error: run times-0.5 is in " in invoke("import", "--from", "twice", "t.txt").stderr
    (tmp_path / "t.txt").write_text("0.7")
    assert invoke("import", "--from", "twice", "t.txt").stdout.split() == ["times-0.7", "times-20.7"]
    (tmp_path / "t.txt").write_text("soon")
    assert invoke("import", "--from", "times", "t.txt").stderr == (
        "error: t.txt: this is no time\n  cause: it is no number\n  try:   0.5\n"
    )


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("nothing", "returned NoneType, not a run or a sequence of runs"),
        ("badly", "failed: ZeroDivisionError: no reading today"),
    ],
)
def test_a_reader_that_fails_is_blamed(name: str, what: str) -> None:
    importer = find_importer(Registry.of(tiny=WithImporters()), name)
    assert text_of(PluginError, read_runs, importer, b"0.5", "t.txt").startswith(
        f"importer {name!r} cannot read t.txt: {what}\n  cause: a bug in "
    )


def test_importers_are_listed_and_a_name_that_is_none_is_said() -> None:
    rows = json.loads(invoke("list", "importers", "--format", "json").stdout)
    assert [row["importer"] for row in rows] == ["times", "twice", "nothing", "badly", "trnbench"]
    with pytest.raises(UnknownName):
        find_importer(Registry.of(tiny=WithImporters()), "time")
