"""JSON, CSV and Markdown: the same results for machines and for tickets."""

from __future__ import annotations

import csv
import io
import json
import re

import msgspec
import pytest

import trnbench
from trnbench import Band, BestPublished, Format, Grade, Nearest, Nearness, Run, Status
from trnbench.results.measurement import ProcessSamples, Stability
from trnbench.results.stability import interval_of
from trnbench_reports import plugin
from trnbench_reports.formats import csv as csv_format
from trnbench_reports.formats import markdown
from trnbench_reports.sections import cases, scoreboard

FORMATS = {each.name: each for each in plugin.trnbench_reports() if isinstance(each, Format)}


def test_the_formats_resolve() -> None:
    endings = {"html": ".html", "json": ".json", "csv": ".csv", "markdown": ".md"}
    assert {each.name: each.suffix for each in FORMATS.values() if not each.part} == {
        **endings,
        "arrow": ".arrow",
        "pytest-benchmark": ".pytest-benchmark.json",
        "nccl-tests": ".nccl-tests.txt",
        "openmetrics": ".prom",
        "parquet": ".parquet",
        "junit": ".junit.xml",
    }
    assert all(callable(trnbench.resolve(each.write)) for each in FORMATS.values())


def test_json_is_the_run(run: Run) -> None:
    write = trnbench.resolve(FORMATS["json"].write)
    assert trnbench.loads(write([run])) == run
    assert [each["id"] for each in json.loads(write([run, run]))] == [run.id, run.id]


def rows(run: Run) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_format.write([run]).decode("utf-8"), newline="")))


def test_csv_says_how_near_evidence_is(run: Run) -> None:
    """The class in every row, intervals beside the metric that they speak of, none without a band."""
    best = BestPublished(
        id="t9-best", metric="x", value=7.0, unit="FLOP/s", source="somewhere", kind=Nearness.KERNEL
    )
    band = Band(low=-0.1, high=0.2, votes=9, points=9)
    nearest = {
        "gemm": Nearest(kind=Nearness.KERNEL, band=band, best=best, note="band of the shipped model"),
        "hbm_copy": Nearest(kind=Nearness.ELSEWHERE, note="nothing of this family is published of trn2"),
    }
    replace = msgspec.structs.replace
    marked = replace(
        run,
        measurements=tuple(
            replace(each, evidence=replace(each.evidence, nearest=nearest.get(each.case.kernel)))
            for each in run.measurements
            if each.time_s is not None and each.metrics and each.evidence.grade is Grade.EMULATED
        ),
    )
    found = rows(marked)
    seen = set()
    for row in found:
        interval = (row["expected_low"], row["expected_high"])
        times = (row["expected_time_low_s"], row["expected_time_high_s"])
        seen.add((row["kernel"], row["nearness"]))
        if row["kernel"] == "gemm":
            assert row["nearness"] == "kernel"
            assert float(times[0]) < float(row["time_s"]) < float(times[1])
            primary = row["primary"] == "true"
            assert all(interval) is primary
            assert row["best_published_id"] == ("t9-best" if primary else "")
            assert row["nearness_note"] == "band of the shipped model"
        else:
            elsewhere = row["kernel"] == "hbm_copy"
            assert row["nearness"] == ("elsewhere" if elsewhere else "nearness not recorded")
            assert not any((*interval, *times, row["best_published"]))
    assert {("gemm", "kernel"), ("hbm_copy", "elsewhere")} <= seen


def test_csv_has_a_row_for_each_metric(run: Run) -> None:
    found = rows(run)
    assert len(found) == sum(max(1, len(each.metrics)) for each in run.measurements)
    assert set(found[0]) == set(csv_format.COLUMNS)


def test_csv_numbers_keep_every_digit_and_say_what_they_are(run: Run) -> None:
    case = next(each for each in run.measurements if each.judgement is not None)
    metric = case.metrics[case.primary]
    row = next(r for r in rows(run) if r["instance"] == case.case.instance and r["metric"] == metric.name)
    assert float(row["value"]) == metric.value
    assert float(row["fraction_of_peak"]) == case.judgement.fraction
    assert (row["unit"], row["evidence"], row["metric_scope"]) == (metric.unit, "emulated", str(metric.scope))
    assert row["peak_source"] == case.judgement.peaks.chosen.source
    assert row["primary"] == "true"


