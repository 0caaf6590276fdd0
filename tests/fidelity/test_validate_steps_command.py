"""`trnbench validate --family workloads` as a person meets it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import Result
from command import typed

from trnbench.registry import Registry
from trnbench_fidelity.steps import validate
from trnbench_fidelity.steps.archive import StepArchive, step_archives
from trnbench_fidelity.steps.errors import StepFidelity

_COMPARED: dict[object, StepFidelity] = {}
_compared = validate.compared


@pytest.fixture(autouse=True)
def _kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers as shipped: composing them takes a minute."""

    def answered(registry: Registry, generations: Any = (), cache: object = None) -> dict[str, StepArchive]:
        found = step_archives(registry)
        return {name: each for name, each in found.items() if not generations or name in generations}

    def compared(registry: Registry, kept: dict[str, StepArchive], systems: frozenset[str]) -> StepFidelity:
        key = (tuple(kept), systems)
        if key not in _COMPARED:
            _COMPARED[key] = _compared(registry, kept, systems)
        return _COMPARED[key]

    monkeypatch.setattr(validate, "answered", answered)
    monkeypatch.setattr(validate, "compared", compared)


def run(*args: str) -> Result:
    return typed("-q", "validate", "--family", "workloads", *args)


def test_what_breaks_documents_comes_first_then_errors_by_class() -> None:
    result = run()
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("Faster than documents allow")
    assert "Counts 121 of 186 published steps (65 %)" in result.stdout
    assert "decode, dense" in result.stdout
    assert "Classes of under five models, point by point, left out:" in result.stdout


def test_rows_and_points_for_programs() -> None:
    rows = json.loads(run("--format", "json").stdout)
    first = rows[0]
    assert (first["class"], first["generation"], first["left_out_votes"]) == ("decode", "all", 16)
    assert first["naive_median"] > first["left_out_median"]
    points = {each["id"]: each for each in json.loads(run("points", "--format", "json").stdout)}
    assert len(points) == 186
    one = points["t1-sdk-llama-3-8b-b1-s4096-i128-tpot"]
    assert (one["family"], one["published"]) == ("decode, dense", pytest.approx(5.86e-3))
    assert one["floor"] < one["model"]
    assert "follows from TTFT and TPOT" in points["t1-sdk-llama-3-8b-b1-s4096-i128-tps"]["why"]


def test_a_generation_or_a_system_alone() -> None:
    of_one = json.loads(run("--generation", "trn2", "points", "--format", "json").stdout)
    assert {each["generation"] for each in of_one} == {"trn2"}
    of_system = json.loads(run("-i", "trn1.2xlarge", "points", "--format", "json").stdout)
    assert len(of_system) == 10


def test_a_limit_on_a_task() -> None:
    assert run("--max-median", "decode=20%", "--max-p90", "decode=40%").exit_code == 0
    result = run("--max-median", "decode=1%")
    assert result.exit_code == 1
    assert "error: --max-median decode: the median error of all is " in result.output
