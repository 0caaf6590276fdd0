"""`trnbench runs assumptions`: what either end of each assumption does to the time of a stored case."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

import trnbench
from trnbench import Grade, Run
from trnbench.cli.main import cli

pytestmark = pytest.mark.parts


@pytest.fixture(scope="module")
def run() -> Run:
    return trnbench.bench(
        ["core_exchange", "all_reduce"],
        instances=["trn2-16.48xlarge"],
        axes=["core_exchange.bytes_per_partition=256", "core_exchange.through=dma", "all_reduce.size=1M"],
    )


@pytest.fixture(autouse=True)
def _stored(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRNBENCH_STORE", str(tmp_path / "results.db"))
    with trnbench.open_store() as store:
        store.save(run)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["runs", "assumptions", *arguments], prog_name="trnbench")


@pytest.mark.parametrize(
    ("kernel", "name"), [("core_exchange", "core-signal-latency"), ("all_reduce", "neuronlink-hop-latency")]
)
def test_both_ends_are_told_of_cores_and_of_links(run: Run, kernel: str, name: str) -> None:
    case = next(each for each in run.measurements if each.case.kernel == kernel)
    done = invoke("latest", case.id, "--format", "json")
    assert done.exit_code == 0, done.stderr
    rows = json.loads(done.stdout)
    noted = {
        note.split(":")[0].removeprefix("assumed ") for note in case.notes if note.startswith("assumed ")
    }
    assert {row["assumption"] for row in rows} == noted
    book = run.books["trn2"].assumptions[name]
    ends = {row["end"]: row for row in rows if row["assumption"] == name}
    assert set(ends) == {book.low, book.high}
    assert ends[book.low]["change"] < 0 < ends[book.high]["change"]
    assert case.time_s
    for row in rows:
        assert row["time_s"] == pytest.approx(case.time_s * (1 + row["change"]), rel=1e-6)
    assert [abs(row["change"]) for row in rows] == sorted((abs(row["change"]) for row in rows), reverse=True)


def test_the_table_is_short(run: Run) -> None:
    case = next(each for each in run.measurements if each.case.kernel == "core_exchange")
    done = invoke("latest", case.case.fullname)
    head, _, first, *_ = done.stdout.splitlines()[1:]
    assert head.split() == ["assumption", "taken", "instead", "time", "change"]
    assert first.split()[:1] == ["core-signal-latency"]
    assert done.stderr.startswith("usual: ")


def test_a_case_that_no_model_answered_is_refused(run: Run) -> None:
    case = run.measurements[0]
    measured = msgspec.structs.replace(
        case, evidence=msgspec.structs.replace(case.evidence, grade=Grade.MEASURED, nearest=None)
    )
    with trnbench.open_store() as store:
        store.save(msgspec.structs.replace(run, id="measured", digest="", measurements=(measured,)))
    done = invoke("measured", case.id)
    assert (done.exit_code, done.stderr) == (
        2,
        f"error: {case.id} was not emulated: it is measured, ok\n"
        "  cause: only a model has assumptions to move\n"
        "  try:   trnbench runs show RUN --status ok\n",
    )
