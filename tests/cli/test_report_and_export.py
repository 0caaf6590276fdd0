"""`trnbench report` and `trnbench export`: from the store alone, whole files or none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import tiny_machine as tiny
from click.testing import Result
from command import refusal, typed

from trnbench import Run, loads
from trnbench.store.store import Store


@pytest.fixture
def run(tmp_path: Path) -> Run:
    with Store(tmp_path / "results.db") as store:
        made = tiny.carried_out("half", "crash", store=store)
        store.save(msgspec.structs.replace(made, id="another"))
    return made


def invoke(*arguments: str) -> Result:
    return typed(*arguments, registry=tiny.registry())


def test_a_report_of_several_runs_prints_its_path(run: Run, tmp_path: Path) -> None:
    done = invoke("report", run.id, "another", run.id, "-o", "r.html")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "r.html\n", "")
    assert (tmp_path / "r.html").read_text() == (
        f"<!doctype html><title>trnbench</title><p>{run.id}: 2<p>another: 2"
    )


def test_the_latest_run_is_the_default(run: Run, tmp_path: Path) -> None:
    assert invoke("report").stdout == "trnbench-report.html\n"
    assert "another: 2" in (tmp_path / "trnbench-report.html").read_text()
    assert invoke("report", "-o", "-").stdout.startswith("<!doctype html>")


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("command", ["report", "export --as json"])
def test_a_pipe_is_not_read_first(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trnbench.run.output_file.READER_S", 0.05)
    os.mkfifo("pipe")
    assert refusal(invoke(*command.split(), "-o", "pipe")).startswith("error: cannot write pipe: nobody")


def test_json_comes_back_as_it_went(run: Run) -> None:
    done = invoke("export", run.id)
    assert loads(done.stdout_bytes) == run
    assert loads(invoke("export", run.id, "--as", "json", "-o", "/dev/stdout").stdout_bytes) == run
    several = invoke("export", run.id, "another", "--as", "json")
    assert [each["id"] for each in json.loads(several.stdout)] == [run.id, "another"]


def test_a_name_says_the_format(run: Run, tmp_path: Path) -> None:
    assert invoke("export", run.id, "-o", "r.JSON").stdout == "r.JSON\n"
    assert loads((tmp_path / "r.JSON").read_bytes()) == run
    assert invoke("export", "-o", "r.html").exit_code == 0
    assert (tmp_path / "r.html").read_bytes().startswith(b"<!doctype html>")
    assert refusal(invoke("export", "-o", "r.xyz")) == (
        "error: the name 'r.xyz' does not say which format it is to have\n"
        "  cause: known endings: .broken, .html, .json\n"
        "  try:   -o r.json, or --as FORMAT\n"
    )


def test_a_format_that_raises_is_the_plugins_fault_and_leaves_no_file(run: Run, tmp_path: Path) -> None:
    assert refusal(invoke("export", run.id, "--as", "broken", "-o", "r.broken"), 3) == (
        f"error: format 'broken' cannot write {run.id}: ZeroDivisionError: no page today\n"
        "  cause: a bug in tiny_machine:broken_page; the runs are safe in the store\n"
        "  try:   trnbench export RUN --as json\n"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.db", "results.db.journals"]


def test_the_schema_needs_no_run(tmp_path: Path) -> None:
    done = invoke("export", "--as", "schema")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["title"] == "trnbench run"
    assert invoke("export", "--as", "schema", "-o", "schema.json").stdout == "schema.json\n"
    assert json.loads((tmp_path / "schema.json").read_text()) == json.loads(done.stdout)


def test_an_export_does_not_replace_without_force(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text("precious")
    assert refusal(invoke("export", "-o", "data.json")) == (
        "error: data.json exists and is no report of trnbench\n"
        "  cause: it is not overwritten, in case it is needed\n"
        "  try:   --force  overwrites it; or name another file with -o\n"
    )
    assert (tmp_path / "data.json").read_text() == "precious"
    assert invoke("export", "-o", "data.json", "--force").exit_code == 0


def test_without_any_plugin_a_run_can_still_be_taken_out(run: Run) -> None:
    from trnbench.registry import Registry

    done = typed("export", run.id, registry=Registry.of())
    assert loads(done.stdout_bytes) == run


def test_a_closed_pipe_is_no_error(run: Run) -> None:
    command = f"{sys.executable} -m trnbench --store results.db export {run.id} | head -c 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{", b"")
