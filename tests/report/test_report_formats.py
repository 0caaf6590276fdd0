"""Formats for people and for other tools: each file is opened by the tool that it is for."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from statistics import median
from xml.etree import ElementTree

import msgspec
import pytest
from headline_parts import best_published, changed, having, kept, near
from junit_schema import valid
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from stored_run import make_run as make_tiny

import trnbench
from trnbench import Format, Grade, Nearness, Run, Status, bench, write_junit
from trnbench.errors import NothingSelected, UsageError
from trnbench.results.measurement import ProcessSamples, Stability
from trnbench.results.stability import interval_of
from trnbench_reports import trnbench_reports
from trnbench_reports.formats import csv as csv_format
from trnbench_reports.formats import markdown, nccl_tests, openmetrics, pytest_benchmark
from trnbench_reports.sections import cases, scoreboard

FORMATS = {each.name: each for each in trnbench_reports() if isinstance(each, Format)}


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
    best = best_published(Nearness.KERNEL, id="t9-best")
    nearest = {
        "gemm": near(Nearness.KERNEL, best=best, note="band of the shipped model"),
        "hbm_copy": near(Nearness.ELSEWHERE, note="nothing of this family is published of trn2"),
    }
    replace = msgspec.structs.replace
    marked = changed(
        kept(
            run,
            lambda each: each.time_s is not None and each.metrics and each.evidence.grade is Grade.EMULATED,
        ),
        lambda each: replace(each, evidence=replace(each.evidence, nearest=nearest.get(each.case.kernel))),
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


# Runs as other tools read them: each file is opened by the tool that it is for.


@pytest.fixture(scope="module")
def sampled(run: Run) -> Run:
    """With samples, as a measured run has them."""
    few = msgspec.structs.replace(run, measurements=run.measurements[:40])
    return changed(
        kept(few, lambda each: each.time_s is not None),
        lambda each: having(samples=tuple(each.time_s * share for share in (1.0, 0.9, 1.2, 1.05)))(each),
    )


def compare(*words: str, folder: Path) -> str:
    """`pytest-benchmark compare` in a folder without a conftest of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest_benchmark", "compare", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_pytest_benchmark_compares_two_runs(sampled: Run, tmp_path: Path) -> None:
    slower = changed(
        sampled,
        lambda each: msgspec.structs.replace(each, samples=tuple(2 * sample for sample in each.samples)),
    )
    (tmp_path / "a.json").write_bytes(pytest_benchmark.write([sampled]))
    (tmp_path / "b.json").write_bytes(pytest_benchmark.write([slower]))
    told = compare(
        "a.json", "b.json", "--group-by=fullname", "--columns=min,median", "--csv=out", folder=tmp_path
    )
    assert sampled.measurements[0].id in told
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text())))
    assert len(rows) == 2 * len(sampled.measurements)
    medians = sorted(float(row["median"]) for row in rows)
    expected = [median(each.samples) for each in sampled.measurements]
    assert medians == pytest.approx(sorted([*expected, *(2 * each for each in expected)]))


def test_statistics_are_those_of_the_samples(sampled: Run) -> None:
    document = json.loads(pytest_benchmark.write([sampled]))
    first, each = document["benchmarks"][0], sampled.measurements[0]
    assert (first["fullname"], first["name"], first["group"]) == (
        each.id,
        each.case.fullname,
        each.case.kernel,
    )
    assert first["stats"]["data"] == list(each.samples)
    assert first["stats"]["median"] == pytest.approx(1.025 * each.time_s)
    assert (first["stats"]["rounds"], first["stats"]["iterations"]) == (4, 1)
    assert first["extra_info"]["value"] == each.metrics[each.primary].value


def test_a_case_without_samples_has_one_round(run: Run) -> None:
    timed = [each for each in run.measurements if each.time_s]
    document = json.loads(pytest_benchmark.write([run]))
    assert len(document["benchmarks"]) == len(timed)
    bare = msgspec.structs.replace(timed[0], samples=())
    document = json.loads(pytest_benchmark.write([msgspec.structs.replace(run, measurements=(bare,))]))
    stats = document["benchmarks"][0]["stats"]
    assert (stats["rounds"], stats["median"], stats["stddev"]) == (1, timed[0].time_s, 0)


def test_several_runs_and_no_time_are_refused(run: Run) -> None:
    with pytest.raises(UsageError, match="a file of pytest-benchmark holds one run, not 2"):
        pytest_benchmark.write([run, run])
    skipped = msgspec.structs.replace(run.measurements[0], time_s=None, status=Status.SKIPPED, metrics={})
    with pytest.raises(NothingSelected, match=f"runs show {run.id}$") as refused:
        pytest_benchmark.write([msgspec.structs.replace(run, measurements=(skipped,))])
    assert str(refused.value).startswith("no case of this run has a time")


