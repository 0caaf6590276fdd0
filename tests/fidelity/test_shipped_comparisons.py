"""The model's answers to published points that plugins ship: what a run takes instead of asking anew.

`test_sources.py` holds that they are what the model gives, where the tables of the documents are made anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from altered_answers import altered, answers, replaced

from renewal.sections import ASKED, comparison_rows
from trnbench.errors import BadInput
from trnbench.registry import Registry, load_registry
from trnbench.results.fidelity import Use
from trnbench.store.answers import answers_of, changed, files_of, stamps
from trnbench_emulator.backend import MODEL_VERSION
from trnbench_fidelity import snapshot
from trnbench_fidelity import validate as validation
from trnbench_fidelity.bench import lineage
from trnbench_fidelity.point import PublishedPoint, Usable
from trnbench_fidelity.published_points import published_points
from trnbench_fidelity.snapshot import fidelity_of
from trnbench_fidelity.sources import COMPARISONS, Row, shipped_comparisons
from trnbench_fidelity.validate import validate

NAMES = ("trn1", "trn2", "trn3")


@pytest.fixture
def registry() -> Registry:
    return load_registry()


def rows_of(registry: Registry, name: str) -> dict[str, Row]:
    return answers(registry, name).section(COMPARISONS, dict[str, Row])


def asked(monkeypatch: pytest.MonkeyPatch) -> list[PublishedPoint]:
    """The points that the model is asked for from now on, public kernels aside."""
    points: list[PublishedPoint] = []
    compare = validation.compare

    def noted(point: PublishedPoint, *given: Any, **more: Any) -> Any:
        if point.usable not in (Usable.NO, Usable.SOURCE) and point.value is not None and not point.no_kernel:
            points.append(point)
        return compare(point, *given, **more)

    monkeypatch.setattr(validation, "compare", noted)
    return points


def test_a_run_asks_the_model_for_no_point(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    points = asked(monkeypatch)
    monkeypatch.setattr(snapshot, "_KNOWN", {})
    fidelity = fidelity_of(registry, "emulated", NAMES, [])
    assert points == []
    assert fidelity.version == MODEL_VERSION
    shipped = shipped_comparisons(registry, NAMES)
    numbered = {id: row for id, row in shipped.items() if row.emulated is not None}
    assert numbered.items() <= {each.id: each for each in fidelity.points}.items()


def test_what_is_shipped_is_what_the_model_was_asked(registry: Registry) -> None:
    for name, points in published_points(registry).items():
        rows = rows_of(registry, name)
        known = {point.id: point for point in points}
        assert list(rows) == [id for id in known if id in rows]
        assert {row.use for row in rows.values()} <= ASKED
        assert all(known[id].usable is not Usable.SOURCE for id in rows)


def test_a_validation_never_reads_them(registry: Registry, tmp_path: Path) -> None:
    """Who works on the model asks what it says now; a run believes the file."""
    id, row = next(iter(rows_of(registry, "trn3").items()))
    right = shipped_comparisons(registry, ["trn3"])[id]
    altered(registry, "trn3", tmp_path, {COMPARISONS: {id: Row(emulated=2 * row.emulated, how=row.how)}})
    wrong = shipped_comparisons(registry, ["trn3"])[id]
    fidelity = fidelity_of(registry, "emulated", ["trn3"], [])
    now = validate(registry, generations=["trn3"], with_same=False)
    assert wrong in fidelity.points
    assert right in now.points
    assert comparison_rows(registry, now)["trn3"][id] == row


def test_a_run_without_them_says_the_same(registry: Registry, tmp_path: Path, monkeypatch: Any) -> None:
    before = fidelity_of(registry, "emulated", ["trn3"], [])
    points = asked(monkeypatch)
    altered(registry, "trn3", tmp_path, {COMPARISONS: None})
    assert fidelity_of(registry, "emulated", ["trn3"], []) == before
    assert [each.id for each in points] == list(rows_of(load_registry(), "trn3"))


@pytest.mark.parametrize(
    "change", [{"version": "8"}, {"by": "another model"}, {"files": {}}, {"files": {"trn3/core.toml": "0 0"}}]
)
def test_rows_of_another_model_or_other_files_do_not_hold(registry: Any, tmp_path: Path, change: Any) -> None:
    assert shipped_comparisons(registry, ["trn3"]) != {}
    assert shipped_comparisons(altered(registry, "trn3", tmp_path, **change), ["trn3"]) == {}


@pytest.mark.parametrize("content", ["{}", "", "[1]"])
def test_what_is_no_file_of_answers_is_passed_over(registry: Registry, tmp_path: Path, content: str) -> None:
    path = tmp_path / "answers.json"
    path.write_text(content)
    replaced(registry, "trn3", answers=path)
    with pytest.raises(BadInput, match="holds no answers of a generation: ") as caught:
        answers_of(registry.generations["trn3"])
    assert caught.value.try_ == "in a checkout of trnbench: .ci/renew answers"
    assert shipped_comparisons(registry, ["trn3"]) == {}
    altered(load_registry(), "trn3", tmp_path, {COMPARISONS: [1]})
    assert shipped_comparisons(registry, ["trn3"]) == {}


def test_rows_follow_from_the_costs_of_every_base(registry: Registry, tmp_path: Path) -> None:
    """Costs are inherited over any number of generations."""
    trn3, trn2 = registry.generations["trn3"], registry.generations["trn2"]
    registry.generations["trn4"] = trn3
    replaced(registry, "trn4", name="trn4", base="trn3")
    before = stamps(files_of(lineage(registry, "trn4")))
    costs = tmp_path / "costs.toml"
    costs.write_text(trn2.costs.read_text() + "\n# mine\n")
    replaced(registry, "trn2", costs=costs)
    assert changed(before, files_of(lineage(registry, "trn4"))) == ()
    costs.write_text(trn2.costs.read_text() + "\n[mine]\n")
    assert changed(before, files_of(lineage(registry, "trn4"))) == ("trn2/costs.toml",)
    replaced(registry, "trn2", base="trn4")  # a circle, which reading the costs refuses
    assert changed(before, files_of(lineage(registry, "trn4"))) == ("trn2/costs.toml",)


def test_a_row_is_told_apart_from_what_was_never_asked() -> None:
    assert {use for use in Use if use not in ASKED} == {
        Use.NOT_USED,
        Use.NO_KERNEL,
        Use.NEEDS_SOURCE,
        Use.SAME_OPERATION,
    }