def test_csv_failed_and_skipped_cases_say_why(run: Run) -> None:
    by_status = {row["status"]: row for row in rows(run)}
    assert by_status["failed"]["reason"] == "the worker ended with signal 11"
    assert by_status["failed"]["value"] == ""
    assert "INT8" in {row["reason"] for row in rows(run) if row["status"] == "skipped"}.__str__()


def test_csv_words_never_become_formulas(run: Run) -> None:
    case = run.measurements[0]
    sly = msgspec.structs.replace(case, case=msgspec.structs.replace(case.case, kernel="=HYPERLINK(1)"))
    found = rows(msgspec.structs.replace(run, measurements=(sly,)))
    assert {row["kernel"] for row in found} == {"'=HYPERLINK(1)"}


def test_markdown_leads_with_evidence(run: Run) -> None:
    text = markdown.write([run]).decode("utf-8")
    sentences = [line for line in text.splitlines() if line.startswith("- ")]
    lines = trnbench.headline(run).said
    shown = [re.sub(r"\\(.)", r"\1", line.removeprefix("- ")) for line in sentences]
    assert shown[: len(lines)] == [said.text for _, said in lines]
    assert all(": model " in each for each in shown[: len(lines)])
    assert shown[-1].startswith("Emulated: computed by a model ")
    assert sentences[len(lines)] == "- trn1.2xlarge: **1 SUSPECT, 1 FAILED**"


def test_markdown_board_has_a_row_for_each_kernel_and_system_apart(run: Run) -> None:
    text = markdown.write([run]).decode("utf-8")
    table = [line for line in text.splitlines() if line.startswith("| ")]
    kernels = {each.case.kernel for each in run.measurements}
    assert {line.split(" ")[1].replace("\\", "") for line in table[1:]} == kernels
    assert {line.count("|") for line in table} == {2 + len(run.books)}
    # The fabrics of two systems of one generation differ.
    assert any(("all\\_reduce" in line and "u\\-trn2x64" in line) or "u-trn2x64" in line for line in table)


def test_markdown_words_stay_words(hostile: Run) -> None:
    text = markdown.write([hostile]).decode("utf-8")
    assert "<script>" not in text
    table = [line.replace("\\|", "") for line in text.splitlines() if line.startswith("| ")]
    assert len({line.count("|") for line in table}) == 1


def test_every_format_says_how_steady_a_measured_number_is(run: Run) -> None:
    chosen = next(each for each in run.measurements if each.status is Status.OK and each.judgement)
    times = (0.98, 1.0, 1.02)
    assert chosen.time_s is not None
    processes = tuple(ProcessSamples(samples=(t * chosen.time_s,), time_s=t * chosen.time_s) for t in times)
    steady = msgspec.structs.replace(
        chosen, processes=processes, interval=interval_of(processes), stability=Stability(verdict="stable")
    )
    unsure = msgspec.structs.replace(
        steady,
        case=msgspec.structs.replace(chosen.case, kernel="unsure"),
        status=Status.INCONCLUSIVE,
        reason_text="3 processes agree to ±40.0% only",
        stability=Stability(verdict="unstable", why="3 processes agree to ±40.0% only"),
    )
    shown = msgspec.structs.replace(run, measurements=(steady, unsure))
    told = rows(shown)
    assert {(row["processes"], row["stability"]) for row in told} == {("3", "stable"), ("3", "unstable")}
    low, high = (float(told[0][f"interval_{end}_s"]) for end in ("low", "high"))
    assert (high - low) / 2 / chosen.time_s == pytest.approx(0.02 * 4.3027 / 3**0.5, rel=1e-3)
    drawn = scoreboard.render([shown]) + cases.render([shown])
    page = re.sub(r"\s+", " ", str(drawn).replace("\u00a0", " "))
    assert "±5.0 %" in page
    assert "Inconclusive: not steady enough to judge" in page
    assert "3 processes agree to ±40.0% only" in page
    text = markdown.write([shown]).decode().replace("\u00a0", " ")
    assert "±5.0 %" in text
    assert "inconclusive" in text
