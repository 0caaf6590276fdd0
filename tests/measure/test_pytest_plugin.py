"""Inside pytest: kernels as benchmark tests, rates and evidence beside one's own times."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from pytest_apart import run

import trnbench

OWN = """
def work():
    return sum(range(2000))

def test_mine(trnbench_benchmark):
    assert trnbench_benchmark(work, flops=2e3, bytes=16e3) == 1999000

def test_peak(trnbench_benchmark):
    trnbench_benchmark(work, flops=2e3, dtype="fp32", instance="host")

def test_too_good(trnbench_benchmark):
    trnbench_benchmark(work, flops=1e18, dtype="fp32", instance="host")

def test_another_machine(trnbench_benchmark):
    trnbench_benchmark(work, flops=2e3, dtype="bf16", instance="trn1.2xlarge")
"""


@pytest.fixture(scope="module")
def benchmarks(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("own")
    (folder / "test_own.py").write_text(OWN)
    done = run(
        folder,
        "test_own.py",
        "--trnbench-instance=trn1.2xlarge",
        "--trnbench-kernel=hbm_copy",
        "--trnbench-kernel=gemm_int8",
        "--benchmark-json=out.json",
        "--benchmark-max-time=0.01",
        "--benchmark-min-rounds=3",
        "-rs",
    )
    told = json.loads((folder / "out.json").read_text())["benchmarks"]
    return done.stdout, {each["name"]: each for each in told}


@pytest.mark.parts
def test_rates_and_evidence_stand_beside_the_times(benchmarks: Any) -> None:
    _, found = benchmarks
    mine = found["test_mine"]
    median, info = mine["stats"]["median"], mine["extra_info"]
    assert info["flops_per_s"] == pytest.approx(2e3 / median)
    assert info["bytes_per_s"] == pytest.approx(16e3 / median)
    assert (info["evidence"], info["clock"]) == ("measured", "host")
    assert info["measured_on"]
    assert "percent_of_peak" not in info


@pytest.mark.parts
def test_a_peak_of_this_machine_is_a_percentage_or_said_to_be_unknown(benchmarks: Any) -> None:
    _, found = benchmarks
    info = found["test_peak"]["extra_info"]
    if "peak" in info:
        assert info["peak"] == "no figure of host for fp32 at scope instance"
        return
    assert info["percent_of_peak"] == pytest.approx(100 * info["flops_per_s"] / info["peak_flops"])
    good = found["test_too_good"]["extra_info"]
    assert {"status", "reason"} & info.keys() == set()
    assert (good["status"], good["reason"]) == (
        "suspect",
        "above the peak: work counted twice or left out, or not fp32 at instance",
    )
    assert info["peak_source"] == good["peak_source"] != ""


@pytest.mark.parts
def test_another_machines_peak_is_refused(benchmarks: Any) -> None:
    out, found = benchmarks
    assert "trn1.2xlarge is not this machine, so a time taken here says nothing of its peak" in out
    assert "test_another_machine" not in found


@pytest.mark.parts
def test_kernels_are_tests_with_modelled_times_that_say_so(benchmarks: Any) -> None:
    out, found = benchmarks
    copies = {name: each for name, each in found.items() if "hbm_copy" in name}
    assert "test_kernel[hbm_copy[size=65536]@core]" in copies
    modelled = trnbench.bench("hbm_copy", instances="trn1.2xlarge")
    cases = {f"test_kernel[{case.case.fullname}]": case for case in modelled.measurements}
    assert copies.keys() == cases.keys()
    for name, case in cases.items():
        each = copies[name]
        assert each["extra_info"] == {
            **{metric: value.value for metric, value in case.metrics.items() if metric != "latency_s"},
            "evidence": "emulated",
            "by": case.evidence.by,
            "clock": "model",
            "instance": "trn1.2xlarge",
            "status": "ok",
            "peak": case.judgement.peaks.chosen.value,
            "percent_of_peak": 100.0 * case.judgement.fraction,
        }
        assert each["stats"]["median"] == pytest.approx(case.time_s)
    assert "gemm_int8" not in "".join(found)
    assert "1 failed, 12 passed, 4 skipped" in out
    assert ": no public NKI instruction multiplies INT8 matrices: " in out


@pytest.mark.parts
def test_kernels_are_judged_where_benchmarks_are_switched_off(tmp_path: Path) -> None:
    words = ("--trnbench-instance=trn1.2xlarge", "--trnbench-kernel=hbm_copy", "--benchmark-disable")
    done = run(tmp_path, *words, "-k", "65536 and core", "-W", "error")
    assert re.search(r"^1 passed, \d+ deselected", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parts
def test_a_measured_kernel_has_a_process_of_its_own(tmp_path: Path) -> None:
    """A conftest that spoils pytest's process does not reach it; a crash there is one test's failure."""
    (tmp_path / "conftest.py").write_text(
        "import os\n"
        "import trnbench_host.stream as stream\n"
        "stream.copy = stream.scale = lambda *_: os._exit(9)\n"
    )
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if os.environ.get('SPOIL') and 'multiprocessing' in ' '.join(sys.orig_argv):\n"
        "    import trnbench_host.stream as stream\n"
        "    stream.copy = lambda *_: os.abort()\n"
    )
    kernels = ("--trnbench-instance=host", "--trnbench-kernel=stream_copy", "--trnbench-kernel=stream_scale")
    spoilt = {"SPOIL": "1", "PYTHONPATH": str(tmp_path)}
    words = ("-k", "262144 and core", "-rA", "--benchmark-json=out.json")
    done = run(tmp_path, *kernels, *words, more=spoilt)
    told = {
        word: line
        for line in done.stdout.splitlines()
        for word in ("stream_copy", "stream_scale")
        if word in line and line.startswith(("PASSED", "FAILED", "XFAIL"))
    }
    assert told["stream_copy"].startswith("FAILED"), done.stdout
    assert "killed by SIGABRT" in done.stdout
    # On a busy machine nothing is known of its time; but it was measured, and pytest's own process went on.
    well = told["stream_scale"]
    assert well.startswith("PASSED") or " - inconclusive: " in well or " - Failed: suspect" in well, well
    found = json.loads((tmp_path / "out.json").read_text())["benchmarks"]
    (scale,) = (each for each in found if "stream_scale" in each["name"])
    assert scale["extra_info"]["evidence"] == "measured"
    assert scale["stats"]["rounds"] > 1


@pytest.mark.campaign("documents")
def test_the_example_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    page = Path(__file__).parents[2].joinpath("docs", "measuring.md").read_text()
    shown = page.partition("## Inside pytest\n")[2].partition("The fixture is")[0]
    lines = [line[4:] for line in shown.splitlines() if line.startswith("    ")]
    commands = [line for line in lines if line.startswith("pytest ")]
    example = "\n".join(line for line in lines if not line.startswith("pytest "))
    (tmp_path / "test_mine.py").write_text(f"def work():\n    return sum(range(2000))\n\n{example}\n")
    done = run(tmp_path, "test_mine.py", "--benchmark-json=out.json", "--benchmark-max-time=0.01")
    assert "1 passed" in done.stdout, done.stdout
    (told,) = json.loads((tmp_path / "out.json").read_text())["benchmarks"]
    assert told["extra_info"]["bytes_per_s"] > 0
    for command in commands:
        words = shlex.split(command.partition("#")[0])[1:]
        done = run(tmp_path, *words, "--collect-only")
        assert done.returncode == 0, done.stdout
        assert "test_kernel[" in done.stdout


def test_an_ordinary_run_loads_nothing_and_is_not_disturbed(tmp_path: Path) -> None:
    (tmp_path / "test_plain.py").write_text(
        "import sys\n"
        "def test_plain():\n"
        "    heavy = {'numpy', 'trnbench.registry', 'trnbench.run', 'trnbench.facts', 'msgspec'}\n"
        "    assert heavy & set(sys.modules) == set()\n"
    )
    done = run(tmp_path, "test_plain.py")
    assert "1 passed" in done.stdout, done.stdout


@pytest.mark.parts
def test_it_goes_with_benchmarks_switched_off(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(OWN.partition("def test_peak")[0])
    done = run(
        tmp_path, "test_own.py", "--benchmark-disable", "--trnbench-instance=trn1.2xlarge",
        "--trnbench-kernel=hbm_copy",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.parts
@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--trnbench-instance=trn7.huge", "unknown instance 'trn7.huge'"),
        ("--trnbench-kernel=nope", "unknown kernel 'nope'"),
    ],
)
def test_an_unknown_name_is_said_without_frames(option: str, said: str, tmp_path: Path) -> None:
    done = run(tmp_path, "--trnbench-instance=trn1.2xlarge", option)
    assert done.returncode != 0
    assert f"\n{said}\n  cause: " in done.stdout
    assert ".py:" not in done.stdout
