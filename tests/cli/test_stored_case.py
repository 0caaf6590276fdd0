"""Of a stored case: `trnbench runs trace` its timeline, `runs assumptions` what either end of each does."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from command import listed, refusal, typed

import trnbench
from trnbench import Grade, Measurement, Run

pytestmark = pytest.mark.parts


@pytest.fixture(scope="module")
def run() -> Run:
    exchange = ["core_exchange.bytes_per_partition=256", "core_exchange.through=dma"]
    return trnbench.bench(
        ["gemm", "core_exchange", "all_reduce"],
        instances=["trn2-16.48xlarge"],
        axes=["gemm.dtype=bf16", "gemm.size=512", "all_reduce.dtype=bf16", "all_reduce.size=1M", *exchange],
    )


@pytest.fixture(autouse=True)
def _stored(run: Run, _own_folder: None) -> None:
    stored(run)


def stored(run: Run) -> None:
    with trnbench.open_store() as store:
        store.save(run)


def of(run: Run, kernel: str) -> Measurement:
    return next(each for each in run.measurements if each.case.kernel == kernel)


def slices(name: str) -> list[dict]:
    return [event for event in json.loads(Path(name).read_text())["traceEvents"] if event["ph"] == "X"]


def test_a_case_on_cores_shows_its_instructions_for_as_long_as_it_took(run: Run) -> None:
    case = next(each for each in run.measurements if each.case.fullname.endswith("@core"))
    done = typed("runs", "trace", "latest", case.id)
    assert (done.exit_code, done.stdout) == (0, "trace.json\n"), done.stderr
    assert "warning" not in done.stderr
    about = json.loads(Path("trace.json").read_text())["otherData"]
    assert about["case"] == case.id
    assert about["evidence"].startswith("emulated by ")
    assert {"nc_matmul", "launch"} <= {event["name"] for event in slices("trace.json")}
    end = max(event["args"].get("done_ns", 0.0) for event in slices("trace.json"))
    assert end * 1e-9 == pytest.approx(case.time_s)


def test_a_case_on_links_shows_the_terms_of_its_time(run: Run) -> None:
    case = of(run, "all_reduce")
    done = typed("runs", "trace", run.id, case.case.fullname, "-o", "links.json")
    assert done.exit_code == 0, done.stderr
    assert "its terms stand in a row" in done.stderr
    terms = [event["dur"] for event in slices("links.json")]
    assert sum(terms) * 1e-6 == pytest.approx(case.time_s)
    assert len(terms) > 1


def test_a_timeline_goes_to_stdout_and_to_no_file_of_another_kind(run: Run) -> None:
    case = of(run, "all_reduce").case.fullname
    done = typed("runs", "trace", run.id, case, "-o", "-")
    assert json.loads(done.stdout)["otherData"]["run"] == run.id
    assert not Path("-").exists()
    said = refusal(typed("runs", "trace", run.id, case, "-o", "t.svg"))
    assert said.startswith("error: t.svg does not look like the file of a timeline")
    for words in (("nki", "run", "gemm"), ("workload", "run", "llama-3-8b")):
        assert "cause: --trace writes JSON" in refusal(typed(*words, "--trace", "t.html"))
        assert "stdout carries the results" in refusal(typed(*words, "--trace", "-"))


def test_a_kernel_for_a_case_is_answered_by_its_cases(run: Run) -> None:
    said = refusal(typed("runs", "trace", run.id, "all_reduce"))
    known = said.splitlines()[1]
    assert of(run, "all_reduce").id in known
    assert of(run, "gemm").id not in known


def test_a_time_that_the_model_no_longer_gives_is_told(run: Run) -> None:
    older = msgspec.structs.replace(of(run, "gemm"), time_s=1.0)
    stored(msgspec.structs.replace(run, id="older", digest="", measurements=(older,)))
    done = typed("runs", "trace", "older", older.id)
    assert done.exit_code == 0
    assert "warning: the run had 1 s, the model now gives " in done.stderr


@pytest.mark.parametrize(
    ("command", "cause"),
    [("trace", "a timeline follows from the model alone"),
     ("assumptions", "only a model has assumptions to move")],
)  # fmt: skip
def test_a_case_that_no_model_answered_is_refused(run: Run, command: str, cause: str) -> None:
    case = run.measurements[0]
    evidence = msgspec.structs.replace(case.evidence, grade=Grade.MEASURED, nearest=None)
    measured = msgspec.structs.replace(case, evidence=evidence)
    stored(msgspec.structs.replace(run, id="measured", digest="", measurements=(measured,)))
    assert refusal(typed("runs", command, "measured", case.id)) == (
        f"error: {case.id} was not emulated: it is measured, ok\n"
        f"  cause: {cause}\n"
        "  try:   trnbench runs show RUN --status ok\n"
    )
    assert not Path("trace.json").exists()


def test_a_case_that_is_not_in_the_run_is_said(run: Run) -> None:
    assert refusal(typed("runs", "trace", run.id, "gem[dtype=bf16,size=512]@core")).startswith(
        "error: unknown case 'gem[dtype=bf16,size=512]@core'\n"
    )


@pytest.mark.parametrize(
    ("kernel", "name"), [("core_exchange", "core-signal-latency"), ("all_reduce", "neuronlink-hop-latency")]
)
def test_both_ends_are_told_of_cores_and_of_links(run: Run, kernel: str, name: str) -> None:
    case = of(run, kernel)
    rows = listed("runs", "assumptions", "latest", case.id)
    assumed = [note.removeprefix("assumed ") for note in case.notes if note.startswith("assumed ")]
    assert {row["assumption"] for row in rows} == {note.split(":")[0] for note in assumed}
    book = run.books["trn2"].assumptions[name]
    ends = {row["end"]: row for row in rows if row["assumption"] == name}
    assert set(ends) == {book.low, book.high}
    assert ends[book.low]["change"] < 0 < ends[book.high]["change"]
    assert case.time_s
    for row in rows:
        assert row["time_s"] == pytest.approx(case.time_s * (1 + row["change"]), rel=1e-6)
    assert [abs(row["change"]) for row in rows] == sorted((abs(row["change"]) for row in rows), reverse=True)


def test_the_table_is_short(run: Run) -> None:
    done = typed("runs", "assumptions", "latest", of(run, "core_exchange").case.fullname)
    head, _, first, *_ = done.stdout.splitlines()[1:]
    assert head.split() == ["assumption", "taken", "instead", "time", "change"]
    assert first.split()[:1] == ["core-signal-latency"]
    assert done.stderr.startswith("usual: ")
