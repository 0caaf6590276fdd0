"""`trnbench compare`: what it reads, prints and ends with."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import Result
from command import listed, refusal, typed
from messages import messages
from paired_runs import case, emulated, measured, run_of

import trnbench
from trnbench import Run
from trnbench.cli.compare import COLUMNS
from trnbench.results.json import write
from trnbench.store.store import Store
from trnbench.terminal.table import text


def run(id: str, gemm: float, copy: float = 1.0) -> Run:
    return run_of(
        emulated(case("gemm"), gemm * 1e-6),
        emulated(case("copy"), copy * 1e-6),
        measured(case("triad"), (1.0, 1.001, 0.999)),
        id=id,
        created=f"2026-11-22T12:00:0{len(id) + 2 * (id == 'third')}+00:00",
    )


@pytest.fixture
def stored() -> None:
    with Store(None) as store:
        store.save(run("first", 1.0), tags=["nightly"])
        store.save(run("second", 1.25))
        store.save(run("third", 1.25, 0.5))


def invoke(*arguments: str) -> Result:
    return typed("compare", *arguments)


@pytest.mark.usefixtures("stored")
def test_where_nothing_differs_there_is_no_table() -> None:
    done = invoke("second", "second", "-k", "gemm")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.splitlines()[-2:] == [
        "1 no difference shown",
        "1 of them exactly the same: --all lists them too",
    ]


def test_where_there_is_little_room_the_change_and_its_verdict_stay() -> None:
    row = {
        "id": "host::gemm@core", "before_shown": "1 µs", "after_shown": "1.25 µs", "change": "+25.0 %",
        "interval": "exact", "verdict": "slower",
    }  # fmt: skip
    narrow, left_out = text([row], COLUMNS, "", width=24)
    assert narrow.split()[:3] == ["case", "change", "verdict"]
    assert sorted(left_out) == ["after", "before", "in order", "interval"]


@pytest.mark.usefixtures("stored")
def test_a_table_and_what_is_told_around_it() -> None:
    done = invoke("nightly", "second")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "case              before    after   change        interval  verdict",
        "----------------  ------  -------  -------  --------------  -------------------",
        "host::gemm@core     1 µs  1.25 µs  +25.0 %           exact  slower",
        "host::triad@core     1 s      1 s      0 %  −0.2 to +0.2 %  no difference shown",
    ]
    assert done.stderr.splitlines() == [
        "before: first, emulated by host, 2026-11-22T12:00:05+00:00, 3 cases",
        "after:  second, emulated by host, 2026-11-22T12:00:06+00:00, 3 cases",
        "what moved them:",
        "  its inputs are unknown: a run of schema 3 or before does not keep them: 1 case",
        "1 slower, 2 no difference shown",
        "1 of them exactly the same: --all lists them too",
    ]


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((), ("second", "third")),
        (("first",), ("first", "third")),
        (("latest~2", "latest~1"), ("first", "second")),
        (("fir", "sec"), ("first", "second")),
    ],
)
def test_which_runs(given: tuple[str, ...], named: tuple[str, str]) -> None:
    told = listed("compare", *given)
    assert (told["before"]["id"], told["after"]["id"]) == named


def test_files_need_no_store(tmp_path: Path) -> None:
    for id, time in (("one", 1.0), ("two", 2.0)):
        (tmp_path / f"{id}.json").write_bytes(trnbench.dumps(run(id, time)))
    told = listed("compare", "one.json", "./two.json")
    assert told["changes"][0]["case"] == "gemm@core"
    assert told["changes"][0]["verdict"] == "slower"
    assert not (tmp_path / "results.db").exists()


@pytest.mark.parts
def test_a_journal_is_a_file_too(tmp_path: Path) -> None:
    trnbench.bench(["hbm_copy"], instances=["trn1.2xlarge"], axes=["size=1M"], store="here.db")
    (journal,) = (tmp_path / "here.db.journals").iterdir()
    done = invoke(str(journal), str(journal), "--all")
    assert done.exit_code == 0
    assert "no difference shown" in done.stdout


@pytest.mark.usefixtures("stored")
def test_csv_has_every_case_and_plain_values() -> None:
    lines = invoke("first", "third", "--format", "csv").stdout.splitlines()
    assert lines[0].startswith(
        "system,case,metric,unit,before,after,effect,low,high,p,exact,verdict,kept,pairs,why,causes"
    )
    assert lines[1].startswith("host,copy@core,time_s,s,1e-06,5e-07,-0.5,,,,true,faster,,")
    assert len(lines) == 4


@pytest.mark.usefixtures("stored")
def test_markdown_and_a_selection() -> None:
    done = invoke("first", "third", "-k", "gemm", "--format", "md")
    assert done.stdout.splitlines()[2:] == ["| host::gemm@core | 1 µs | 1.25 µs | +25.0 % | exact | slower |"]


@pytest.mark.usefixtures("stored")
def test_two_sides_of_one_run() -> None:
    told = listed("compare", "first", "--a", "kernel=gemm", "--b", "kernel=copy")
    (found,) = told["changes"]
    assert found["id"] == "host::gemm@core → host::copy@core"


@pytest.mark.usefixtures("stored")
def test_a_threshold() -> None:
    told = listed("compare", "first", "second", "--threshold", "30%")
    assert {each["verdict"] for each in told["changes"]} == {"no difference shown"}


@pytest.mark.parts
@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(("words", "said", "code"), messages(Path(__file__).parent / "mistakes.txt"))
def test_what_goes_wrong(words: str, said: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "two.json").write_bytes(write([run("one", 1.0), run("two", 1.0)]))
    assert refusal(typed(*shlex.split(words)), code) == f"{said}\n"


def test_from_python(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_bytes(trnbench.dumps(run("one", 1.0)))
    found = trnbench.compare_runs(tmp_path / "one.json", run("two", 2.0), threshold=0.03)
    assert [str(each.verdict) for each in found.changes] == [
        "slower",
        "no difference shown",
        "no difference shown",
    ]
    with trnbench.open_store(tmp_path / "results.db") as store:
        store.save(run("first", 1.0))
    assert trnbench.compare_runs("first", "latest", store=tmp_path / "results.db").before.id == "first"