def test_openmetrics_is_what_prometheus_reads(run: Run) -> None:
    found = {each.name: each for each in text_string_to_metric_families(openmetrics.write([run]).decode())}
    assert found["trnbench_run"].type == "info"
    times = {
        (
            sample.labels["instance_type"],
            sample.labels["kernel"],
            sample.labels["point"],
            sample.labels["scope"],
        ): sample.value
        for sample in found["trnbench_time_seconds"].samples
    }
    assert found["trnbench_time_seconds"].unit == "seconds"
    for each in run.measurements:
        point = ",".join(f"{name}={value}" for name, value in each.case.point.items())
        key = (each.case.instance, each.case.kernel, point, str(each.case.scope))
        assert times.get(key) == each.time_s
    assert found["trnbench_flops_per_second"].unit == "flops_per_second"
    counts = {sample.labels["status"]: sample.value for sample in found["trnbench_cases"].samples}
    assert counts == {str(status): count for status, count in run.counts().items()}


def test_openmetrics_of_several_runs_and_of_hostile_words() -> None:
    first, second = make_tiny(), make_tiny(backend='a"b\\c\nd')
    text = openmetrics.write([first, second]).decode()
    found = {each.name: each for each in text_string_to_metric_families(text)}
    assert {sample.labels["run"] for sample in found["trnbench_time_seconds"].samples} == {
        first.id,
        second.id,
    }
    assert {sample.labels["backend"] for sample in found["trnbench_run"].samples} == {
        first.backend,
        second.backend,
    }
    assert openmetrics.write([]) == b"# EOF\n"


ROW = re.compile(r"^ +(\d+) +(\d+) +(\S+) +(\S+) +(-?\d+) +([\d.]+) +([\d.]+) +([\d.]+) +(\S+)")


@pytest.fixture(scope="module")
def collectives() -> Run:
    return bench(["all_reduce", "all_gather"], instances=["trn2-16.48xlarge"], axes=["size=64K,1M"])


def test_junit_tells_a_ci_server_what_failed_and_what_was_left_out() -> None:
    run = make_tiny()
    hostile = msgspec.structs.replace(
        run.measurements[0], status=Status.SUSPECT, reason_text="x\x00\x1b]]>&<b>'\"\n"
    )
    run = msgspec.structs.replace(run, measurements=(*run.measurements, hostile))
    top = ElementTree.fromstring(write_junit([run, run]))
    valid(top)
    assert [each.attrib["name"] for each in top] == [f"trnbench run {run.id}"] * 2
    told = {name: top[0].attrib[name] for name in ("tests", "failures", "errors", "skipped")}
    assert told == {"tests": "6", "failures": "2", "errors": "1", "skipped": "1"}
    (crash,) = top[0].findall("testcase/error")
    assert crash.attrib["type"] == "crash"
    (skipped,) = top[0].findall("testcase/skipped")
    assert skipped.attrib["message"].startswith("skipped: ")
    assert top[0].findall("testcase/failure")[-1].attrib["message"] == "x\ufffd\ufffd]]>&<b>'\"\n"


@pytest.mark.parts
def test_the_table_of_nccl_tests(collectives: Run) -> None:
    """By the columns that its parsers look for: NVIDIA/nccl-tests, src/common.cu and verifiable output."""
    run = collectives
    text = nccl_tests.write([run]).decode()
    rows = [match for line in text.splitlines() if (match := ROW.match(line))]
    timed = [each for each in run.measurements if "busbw_bytes_per_s" in each.metrics and each.time_s]
    assert len(rows) == len(timed) > 3
    assert text.count("# Avg bus bandwidth    : ") == text.count("#wrong") == 2
    first = min(
        (each for each in timed if each.case.kernel == timed[0].case.kernel
         and each.case.instance == timed[0].case.instance and each.case.scope == timed[0].case.scope),
        key=lambda each: each.work["payload_bytes"],
    )  # fmt: skip
    assert int(rows[0][1]) == first.work["payload_bytes"]
    assert float(rows[0][6]) == pytest.approx(first.time_s * 1e6, rel=1e-2)
    assert float(rows[0][8]) == pytest.approx(first.metrics["busbw_bytes_per_s"].value / 1e9, abs=0.006)
    assert rows[0][9] == "N/A"


def test_a_run_without_a_collective_is_refused() -> None:
    with pytest.raises(NothingSelected, match="no case of these runs is a collective with a time"):
        nccl_tests.write([make_tiny()])
