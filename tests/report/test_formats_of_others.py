"""Runs as other tools read them: each file is opened by the tool that it is for."""

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
from junit_schema import valid
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from stored_run import make_run as make_tiny

from trnbench import Run, Status, bench, write_junit
from trnbench.errors import NothingSelected, UsageError
from trnbench_reports.formats import nccl_tests, openmetrics, pytest_benchmark


@pytest.fixture(scope="module")
def sampled(run: Run) -> Run:
    """With samples, as a measured run has them."""
    measured = [
        msgspec.structs.replace(each, samples=tuple(each.time_s * share for share in (1.0, 0.9, 1.2, 1.05)))
        for each in run.measurements[:40]
        if each.time_s is not None
    ]
    return msgspec.structs.replace(run, measurements=tuple(measured))


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
    slower = tuple(
        msgspec.structs.replace(each, samples=tuple(2 * sample for sample in each.samples))
        for each in sampled.measurements
    )
    (tmp_path / "a.json").write_bytes(pytest_benchmark.write([sampled]))
    (tmp_path / "b.json").write_bytes(
        pytest_benchmark.write([msgspec.structs.replace(sampled, measurements=slower)])
    )
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
    with pytest.raises(NothingSelected, match="no case of this run has a time"):
        pytest_benchmark.write([msgspec.structs.replace(run, measurements=(skipped,))])


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
    assert text_string_to_metric_families(openmetrics.write([]).decode()) is not None
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
