"""Mistakes of `trnbench run` are met before the work, and what fails behind it costs no run."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import tiny_machine as tiny
from click.testing import CliRunner, Result

from trnbench.cli.context import Session
from trnbench.cli.main import cli
from trnbench.store.store import Store


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRNBENCH_STORE", str(tmp_path / "results.db"))


def invoke(*arguments: str, modes: tuple[str, ...] = ("half", "low"), **changes: Any) -> Result:
    shared = Session()
    shared.registry = tiny.registry(*modes, **changes)
    return CliRunner().invoke(cli, list(arguments), obj=shared, prog_name="trnbench")


class Untouched(tiny.Actor):
    def observe(self, case: Any, system: Any) -> Any:
        raise AssertionError("nothing may run before everything is known to be writable")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ("-o", "no/where/r.html"),
            "error: cannot write no/where/r.html: the folder no/where does not exist\n"
            "  cause: -o names a folder that is missing or misspelt\n"
            "  try:   mkdir -p no/where\n",
        ),
        (
            ("-o", "notes.txt"),
            "error: notes.txt exists and is no report of trnbench\n"
            "  cause: it is not overwritten, in case it is needed\n"
            "  try:   --force  overwrites it; or name another file with -o\n",
        ),
        (
            ("-o", "."),
            "error: cannot write .: it is a folder\n"
            "  cause: -o takes the name of a file\n"
            "  try:   -o trnbench-report.html\n",
        ),
        (
            ("-o", "r.json"),
            "error: r.json does not look like an HTML report\n"
            "  cause: the report is one HTML file, whatever its name, and this one ends in .json\n"
            "  try:   trnbench export RUN --as json -o r.json\n",
        ),
        (
            ("-o", "-"),
            "error: the report cannot go to stdout here\n"
            "  cause: stdout carries the summary of the run\n"
            "  try:   trnbench run --no-report, then: trnbench report -o -\n",
        ),
        (
            ("--backend", "emulatd"),
            "error: unknown backend 'emulatd'\n"
            "  cause: did you mean emulated?\n"
            "  try:   trnbench list backends\n",
        ),
        (
            ("--label", "latest"),
            "error: 'latest' cannot be a tag\n"
            "  cause: a tag is 1 to 100 printable characters, without blanks around it, and not "
            "'latest' or 'latest~1'\n"
            "  try:   nightly\n",
        ),
        (
            ("--jobs", "-3"),
            "error: --jobs '-3' is no number of processes\n"
            "  cause: it counts processes, 0 for as many as pay off, 0 to 4,096\n"
            "  try:   --jobs 1\n",
        ),
    ],
)
def test_mistakes_are_met_before_the_work(arguments: tuple[str, ...], text: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("precious")
    done = invoke("run", *arguments, backend=Untouched())
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", text)
    assert (tmp_path / "notes.txt").read_text() == "precious"
    assert not (tmp_path / "results.db").exists()


def test_a_store_that_is_something_else_is_met_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "results.db").write_text("precious " * 100)
    done = invoke("run", backend=Untouched())
    assert done.exit_code == 2
    assert (
        f"error: {tmp_path / 'results.db'} is not a store of trnbench: it is no SQLite database"
        in done.stderr
    )
    assert not (tmp_path / "trnbench-report.html").exists()


def test_a_backend_that_cannot_run_here_says_what_is_missing() -> None:
    from trnbench import Detection

    class Absent(tiny.Actor):
        def detect(self) -> Detection:
            return Detection(available=False, why="no /dev/neuron0", try_="run on a Trn1 instance")

    done = invoke("run", backend=Absent())
    assert (done.exit_code, done.stderr) == (
        2,
        "error: backend 'emulated' cannot run here\n"
        "  cause: no /dev/neuron0\n"
        "  try:   run on a Trn1 instance\n",
    )


def test_without_an_html_writer_it_is_said_before_the_work() -> None:
    class NoPages(tiny.Tiny):
        trnbench_reports = None  # type: ignore[assignment]

    from trnbench.registry import Registry

    shared = Session()
    shared.registry = Registry.of(tiny=NoPages(backend=Untouched()))
    done = CliRunner().invoke(cli, ["run"], obj=shared, prog_name="trnbench")
    assert (done.exit_code, done.stderr) == (
        2,
        "error: no plugin here writes HTML reports\n"
        "  cause: the reports were left out with --no-plugin, or failed to load: trnbench plugin list\n"
        "  try:   --no-report  keeps the run; trnbench report writes the page later\n",
    )


def test_an_earlier_report_is_replaced_and_other_files_with_force(tmp_path: Path) -> None:
    assert invoke("run").exit_code == 0
    assert invoke("run").exit_code == 0
    (tmp_path / "mine.html").write_text("<!doctype html><p>my own page")
    assert invoke("run", "-o", "mine.html").exit_code == 2
    assert invoke("run", "-o", "mine.html", "--force").exit_code == 0
    assert b"trnbench" in (tmp_path / "mine.html").read_bytes()


def test_a_report_that_fails_does_not_cost_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiny, "page", tiny.broken_page)
    done = invoke("run")
    (stored,) = Store(tmp_path / "results.db").list()
    assert done.exit_code == 3
    assert f"run    {stored.id}" in done.stdout
    assert "trnbench-report.html" not in done.stdout
    assert done.stderr.endswith(
        f"error: format 'html' cannot write {stored.id}: ZeroDivisionError: no page today\n"
        "  cause: a bug in tiny_machine:page; the runs are safe in the store\n"
        "  try:   trnbench export RUN --as json\n"
    )
    assert not (tmp_path / "trnbench-report.html").exists()


def test_a_run_that_the_store_does_not_take_is_in_its_journal(tmp_path: Path) -> None:
    invoke("run")
    path = tmp_path / "results.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        done = invoke("run", "--format", "json")
        other.execute("ROLLBACK")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert (
        f"warning: the store {path} is locked; run {found['run']} is kept in its journal\n"
        "  try:   wait for it to end, or name another file with --store; the next command then fills the "
        "store\n"
    ) in done.stderr
    assert (tmp_path / "trnbench-report.html").exists()
    shown = json.loads(invoke("runs", "list", "--format", "json").stdout)
    assert [(row["run"], row["cases"], row["state"]) for row in shown][1:] == [(found["run"], 2, "done")]
