"""Which file a report goes to: a selection has its own, and a replaced page is told of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import tiny_machine as tiny
from click.testing import Result
from command import refusal, typed
from paired_runs import case, emulated, run_of

from trnbench import Run
from trnbench.registry import Registry
from trnbench.run.selection import Selection
from trnbench.store.store import Store
from trnbench.terminal.target import mostly_alike, page_name, page_name_of

OWN = "trnbench-report-act.html"


def invoke(*arguments: str) -> Result:
    return typed(*arguments, registry=tiny.registry("half", "low"))


@pytest.mark.parametrize(
    ("backend", "asked", "name"),
    [
        ("emulated", {}, "trnbench-report.html"),
        ("emulated", {"kinds": ["nki"]}, "trnbench-report.html"),
        ("emulated", {"kernels": ["gemm"]}, "trnbench-report-gemm.html"),
        (
            "emulated",
            {"kernels": ["gemm", "softmax"], "instances": ["trn2-16.48xlarge"]},
            "trnbench-report-gemm-softmax-trn2-16.48xlarge.html",
        ),
        ("host", {"instances": ["host"]}, "trnbench-report-host.html"),
        ("emulated", {"kernels": ["hbm_*"]}, "trnbench-report-5238ff.html"),
        ("emulated", {"kernels": ["gemm"], "dtypes": ["bf16"]}, "trnbench-report-gemm-670a5c.html"),
        ("emulated", {"kernels": ["../../etc/passwd"]}, "trnbench-report-d0a510.html"),
    ],
)
def test_a_name_says_what_was_asked_for(backend: str, asked: dict[str, Any], name: str) -> None:
    assert page_name(backend, Selection.of(**asked)) == Path(name)


def test_a_name_is_of_bounded_length_and_still_its_own() -> None:
    many = [f"kernel_{number}" for number in range(99)]
    first, second = (page_name("emulated", Selection.of(kernels=each)).name for each in (many, many[:-1]))
    assert len(first) == len(second) < 90
    assert first != second


@pytest.mark.parametrize(("shared", "alike"), [(1, False), (2, True), (4, True)])
def test_runs_are_alike_that_share_half_of_the_larger(shared: int, alike: bool) -> None:
    cases = [emulated(case(str(number)), 1.0) for number in range(4)]
    assert mostly_alike(run_of(*cases[:shared]), run_of(*cases, id="b")) is alike


def test_a_selection_leaves_the_page_of_the_whole_alone(tmp_path: Path) -> None:
    assert "trnbench-report-" not in invoke("run").stderr
    whole = (tmp_path / "trnbench-report.html").read_bytes()
    done = invoke("run", "act")
    assert done.exit_code == 0
    assert f"the report of this selection goes to {OWN}" in done.stderr.splitlines()
    assert done.stderr.endswith(f", report {OWN}\n")
    assert (tmp_path / OWN).exists()
    assert (tmp_path / "trnbench-report.html").read_bytes() == whole
    assert "replaced" not in done.stderr


@pytest.mark.parametrize(("words", "name"), [((), "trnbench-report.html"), (("act",), OWN)])
def test_a_page_that_is_replaced_is_told_of(
    words: tuple[str, ...], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def page(runs: tuple[Run, ...]) -> bytes:
        return f"<!doctype html><title>trnbench {runs[0].id}</title>".encode()

    monkeypatch.setattr(tiny, "page", page)
    invoke("run", *words)
    with Store(tmp_path / "results.db") as store:
        (first,) = store.list()
    second = invoke("run", *words)
    assert f"{name}: the page of run {first.id} is replaced" in second.stderr.splitlines()
    again = invoke("report", first.id)
    assert again.stdout == f"{name}\n"
    assert again.stderr.startswith(f"{name}: the page of run ")
    assert invoke("report", first.id).stderr == ""
    assert invoke("run", "-q", *words).stderr == ""


def test_a_page_of_nobody_knows_which_run_is_told_of_too() -> None:
    invoke("run")
    assert "trnbench-report.html: the page of an earlier run is replaced" in invoke("run").stderr.splitlines()


def test_a_file_that_is_no_page_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / OWN).write_text("mine")
    assert refusal(invoke("run", "act")) == (
        f"error: {OWN} exists and is no report of trnbench\n"
        "  cause: it is not overwritten, in case it is needed\n"
        "  try:   --force  overwrites it; or name another file with -o\n"
    )


def test_a_stored_run_has_the_name_it_was_written_under(tmp_path: Path) -> None:
    invoke("run", "act", "--no-report")
    invoke("run", "--no-report", "--label", "whole")
    with Store(tmp_path / "results.db") as store:
        of_act, whole = (store.load(each.id) for each in store.list())
    assert page_name_of([of_act], Registry.of()) == Path(OWN)
    assert page_name_of([whole], Registry.of()) == Path("trnbench-report.html")
    assert page_name_of([of_act, whole], Registry.of()) == Path(
        f"trnbench-report-{of_act.id}-{whole.id}.html"
    )
    named = [msgspec.structs.replace(of_act, id=id) for id in ("a" * 30, "b" * 29, "b" * 30)]
    assert page_name_of(named[:2], Registry.of()).name == f"trnbench-report-{'a' * 30}-{'b' * 29}.html"
    assert page_name_of(named[::2], Registry.of()).name.startswith("trnbench-report-2-runs-")
    imported = msgspec.structs.replace(of_act, settings={})
    assert page_name_of([imported], Registry.of()) == Path(f"trnbench-report-{of_act.id}.html")
    strange = msgspec.structs.replace(of_act, settings={"selection": {"planets": 9}})
    assert page_name_of([strange], Registry.of()) == Path(f"trnbench-report-{of_act.id}.html")


def test_a_resumed_run_keeps_the_name_of_its_selection(tmp_path: Path) -> None:
    typed("run", "act", "--no-report", "--maxfail", "1", registry=tiny.registry("half", "above", "low"))
    done = typed("resume", registry=tiny.registry("half", "above", "low"))
    assert f"the report of this selection goes to {OWN}" in done.stderr.splitlines()
    assert (tmp_path / OWN).exists()
