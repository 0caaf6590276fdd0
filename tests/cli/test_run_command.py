"""`trnbench run` as a person meets it: what is printed where, what is written, how it ends."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import tiny_machine as tiny
from click.testing import Result
from command import refusal, typed
from msgspec.structs import replace

from trnbench import Detection
from trnbench.facts.fact import Scope
from trnbench.store.store import RunSummary, Store
from trnbench.terminal.outcome import none_ran


def invoke(*arguments: str, modes: tuple[str, ...] = ("half", "low"), **changes: Any) -> Result:
    return typed(*arguments, registry=tiny.registry(*modes, **changes))


def stored() -> RunSummary:
    """The only run of the store."""
    with Store() as store:
        (found,) = store.list()
    return found


def test_a_run_is_kept_reported_and_summed_up(tmp_path: Path) -> None:
    done = invoke("run", modes=("half", "low", "unsupported"))
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "mode         status             ms  expect  GFLOPS    share  ev",
        "half         ok               10.5       –      95   50.0 %  E",
        "low          document-low     5.13       –     195  102.6 %  E",
        "unsupported  skipped       skipped       –       –        –  –",
        "act, bf16, one core, on tiny.2.",
    ]
    assert [line for line in done.stderr.splitlines() if "by " not in line] == [
        "no time: the actor refuses",
        f"run {stored().id} in {tmp_path / 'results.db'}, report trnbench-report.html",
    ]
    assert (tmp_path / "trnbench-report.html").read_bytes() == (
        f"<!doctype html><title>trnbench</title><p>{stored().id}: 3".encode()
    )


def test_json_is_one_object_and_nothing_else(tmp_path: Path) -> None:
    done = invoke("run", "--format", "json", "--no-report", modes=("half", "above"))
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    (line,) = found.pop("headline")["lines"]
    results = [(row["mode"], row["status"]) for row in found.pop("results")]
    assert results == [("half", "ok"), ("above", "suspect")]
    assert line["text"].startswith("tiny.2, one core, bf16 act: model ")
    counts = {"ok": 1, "document-low": 0, "inconclusive": 0, "suspect": 1, "failed": 0, "skipped": 0}
    assert found == {
        "run": stored().id,
        "store": str(tmp_path / "results.db"),
        "report": None,
        "evidence": "emulated",
        "backend": "emulated",
        "cases": 2,
        "counts": counts,
        "nearness": {"none": 2},
        "systems": [{"instance": "tiny.2", "cases": 2, **counts}],
        "interrupted": False,
        "exit_code": 1,
    }


def test_csv_is_one_row_for_each_case() -> None:
    head, row, _ = invoke("run", "--format", "csv").stdout.splitlines()
    assert head == (
        "system,kernel,dtype,mode,scope,status,time_s,expected_low_s,expected_high_s,rate,unit,metric,share,"
        "best_published,best_published_at,best_published_id,evidence,nearness,reason"
    )
    assert row.startswith("tiny.2,act,bf16,half,core,ok,0.0105")


def test_columns_of_csv_stand_in_their_places_whichever_case_is_first() -> None:
    both = invoke("run", "--format", "csv", modes=("half",), scopes=(Scope.CORE, Scope.DEVICE)).stdout
    assert both.startswith("system,kernel,dtype,mode,scope,division,status,time_s,")


def test_many_cases_are_counted_with_a_sentence_for_each_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trnbench.terminal.outcome.MOST", 0)
    assert invoke("run", "--no-report").stdout.splitlines() == [
        "instance  cases  ok  document-low  inconclusive  suspect  failed  skipped",
        "--------  -----  --  ------------  ------------  -------  ------  -------",
        "tiny.2        2   1             1             0        0       0        0",
        "all           2   1             1             0        0       0        0",
        "nearest evidence  cases",
        "----------------  -----",
        "none                  2",
        "",
        "- Tiny-device: act 195 of 190 GFLOPS (model alone, no band).",
        "- Emulated: computed by a model (actor 1), not run on the device.",
    ]


def test_many_cases_of_one_kernel_end_with_those_of_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trnbench.terminal.outcome.MOST", 1)
    done = invoke("run", "--no-report", modes=("half",), scopes=(Scope.CORE, Scope.DEVICE))
    _, row, sentence = done.stdout.splitlines()
    assert row.split()[0] == "tiny.2"
    assert sentence == "act, bf16, mode half, one device, replicated."
    assert "2 cases: 2 ok; --dtype and --scope choose others" in done.stderr


@pytest.mark.parametrize("bad", ["above", "wrong"])
def test_what_went_wrong_is_never_behind_a_short_answer(bad: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trnbench.terminal.outcome.MOST", 3)
    done = invoke("run", "--no-report", "-q", modes=("half", bad), scopes=(Scope.CORE, Scope.DEVICE))
    assert done.exit_code == 1
    assert done.stdout.splitlines()[0].split()[0] == "instance"
    assert re.search(r"- tiny\.2: \d (suspect|failed)", done.stdout)


def test_very_many_cases_are_all_counted_and_a_sample_is_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("trnbench.terminal.outcome.MOST", 1)
    monkeypatch.setattr("trnbench.terminal.execution.SAMPLE", 2)
    modes = ("half", "low", "above", "half", "half", "half", "unsupported")
    whole = invoke("run", modes=modes)
    monkeypatch.setattr("trnbench.run.progress.MANY", 6)
    sampled = invoke("run", modes=modes)
    assert sampled.stdout.splitlines()[:7] == whole.stdout.splitlines()[:7]
    with Store() as store:
        one, other = (store.load(each.id) for each in store.list())
    assert [each.time_s for each in one.measurements] == [each.time_s for each in other.measurements]
    assert (tmp_path / "trnbench-report.html").read_text().endswith(": 2")
    assert len(invoke("run", "--no-report", "--format", "csv", modes=modes).stdout.splitlines()) == 8


@pytest.mark.parametrize(
    ("modes", "code"),
    [
        (("half", "low", "unsupported"), 0),
        (("half", "above"), 1),
        (("half", "wrong"), 1),
        (("above", "crash"), 3),
        (("above", "memory", "half"), 3),
        (("unsupported", "huge"), 5),
        (("unsupported", "half"), 0),
    ],
)
def test_exit_codes(modes: tuple[str, ...], code: int) -> None:
    assert invoke("run", "--no-report", modes=modes).exit_code == code


def test_what_has_no_time_takes_one_line() -> None:
    done = invoke("run", "--no-report", modes=("half", "unsupported", "huge"))
    reasons = [line for line in done.stderr.splitlines() if line.startswith("no time")]
    assert reasons == ["no time: the actor refuses; needs 9 devices, tiny.2 has 2"]


def test_a_run_that_skipped_everything_says_why() -> None:
    done = invoke("run", "--no-report", modes=("unsupported", "huge"), scopes=(Scope.CORE, Scope.DEVICE))
    assert done.exit_code == 5
    assert done.stderr.splitlines()[1:] == [
        "error: all 4 selected cases were skipped",
        "  cause: 2 × the actor refuses; 2 × needs 9 devices, tiny.2 has 2",
        f"  try:   trnbench runs show {stored().id}   says why, case by case; "
        "trnbench info act   where it runs",
    ]
    quiet = invoke("run", "--no-report", "-q", "--format", "json", modes=("huge",))
    assert json.loads(quiet.stdout)["exit_code"] == quiet.exit_code == 5
    assert quiet.stderr.startswith(
        "error: the one selected case was skipped\n  cause: needs 9 devices, tiny.2 has 2\n"
    )
    shown = invoke("runs", "show", "latest", "--status", "skipped")
    assert shown.exit_code == 0
    assert invoke("report", "latest").exit_code == 0


@pytest.mark.parametrize(("reasons", "more"), [(5, ""), (6, "; 1 more reason"), (12, "; 7 more reasons")])
def test_five_reasons_are_told(reasons: int, more: str) -> None:
    run = tiny.carried_out("unsupported")
    (skipped,) = run.measurements
    cases = tuple(replace(skipped, reason_text=f"reason {number}") for number in range(reasons))
    error = none_ran(replace(run, measurements=cases))
    assert error is not None
    assert error.cause == "; ".join(f"1 × reason {number}" for number in range(5)) + more


@pytest.mark.parts
def test_the_installed_command_exits_5_when_all_is_skipped(tmp_path: Path) -> None:
    asked = ["gemm_int8", "-i", "trn1.2xlarge", "--no-report"]
    command = [sys.executable, "-m", "trnbench", "run", *asked]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False)
    assert done.returncode == 5
    assert done.stdout.startswith("  size  scope   division  outcome\n")
    assert (
        "error: all 4 selected cases were skipped\n"
        "  cause: 4 × no public NKI instruction multiplies INT8 matrices: nc_matmul takes floating-point "
        "operands only\n"
    ) in done.stderr
    command[4:5] = ["gemm_int8", "gemm", "-a", "size=1024", "--dtype", "bf16", "--scope", "core"]
    some = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False)
    assert (some.returncode, "error" in some.stderr) == (0, False)


def test_a_time_limit_has_its_code() -> None:
    assert invoke("run", "--no-report", "--timeout", "0.2", modes=("hang", "above")).exit_code == 124


def test_failures_are_named_on_stderr_and_silenced_by_q() -> None:
    done = invoke("run", "--no-report", modes=("crash",))
    assert "failed: tiny.2::act[dtype=bf16,mode=crash]@core: ZeroDivisionError" in done.stderr
    quiet = invoke("-q", "run", "--no-report", modes=("crash",))
    assert quiet.stderr == ""
    assert quiet.exit_code == 3
    behind = invoke("run", "-q", "--no-report", modes=("crash",))
    assert (behind.stderr, behind.exit_code) == ("", 3)


def test_nothing_is_written_but_store_and_report(tmp_path: Path) -> None:
    invoke("run")
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == [
        f"{stored().id}.journal",
        "results.db",
        "results.db.cache",
        "trnbench-report.html",
    ]


def test_the_first_of_several_ranks_writes_the_page_where_it_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PMI_RANK", "0")
    monkeypatch.setenv("PMI_SIZE", "2")
    assert invoke("run", "-o", "first.html").exit_code == 0
    assert [path.name for path in tmp_path.glob("*.html")] == ["first.html"]


def test_dry_run_lists_and_runs_nothing(tmp_path: Path) -> None:
    done = invoke("run", "--dry-run", "--format", "json", modes=("half", "huge", "crash"))
    assert done.exit_code == 0
    assert [(row["case"], row["planned"], row["reason"]) for row in json.loads(done.stdout)] == [
        ("act[dtype=bf16,mode=half]@core", "run", ""),
        ("act[dtype=bf16,mode=huge]@core", "skip", "needs 9 devices, tiny.2 has 2"),
        ("act[dtype=bf16,mode=crash]@core", "run", ""),
    ]
    assert list(tmp_path.iterdir()) == []


def test_options_reach_the_run(tmp_path: Path) -> None:
    done = invoke(
        "run", "act", "-a", "mode=half,low", "--peak", "engine", "--seed", "5", "--label", "nightly",
        "--label", "v1", "--maxfail", "3", "-o", "other.html",
    )  # fmt: skip
    assert done.exit_code == 0
    with Store() as store:
        run = store.load("nightly")
    assert stored().tags == ("nightly", "v1")
    assert str(run.policy) == "engine"
    assert {str(each.judgement.peaks.policy) for each in run.measurements if each.judgement} == {"engine"}
    assert run.settings["seed"] == 5
    assert run.settings["maxfail"] == 3
    assert run.settings["selection"]["kernels"] == ["act"]
    assert run.settings["selection"]["axes"] == ["mode=half,low"]
    assert (tmp_path / "other.html").exists()


def test_settings_hold_where_nothing_is_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("TIMEOUT_S", "30"), ("MAXFAIL", "2"), ("SEED", "7")):
        monkeypatch.setenv(f"TRNBENCH_{name}", value)
    assert invoke("run", "act", "-a", "mode=half", "--maxfail", "4").exit_code == 0
    with Store() as store:
        kept = store.load("latest").settings
    assert (kept["timeout_s"], kept["maxfail"], kept["seed"]) == (30.0, 4, 7)


def test_facts_of_ones_own_go_beside_the_plugins(tmp_path: Path) -> None:
    own = tmp_path / "my.toml"
    tiny.own_facts(own, "150")
    done = invoke("run", "--facts", str(own), "--peak", "latest", "--no-report", modes=("half",))
    assert done.exit_code == 0, done.stderr
    with Store() as store:
        run = store.load()
    judged = run.measurements[0].judgement
    assert judged.peaks.chosen.value == 150e9
    assert "mine" in run.books["tiny"].sources
    missing = invoke("run", "--facts", "nowhere.toml", "--no-report")
    assert missing.exit_code == 2
    assert missing.stderr.startswith("error: ")
    assert "nowhere.toml" in missing.stderr


def test_the_configuration_stands_behind_the_options(tmp_path: Path) -> None:
    (tmp_path / "trnbench.toml").write_text(
        'policy = "engine"\naxes = ["mode=half"]\n[preset.wide]\naxes = ["mode=low"]\n'
    )
    invoke("run", "--no-report")
    invoke("run", "--no-report", "-a", "mode=half,low")
    invoke("run", "--no-report", "--preset", "wide")
    with Store() as store:
        runs = [store.load(each.id) for each in store.list()]
    assert [[each.case.point["mode"] for each in run.measurements] for run in runs] == [
        ["half"],
        ["half", "low"],
        ["low"],
    ]
    assert {str(run.policy) for run in runs} == {"engine"}


# Mistakes are met before the work, and what fails behind it costs no run.


class Untouched(tiny.Actor):
    def observe(self, case: Any, system: Any) -> Any:
        raise AssertionError("nothing may run before everything is known to be writable")


def test_a_store_that_is_something_else_is_met_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "results.db").write_text("precious " * 100)
    said = refusal(invoke("run", backend=Untouched()))
    assert f"error: {tmp_path / 'results.db'} is not a store of trnbench: it is no SQLite database" in said
    assert "nothing may run" not in said
    assert not (tmp_path / "trnbench-report.html").exists()


def test_a_backend_that_cannot_run_here_says_what_is_missing() -> None:
    class Absent(tiny.Actor):
        def detect(self) -> Detection:
            return Detection(available=False, why="no /dev/neuron0", try_="run on a Trn1 instance")

    assert refusal(invoke("run", backend=Absent())) == (
        "error: backend 'emulated' cannot run here\n"
        "  cause: no /dev/neuron0\n"
        "  try:   run on a Trn1 instance\n"
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
    assert done.exit_code == 3
    assert f"run {stored().id} in " in done.stderr
    assert "trnbench-report.html" not in done.stdout
    assert done.stderr.endswith(
        f"error: format 'html' cannot write {stored().id}: ZeroDivisionError: no page today\n"
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
