"""Files of other tools: what they hold as cases of ours, what is refused, and there and back again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import pytest_apart
from click.testing import Result
from command import refusal, typed
from messages import messages
from own_folder import _own_folder  # noqa: F401  (for every test)
from parts import part

import trnbench
from trnbench import Grade, Run, Status
from trnbench.store.repair import check
from trnbench.store.store import Store
from trnbench_reports.formats import nccl_tests as nccl_format
from trnbench_reports.formats import pytest_benchmark as pytest_format

nccom_file = part("trnbench_neuron.nccom")
RECORDED = Path(__file__).parents[1] / "neuron" / "recorded"
TRN1 = ("-i", "trn1.32xlarge")
NCCL = (Path(__file__).parent / "nccl_tests.txt").read_text()
"""In the format of nccl-tests; the numbers are made up."""


def invoke(*arguments: str) -> Result:
    return typed("import", *arguments)


def stored() -> Run:
    with Store() as store:
        assert check(store) == ()
        return store.load()


def brought(*arguments: str) -> Run:
    done = invoke(*arguments)
    assert done.exit_code == 0, done.stderr
    return stored()


# nccom-test


def test_gib_are_read_right() -> None:
    """1 GiB in 18,930 µs is 56.7 GB/s; the older tool prints 52.83 and calls GiB/s GB/s."""
    words = ("--from", "nccom-test", "--grade", "measured", *TRN1, "--kernel", "all_reduce")
    run = brought(str(RECORDED / "nccom_table_gib.txt"), *words)
    last = run.measurements[-1]
    assert last.case.fullname == "all_reduce[dtype=fp32,size=1073741824,ranks=2]@instance"
    assert last.metrics["busbw_bytes_per_s"].value == pytest.approx(2**30 / 18930e-6)
    assert "rates were printed in GiB/s, called GB/s" in last.notes
    assert last.evidence.grade is Grade.MEASURED
    assert last.evidence.by == "nccom-test"
    assert last.judgement is None  # two ranks of 32
    assert run.grade is Grade.MEASURED


def test_json_of_all_ranks_is_judged() -> None:
    run = brought(
        str(RECORDED / "nccom_report.json"), "--from", "nccom-test", "--grade", "published", *TRN1,
        "--kernel", "all_gather", "--author", "NCCOM-TEST User Guide",
    )  # fmt: skip
    last = run.measurements[-1]
    assert last.case.fullname == "all_gather[dtype=fp32,size=524288]@instance"
    assert last.metrics["busbw_bytes_per_s"].value == pytest.approx(31 / 32 * 524288 / 23.11e-6)
    assert last.judgement.metric == "busbw_bytes_per_s"
    assert 0.0 < last.judgement.fraction < 1.0
    assert (last.evidence.grade, last.evidence.by) == (Grade.PUBLISHED, "NCCOM-TEST User Guide")
    assert run.id.startswith("nccom-test-")


def test_a_median_goes_before_a_mean() -> None:
    found = nccom_file.read((RECORDED / "nccom_table_percentiles.txt").read_bytes())
    assert found.cases[0].time_s == pytest.approx(10e-6)
    assert found.cases[0].notes[0] == "time: p50 of nccom-test"


def test_factors_of_another_collective_are_noticed() -> None:
    words = ("--from", "nccom-test", "--grade", "measured", *TRN1, "--kernel", "all_reduce")
    assert refusal(invoke(str(RECORDED / "nccom_report.json"), *words)) == (
        "error: busbw is 0.9688 times algbw, which no number of ranks makes for all_reduce\n"
        "  cause: the file is of another collective\n"
        "  try:   --kernel NAME\n"
    )


# nccl-tests


def test_nccl_tests_says_collective_and_ranks(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text(NCCL)
    run = brought("r.txt", "--from", "nccl-tests", "--grade", "measured", "-i", "trn2-16.48xlarge")
    first, second = run.measurements
    assert first.case.fullname == "all_reduce[dtype=fp32,size=1048576,ranks=2]@instance"
    (line,) = trnbench.headline(run).lines
    assert line.ranks == "2 ranks"
    assert first.time_s == pytest.approx(50e-6)
    assert first.metrics["busbw_bytes_per_s"].value == pytest.approx(1048576 / 50e-6)
    assert first.notes[:2] == ("time out of place", "in place: 48.00 µs")
    assert first.evidence.by == "nccl-tests 2.17.0"
    assert (second.status, second.reason_text) == (Status.FAILED, "3 values were wrong, says the tool")


@pytest.mark.parametrize(
    ("system", "algbw", "busbw", "told"),
    [
        ("trn1.32xlarge", "100.00", "193.75", "]"),
        ("trn1.32xlarge", "1.00", "1.93", "]"),
        ("trn1.32xlarge", "100.00", "196.88", ",ranks=64]"),
        ("trn1.32xlarge", "100.00", "199.00", "198 to 203 ranks make for all_reduce\n"),
        ("host", "100.00", "100.00", ",ranks=2]"),
        ("trn2-ultraserver", "100.00", "150.00", ",ranks=4]"),
    ],
)
def test_rates_tell_the_ranks_as_far_as_their_digits_reach(
    system: str, algbw: str, busbw: str, told: str
) -> None:
    # Of the small size next to no digit is left.
    rows = [
        f" 8388608 2097152 float sum -1 83.89 {algbw} {busbw} 0",
        " 1024 256 float sum -1 50.00 0.02 0.03 0",
    ]
    Path("r.txt").write_text("\n".join([NCCL.splitlines()[9], *rows]))
    done = invoke(
        "r.txt", "--from", "nccl-tests", "--grade", "measured", "-i", system, "--kernel", "all_reduce"
    )
    if done.exit_code:
        assert told in refusal(done)
        return
    for each in stored().measurements:
        assert each.case.fullname.endswith(f"size={each.case.point['size']}{told}@{each.case.scope}")


def test_each_program_in_a_file_has_ranks_of_its_own(tmp_path: Path) -> None:
    # Of fewer elements than ranks the tool measures nothing.
    empty = NCCL.splitlines()[11].replace("1048576", "0").replace("262144", "0")
    gathered = NCCL.replace("all_reduce_perf", "all_gather_perf").replace("26.21   26.21", "26.21   13.10")
    (tmp_path / "r.txt").write_text(NCCL + gathered + empty)
    run = brought("r.txt", "--from", "nccl-tests", "--grade", "measured", "-i", "trn2-16.48xlarge")
    assert [each.case.point["ranks"] for each in run.measurements] == [2, 2, 2, 2]


def test_our_own_table_comes_back_with_its_grade(tmp_path: Path) -> None:
    run = trnbench.bench(["all_reduce"], instances=["trn2-16.48xlarge"], axes=["size=64K,1M"])
    (tmp_path / "r.txt").write_bytes(nccl_format.write([run]))
    again = brought("r.txt", "--from", "nccl-tests")
    assert [each.id for each in again.measurements] == [each.id for each in run.measurements]
    for before, after in zip(run.measurements, again.measurements, strict=True):
        assert after.evidence.grade is Grade.EMULATED
        assert after.time_s == pytest.approx(before.time_s, rel=1e-3)
        assert after.judgement.fraction == pytest.approx(before.judgement.fraction, rel=1e-3)
    done = invoke("r.txt", "--from", "nccl-tests", "--grade", "measured")
    assert refusal(done) == (
        "error: these numbers are emulated, not measured\n"
        "  cause: the file says so itself\n"
        "  try:   leave out --grade measured\n"
    )


@pytest.mark.parts
def test_our_own_table_says_axes_that_have_no_column(tmp_path: Path) -> None:
    """Tokens of a dispatch, the ranks of what was imported, and groups whose ranks no factor tells."""
    (tmp_path / "theirs.txt").write_text(NCCL)
    theirs = brought("theirs.txt", "--from", "nccl-tests", "--grade", "measured", *TRN1)
    ours = trnbench.bench(["moe_dispatch"], instances=["trn2-16.48xlarge"])
    groups = trnbench.bench(["all_gather_across"], instances=["u-trn2x64"])
    runs = [theirs, ours, groups]
    (tmp_path / "r.txt").write_bytes(nccl_format.write(runs))
    again = brought("r.txt", "--from", "nccl-tests")
    assert [each.id for each in again.measurements] == [
        each.id for run in runs for each in run.measurements if each.time_s
    ]
    (tmp_path / "r.json").write_bytes(pytest_format.write([theirs]))
    with Store() as store:
        imported = store.load(invoke("r.json", "--from", "pytest-benchmark").stdout.strip())
    assert imported.measurements[0].id == theirs.measurements[0].id


def test_a_mark_of_byte_order_hides_no_line(tmp_path: Path) -> None:
    ours = trnbench.bench(["gemm"], instances=["trn1.2xlarge"], dtypes=["bf16"], axes=["size=1K"])
    files = {
        "nccl-tests": NCCL.partition("\n")[2].encode(),
        "nccom-test": b"size(B) count(elems) type time(us)\n8 2 fp32 1.5\n",
        "trnbench": trnbench.dumps(ours),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + data)
        words = ("--grade", "measured", *TRN1) if name != "trnbench" else ()
        kernel = ("--kernel", "all_reduce") if name == "nccom-test" else ()
        assert brought(name, "--from", name, *words, *kernel).measurements


ROWS = "size(B) count(elems) type time(us)\n0 0 fp32 1\n8 2 fp32 1.5\n16 4 fp32"
REPORT = '{"results": [{"size(B)": 8, "type": "fp32", "time:avg(us)": 1.5}, {"size(B)": 16}]}'


@pytest.mark.parametrize(
    ("name", "text", "rows", "where"),
    [
        ("nccl-tests", f"{NCCL}  4 1 float sum -1 n/a 26.2 26.2 0\n  8 20971 ", "2 rows", "line 17, line 18"),
        ("nccom-test", ROWS, "1 row", "line 4"),
        ("nccom-test", REPORT, "1 row", "result 2"),
    ],
)
def test_rows_that_cannot_be_read_are_counted(
    name: str, text: str, rows: str, where: str, tmp_path: Path
) -> None:
    (tmp_path / "r.txt").write_text(text)
    kernel = ("--kernel", "all_reduce") if name == "nccom-test" else ()
    done = invoke("r.txt", "--from", name, "--grade", "measured", *TRN1, *kernel)
    run = stored()
    assert run.notes[1] == f"not read: {rows}, cut or of another program ({where})"
    assert f"warning: run {run.id}: {run.notes[1]}\n" in done.stderr


UNNAMED = NCCL.replace("starting", "")
SPLIT = NCCL.replace("26.21   26.21", "26.21   45.87")  # as 8 ranks make it
OURS = "# trnbench all_reduce on trn1.2xlarge, instance, measured by us\n" + UNNAMED


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        (NCCL, "--rank-count 16", "the file lists 2 ranks, not 16"),
        (
            NCCL.replace("Rank", "rank"),
            "--rank-count 16",
            "busbw is 1 times algbw, which 2 ranks make for all_reduce, not 16",
        ),
        (
            SPLIT,
            "",
            "busbw is 1.75 times algbw, which 8 ranks make for all_reduce\n"
            "  cause: the file lists 2 ranks\n"
            "  try:   --rank-count 8",
        ),
        (NCCL, "--kernel all_gather", "--kernel all_gather: the file is of all_reduce, as it says itself"),
        (UNNAMED, "--kernel gemm", "the file is of the family collective; gemm is of the family gemm"),
        (OURS, "", "-i trn2-16.48xlarge: the file is of trn1.2xlarge, as it says itself"),
    ],
)
def test_what_contradicts_the_file_is_refused(text: str, words: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text(text)
    done = invoke(
        "r.txt", "--from", "nccl-tests", "--grade", "measured", "-i", "trn2.48xlarge", *words.split()
    )
    assert refusal(done).startswith(f"error: {message}\n")
    assert not (tmp_path / "results.db").exists()


def test_ranks_that_the_rates_confirm_go_before_those_that_are_listed(tmp_path: Path) -> None:
    # Where ranks are split into groups the tool lists all of them.
    (tmp_path / "r.txt").write_text(SPLIT)
    run = brought("r.txt", "--from", "nccl-tests", "--grade", "measured", *TRN1, "--rank-count", "8")
    assert {each.case.point["ranks"] for each in run.measurements} == {8}


# pytest-benchmark


@pytest.mark.parts
def test_cases_that_pytest_ran_are_known_again(tmp_path: Path) -> None:
    """Of `pytest --trnbench-instance`: the case is a parameter of a test, and as JSON no value."""
    instance = "trn1.2xlarge"
    pytest_apart.run(
        tmp_path,
        f"--trnbench-instance={instance}",
        "--trnbench-kernel=hbm_copy",
        "--benchmark-json=b.json",
    )
    saved = json.loads((tmp_path / "b.json").read_text())["benchmarks"]
    ids = [f"{instance}::{each['param']}" for each in saved]
    run = brought("b.json", "--from", "pytest-benchmark")
    assert [each.id for each in run.measurements] == ids
    assert all(each.judgement for each in run.measurements)


def test_a_file_of_one_core_has_no_ranks(tmp_path: Path) -> None:
    run = trnbench.bench(["gemm"], instances=["trn1.2xlarge"], dtypes=["bf16"], axes=["size=1K"])
    (tmp_path / "r.json").write_bytes(pytest_format.write([run]))
    assert refusal(invoke("r.json", "--from", "pytest-benchmark", "--rank-count", "8")) == (
        "error: --rank-count 8: gemm has no ranks\n"
        "  cause: ranks are those of collectives\n"
        "  try:   leave it out\n"
    )


def test_our_own_file_comes_back_whole(tmp_path: Path) -> None:
    run = trnbench.bench(["gemm"], instances=["trn1.2xlarge"], dtypes=["bf16"], axes=["size=1K,2K"])
    (tmp_path / "r.json").write_bytes(pytest_format.write([run]))
    again = brought("r.json", "--from", "pytest-benchmark")
    assert again.created == run.created
    for before, after in zip(run.measurements, again.measurements, strict=True):
        assert (after.id, after.time_s, after.status) == (before.id, before.time_s, before.status)
        assert after.metrics == before.metrics
        assert after.judgement == before.judgement


def test_a_file_says_itself_what_a_number_is_worth_and_of_what_type_a_value_is() -> None:
    measured = {"evidence": "measured", "status": "inconclusive"}
    tests = [
        {"fullname": "::test_kernel[gemm@core]", "extra_info": {"evidence": "emulated"}},
        {"fullname": "host::a[x=0.5,y=8]@core", "params": {"x": 0.5, "y": "8"}, "extra_info": measured},
    ]
    Path("r.json").write_text(
        json.dumps({"benchmarks": [{**each, "stats": {"median": 1}} for each in tests]})
    )
    kernel, ours = brought("r.json", "--from", "pytest-benchmark").measurements
    assert (kernel.case.kernel, kernel.evidence.grade) == (".test_kernel-gemm-core", Grade.EMULATED)
    assert (ours.case.point, ours.status) == ({"x": 0.5, "y": "8"}, Status.INCONCLUSIVE)


def test_a_time_in_the_wrong_unit_is_told_when_it_comes_in() -> None:
    case = {"fullname": "trn2-16.48xlarge::gemm[dtype=bf16,size=2048]@core", "stats": {"median": 3e-7}}
    Path("r.json").write_text(json.dumps({"benchmarks": [case]}))
    done = invoke("r.json", "--from", "pytest-benchmark", "--grade", "measured")
    run = done.stdout.strip()
    assert f"warning: run {run}: 1 suspect; trnbench runs show {run}  says why\n" in done.stderr


def test_a_real_file_of_pytest_benchmark(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.parametrize('n', [1, 2])\n"
        "def test_sum(benchmark, n):\n    benchmark.pedantic(sum, args=(range(n),), rounds=3)\n"
    )
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py", "--benchmark-json=b.json")
    # Of its own: as a worker of a parallel run pytest-benchmark measures nothing.
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, env=own)
    assert done.returncode == 0, done.stdout
    saved = json.loads((tmp_path / "b.json").read_text())
    run = brought("b.json", "--from", "pytest-benchmark", "--grade", "measured")
    assert [each.case.kernel for each in run.measurements] == [
        "test_it.py.test_sum-1",
        "test_it.py.test_sum-2",
    ]
    assert {each.case.instance for each in run.measurements} == {"elsewhere"}
    for told, each in zip(saved["benchmarks"], run.measurements, strict=True):
        assert each.time_s == told["stats"]["median"]
        assert list(each.samples) == told["stats"].get("data", [])
        assert each.status is Status.OK
    assert run.environment["cpu_count"] > 0
    page = typed("report", "-o", "page.html")
    assert page.exit_code == 0, page.stderr
    assert "How fast is it, according to pytest-benchmark " in (tmp_path / "page.html").read_text()
    assert "test_it.py.test_sum-1" in typed("history").stdout


# What is refused


@pytest.mark.parametrize(("words", "message", "code"), messages(Path(__file__).parent / "wrong_imports.txt"))
def test_what_nobody_says_is_asked_for(words: str, message: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("size(B) count(elems) type time(us)\n8 2 fp32 1.5\n")
    done = invoke("r.txt", "--from", "nccom-test", *words.split())
    assert refusal(done, code).startswith(message)
    assert not (tmp_path / "results.db").exists()


def test_a_collective_of_one_rank_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("size(B) count(elems) type time(us)\n8 2 fp32 1.5\n")
    words = ("--grade", "measured", "-i", "host", "--kernel", "all_reduce", "--rank-count", "1")
    said = refusal(invoke("r.txt", "--from", "nccom-test", *words))
    assert said.startswith("error: host::all_reduce[dtype=fp32,size=8]@instance has no link_bytes")


def test_context_is_not_for_runs_of_ours(tmp_path: Path) -> None:
    run = trnbench.bench(["gemm"], instances=["trn1.2xlarge"], dtypes=["bf16"], axes=["size=1K"])
    (tmp_path / "r.json").write_bytes(trnbench.dumps(run))
    done = invoke("r.json", "--grade", "measured")
    assert (done.exit_code, done.stderr.splitlines()[0]) == (
        2,
        "error: a run of trnbench says itself what its numbers are",
    )


def test_a_case_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    row = NCCL.splitlines()[11]
    (tmp_path / "r.txt").write_text(NCCL + row + "\n")
    assert ("size=1048576,ranks=2]@instance twice\n") in refusal(
        invoke("r.txt", "--from", "nccl-tests", "--grade", "measured", "-i", "trn2-16.48xlarge")
    )


def test_the_same_file_again_is_the_same_run(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text(NCCL)
    words = ("r.txt", "--from", "nccl-tests", "--grade", "measured", "-i", "trn2-16.48xlarge")
    run = brought(*words)
    assert invoke(*words).stderr.startswith(f"error: run {run.id} is in ")
