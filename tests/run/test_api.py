"""The commands as functions."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny_machine as tiny
from command import loaded

import trnbench
from trnbench import PeakPolicy, Status
from trnbench.errors import NothingSelected, UnknownName, UsageError
from trnbench.run.selection import RunSettings


def test_bench_returns_a_run_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    run = trnbench.bench(registry=tiny.registry("half", "low"))
    assert [each.status for each in run.measurements] == [Status.OK, Status.DOCUMENT_LOW]
    usual = {
        "jobs": 1, "timeout_s": 0.0, "maxfail": 0, "seed": 0, "retries": 0, "sample_s": 0.0, "processes": 3,
        "keep_identity": False, "executor": "process",
    }  # fmt: skip
    assert run.settings == {**usual, "selection": run.settings["selection"]}
    assert RunSettings().record() == usual
    assert list(tmp_path.iterdir()) == []


def test_bench_takes_what_the_command_takes(tmp_path: Path) -> None:
    steps: list[int] = []
    path = tmp_path / "r.db"
    run = trnbench.bench(
        ["a*"],
        axes=["mode=half"],
        instances=["tiny.2"],
        scopes=["core"],
        policy="engine",
        store=path,
        registry=tiny.registry(),
        on_progress=lambda step: steps.append(step.done),
    )
    assert run.policy is PeakPolicy.ENGINE
    assert steps == [1]
    assert trnbench.load_run(store=path) == run
    assert trnbench.load_run(run.id[:-2], path) == run
    with trnbench.open_store(path) as store:
        again = trnbench.bench(registry=tiny.registry("low"), store=store)
        assert [each.id for each in store.list()] == [run.id, again.id]


def test_one_word_is_a_list_of_one_and_axes_may_be_a_mapping() -> None:
    registry = tiny.registry()
    several = trnbench.bench(["a*"], axes=["mode=half,low"], scopes=["core"], registry=registry)
    plain = trnbench.bench("a*", axes={"mode": ["half", "low"]}, scopes="core", registry=registry)
    assert [each.case.id for each in plain.measurements] == [each.case.id for each in several.measurements]
    (alone,) = trnbench.bench("a*", axes={"mode": "half"}, registry=registry).measurements
    assert "half" in alone.case.id


def test_render_writes_what_the_format_makes(tmp_path: Path) -> None:
    registry = tiny.registry("half")
    run = trnbench.bench(registry=registry)
    path = trnbench.render(run, tmp_path / "r.html", registry=registry)
    assert path.read_text() == f"<!doctype html><title>trnbench</title><p>{run.id}: 1"
    trnbench.render([run, run], tmp_path / "r.json", "json", registry=registry)
    with pytest.raises(UsageError):
        trnbench.render(run, tmp_path / "r.json", registry=registry)


def test_mistakes_have_names() -> None:
    with pytest.raises(UnknownName, match="unknown peak policy 'seeds'"):
        trnbench.bench(policy="seeds", registry=tiny.registry())
    with pytest.raises(UnknownName, match="unknown backend 'cuda'"):
        trnbench.bench(backend="cuda", registry=tiny.registry())
    with pytest.raises(NothingSelected):
        trnbench.bench(keyword="nothing", registry=tiny.registry())


def test_the_package_run_is_still_a_package() -> None:
    import trnbench.run.api

    assert trnbench.run.api.bench is trnbench.bench
    assert not callable(trnbench.run)


def test_importing_the_functions_imports_no_library() -> None:
    _, modules = loaded(
        "import trnbench; trnbench.bench, trnbench.load_run, trnbench.open_store, trnbench.render"
    )
    assert not {"sqlite3", "numpy", "rich", "jinja2", "multiprocessing", "pluggy"} & modules
