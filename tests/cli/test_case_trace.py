"""`trnbench runs trace`: the timeline of any emulated case of a stored run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

import trnbench
from trnbench import Grade, Run, Store
from trnbench.cli.main import cli

pytestmark = pytest.mark.parts


@pytest.fixture(scope="module")
def run() -> Run:
    return trnbench.bench(
        ["gemm", "all_reduce"],
        instances=["trn2-16.48xlarge"],
        dtypes=["bf16"],
        axes=["gemm.size=512", "all_reduce.size=1M"],
    )


@pytest.fixture(autouse=True)
def _stored(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRNBENCH_STORE", str(tmp_path / "results.db"))
    with trnbench.open_store() as store:
        store.save(run)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["runs", "trace", *arguments], prog_name="trnbench")


def written(name: str = "trace.json") -> dict[str, Any]:
    return json.loads(Path(name).read_text())


def test_a_case_on_cores_shows_its_instructions_for_as_long_as_it_took(run: Run) -> None:
    case = next(each for each in run.measurements if each.case.fullname.endswith("@core"))
    done = invoke("latest", case.id)
    assert (done.exit_code, done.stdout) == (0, "trace.json\n"), done.stderr
    assert "warning" not in done.stderr
    document = written()
    assert document["otherData"]["case"] == case.id
    assert document["otherData"]["evidence"].startswith("emulated by ")
    slices = [event for event in document["traceEvents"] if event["ph"] == "X"]
    assert {"nc_matmul", "launch"} <= {event["name"] for event in slices}
    end = max(event["args"].get("done_ns", 0.0) for event in slices)
    assert end * 1e-9 == pytest.approx(case.time_s)


def test_a_case_on_links_shows_the_terms_of_its_time(run: Run) -> None:
    case = next(each for each in run.measurements if each.case.kernel == "all_reduce")
    done = invoke(run.id, case.case.fullname, "-o", "links.json")
    assert done.exit_code == 0, done.stderr
    assert "its terms stand in a row" in done.stderr
    slices = [event for event in written("links.json")["traceEvents"] if event["ph"] == "X"]
    assert sum(event["dur"] for event in slices) * 1e-6 == pytest.approx(case.time_s)
    assert len(slices) > 1


def test_a_time_that_the_model_no_longer_gives_is_told(run: Run) -> None:
    case = next(each for each in run.measurements if each.case.kernel == "gemm")
    older = msgspec.structs.replace(case, time_s=1.0)
    with Store() as store:
        store.save(msgspec.structs.replace(run, id="older", digest="", measurements=(older,)))
    done = invoke("older", case.id)
    assert done.exit_code == 0
    assert "warning: the run had 1 s, the model now gives " in done.stderr


def test_what_cannot_be_shown_is_said(run: Run) -> None:
    case = run.measurements[0]
    measured = msgspec.structs.replace(
        case, evidence=msgspec.structs.replace(case.evidence, grade=Grade.MEASURED, nearest=None)
    )
    with Store() as store:
        store.save(msgspec.structs.replace(run, id="measured", digest="", measurements=(measured,)))
    done = invoke("measured", case.id)
    assert (done.exit_code, done.stderr) == (
        2,
        f"error: {case.id} was not emulated: it is measured, ok\n"
        "  cause: a timeline follows from the model alone\n"
        "  try:   trnbench runs show RUN --status ok\n",
    )
    done = invoke(run.id, "gem[dtype=bf16,size=512]@core")
    assert done.exit_code == 2
    assert done.stderr.startswith("error: unknown case 'gem[dtype=bf16,size=512]@core'\n")
    assert not Path("trace.json").exists()
