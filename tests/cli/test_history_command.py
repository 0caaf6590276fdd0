"""`trnbench history` as people and programs read it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paired_runs
import pytest
from click.testing import Result
from command import listed, refusal, typed
from run_history import case_id, measurement, run

from trnbench.store.store import Store


@pytest.fixture
def store(_own_folder: None) -> Iterator[Store]:
    with Store() as opened:
        yield opened


def invoke(*arguments: str, **more: Any) -> Result:
    return typed("history", *arguments, **more)


def save(store: Store, values: list[float]) -> None:
    store.save(*[run(day, [measurement(value)]) for day, value in enumerate(values)])


VALUES = [1.0, 1.01, 0.99, 1.0, 0.5, 0.51, 0.49, 0.5]


def test_a_case_with_its_runs_and_its_step(store: Store) -> None:
    save(store, VALUES)
    done = invoke(case_id())
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert " ".join(lines[0].split()) == "case evidence runs trend latest last step first run after it"
    assert lines[2].split() == f"{case_id()} measured 8 ████▁▁▁▁ 500 ms −50.0 %, faster day-0004".split()
    assert lines[3] == "measured, host, latency_s, Wombat 7, 8 CPUs, 64 GiB"
    point = "day-0004 2026-01-05T00:00:00+00:00 0000000000 ok 500 ms −50.0 %, faster"
    assert lines[10].split() == point.split()
    step = f"{case_id()} day-0004 0000000000 → 0000000000 faster −50.0 % 1 s 500 ms –"
    assert lines[-1].split() == step.split()


def test_json_and_csv_have_every_point(store: Store) -> None:
    save(store, VALUES)
    (found,) = json.loads(invoke("--format", "json").stdout)
    assert (found["case"], found["better"], found["machine"]) == (
        case_id(),
        "lower",
        "Wombat 7, 8 CPUs, 64 GiB",
    )
    assert [point["value"] for point in found["points"]] == VALUES
    assert found["points"][3]["commit"] == f"{3:040x}"
    (step,) = found["steps"]
    assert (step["first_run"], step["last_run_before"], step["worse"]) == ("day-0004", "day-0003", False)
    assert (step["before"], step["after"], step["change"]) == (1.0, 0.5, -0.5)
    rows = list(csv.DictReader(io.StringIO(invoke("--format", "csv").stdout)))
    assert [float(row["value"]) for row in rows] == VALUES
    assert [row["step"] for row in rows if row["step"]] == ["−50.0 %, faster"]
    assert {row["dirty"] for row in rows} == {"false"}
    assert invoke("--format", "md").stdout.startswith("| case | evidence | runs |")


def test_only_cases_with_a_step(store: Store) -> None:
    save(store, [1.0] * 8)
    done = invoke("--steps")
    told = "no step in 1 line: no level changed from one run to a later one; without --steps all are shown\n"
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", told)
    assert invoke(case_id(), "--steps").stderr == told
    assert invoke("--steps", "--label", "night").stderr.startswith("no run with the tag night has a value")
    store.delete([each.id for each in store.list()])
    save(store, VALUES)
    assert case_id() in invoke("--steps").stdout


def test_the_page_is_one_file_with_one_script_of_its_own(store: Store, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    steady = measurement(2.0, number=1)
    store.save(
        *[run(day, [measurement(value), steady], tool_version=hostile) for day, value in enumerate(VALUES)]
    )
    done = invoke("-o", "history.html")
    assert (done.exit_code, done.stdout) == (0, "history.html\n"), done.stderr
    text = (tmp_path / "history.html").read_text()
    text, script, rest = re.split(r"(<script>.*</script>)", text, flags=re.DOTALL)
    assert "<script" not in text + rest
    assert hostile not in script
    assert "&lt;script&gt;alert(1)" in text
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy[1].startswith("default-src &#39;none&#39;; img-src data:; style-src &#39;sha256-")
    assert policy[1].count("script-src &#39;sha256-") == 1
    assert "http" not in text.replace("http-equiv", "")
    assert "−50.0\u00a0%, faster" in text
    assert (text + rest).count("<h1>") == 1
    assert text.count('<svg class="spark"') == 2
    assert text.count('<path class="better"') + text.count('<path class="worse"') == 1
    rows = re.findall(r'<th scope="row" class="prose"><a href="#s\d+">([^<]+)</a>', text)
    assert rows == [case_id(), case_id(1)]  # what moved is first
    assert "2 lines, 1 with a step, the largest first" in text
    assert invoke("-o", "history.html").exit_code == 0  # its own page is replaced
    assert invoke("-o", "-").stdout.startswith("<!DOCTYPE html>")
    (tmp_path / "notes.html").write_text("mine")
    assert invoke("-o", "notes.html").exit_code == 2


@pytest.mark.parametrize("gap", [1, 3])
def test_the_page_marks_where_a_case_was_missing(store: Store, tmp_path: Path, gap: int) -> None:
    """A run without the case is none of its points: it lies behind the one before, or behind all."""
    days = [
        [measurement(1.0, number=number) for number in (0, 1) if (day, number) != (gap, 1)]
        for day in range(4)
    ]
    store.save(*[run(day, cases) for day, cases in enumerate(days)])
    done = invoke(case_id(1), "-o", "page.html")
    assert done.exit_code == 0, done.stderr
    (spark,) = re.findall(r'<svg class="spark".*?</svg>', (tmp_path / "page.html").read_text())
    marks = re.findall(r'<path class="(worse|other)" d="M([\d.]+) ', spark)
    assert marks == ([("worse", "2.0"), ("other", "38.5")] if gap == 1 else [("worse", "148.0")])


def test_a_name_that_is_no_pages(store: Store) -> None:
    save(store, VALUES)
    assert refusal(invoke("-o", "h.json")) == (
        "error: h.json does not look like an HTML page\n"
        "  cause: -o writes one HTML file, whatever its name, and this one ends in .json\n"
        "  try:   trnbench history --format json > h.json\n"
    )
    for suffix in ("svg", "png", "pdf", "txt"):
        assert refusal(invoke("-o", f"h.{suffix}")).endswith("  try:   -o h.html\n")


def test_without_the_reports_the_page_is_refused(store: Store) -> None:
    save(store, VALUES)
    assert ("error: no plugin here writes the page of trnbench history\n") in refusal(
        typed("--no-plugin", "reports", "history", "-o", "h.html")
    )


@pytest.mark.parametrize("measured_runs", [False, True])
def test_a_step_names_the_cause_that_compare_names(store: Store, measured_runs: bool) -> None:
    """Emulated values and, by their processes, measured ones of two runs alone."""
    key = paired_runs.case()
    texts = ["A = 1\n", "A = 2\n"]
    for at, text in enumerate(texts):
        time_s, by = 1.0 + at, "nki: pkg.kernel:kernel"
        one = paired_runs.emulated(key, time_s, implementation=by)
        if measured_runs:
            medians = [time_s, time_s * 1.001, time_s * 0.999]
            one = paired_runs.measured(
                key, medians, metrics=one.metrics, primary=one.primary, implementation=by
            )
        created = f"2026-11-2{at}T12:00:00+00:00"
        store.save(paired_runs.run_of(one, id=f"r{at}", created=created, inputs={"pkg/kernel.py": text}))
    (step,) = json.loads(invoke("--format", "json").stdout)[0]["steps"]
    (change,) = listed("compare", "r0", "r1")["changes"]
    assert (step["verdict"], step["causes"]) == (change["verdict"], change["causes"])
    assert step["causes"] == ["pkg/kernel.py:1 is 'A = 2', was 'A = 1'"]


@pytest.mark.parametrize(("count", "steps"), [(3, ["r2"]), (5, ["r4"]), (6, [])])
def test_up_to_five_measured_runs_have_the_steps_between_neighbours(
    store: Store, count: int, steps: list[str]
) -> None:
    """The latest alone is twice as slow: of six runs that may be chance, since a level has three."""
    key = paired_runs.case()
    for at in range(count):
        time_s = 1.0 + (at == count - 1)
        medians = [time_s, time_s * 1.001, time_s * 0.999]
        metrics = paired_runs.emulated(key, time_s).metrics
        one = paired_runs.measured(key, medians, metrics=metrics, primary="flops_per_s")
        store.save(paired_runs.run_of(one, id=f"r{at}", created=f"2026-11-2{at}T12:00:00+00:00"))
    (series,) = json.loads(invoke("--format", "json").stdout)
    assert [step["first_run"] for step in series["steps"]] == steps


def test_a_step_between_two_kinds_of_rank_says_so(store: Store) -> None:
    """A case of one name, of a version in which its ranks were others."""
    other = paired_runs.case("other")
    for at, rank in enumerate(("device", "logical-core")):
        one = paired_runs.emulated(paired_runs.case("exchange"), 1.0 + at, detail={"rank": rank})
        cases = (one, paired_runs.emulated(other, 1.0)) if at else (one,)
        created = f"2026-11-2{at}T12:00:00+00:00"
        store.save(paired_runs.run_of(*cases, id=f"r{at}", created=created))
    (step,) = json.loads(invoke("exchange", "--format", "json").stdout)[0]["steps"]
    assert (step["verdict"], step["worse"]) == ("cannot be told", False)
    assert step["causes"] == ["other kind of rank: device and logical-core"]
    assert "other kind of rank: device and logical-core" in typed("compare", "r0", "r1").stderr
