"""The model's answers to published points that plugins ship: what a run takes instead of asking anew.

`test_sources.py` holds that they are what the model gives, where the tables of the documents are made anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from trnbench.errors import BadInput
from trnbench.registry import Registry, load_registry
from trnbench.results.fidelity import Use
from trnbench_emulator.backend import MODEL_VERSION
from trnbench_fidelity import snapshot
from trnbench_fidelity import validate as validation
from trnbench_fidelity.comparison_snapshot import ASKED, made, read, shipped
from trnbench_fidelity.point import PublishedPoint, Usable
from trnbench_fidelity.published import published_points
from trnbench_fidelity.shipped import as_json, digest
from trnbench_fidelity.snapshot import fidelity_of
from trnbench_fidelity.validate import validate

NAMES = ("trn1", "trn2", "trn3")


@pytest.fixture
def registry() -> Registry:
    return load_registry()


def path_of(registry: Registry, name: str) -> Path:
    path = registry.generations[name].comparisons
    assert path is not None
    return path


def changed(registry: Registry, name: str, **paths: Any) -> Registry:
    """The registry with other files of one generation."""
    registry.generations[name] = msgspec.structs.replace(registry.generations[name], **paths)
    return registry


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
    assert fidelity is not None
    assert fidelity.version == MODEL_VERSION
    held = shipped(registry, NAMES)
    numbered = {id: row for id, row in held.items() if row.emulated is not None}
    assert numbered.items() <= {each.id: each for each in fidelity.points}.items()


def test_what_is_shipped_is_what_the_model_was_asked(registry: Registry) -> None:
    for name, points in published_points(registry).items():
        found = read(path_of(registry, name))
        known = {point.id: point for point in points}
        assert found.generation == name
        assert [row.id for row in found.rows] == [id for id in known if id in {row.id for row in found.rows}]
        assert {row.use for row in found.rows} <= ASKED
        assert all(known[row.id].usable is not Usable.SOURCE for row in found.rows)


def test_a_validation_never_reads_them(registry: Registry, tmp_path: Path) -> None:
    """Who works on the model asks what it says now; a run believes the file."""
    found = read(path_of(registry, "trn3"))
    (row,) = found.rows
    assert row.emulated is not None
    wrong = msgspec.structs.replace(row, emulated=2 * row.emulated)
    path = tmp_path / "comparisons.json"
    path.write_text(as_json(msgspec.structs.replace(found, rows=(wrong,))))
    changed(registry, "trn3", comparisons=path)
    told = fidelity_of(registry, "emulated", ["trn3"], [])
    now = validate(registry, generations=["trn3"], with_same=False)
    assert told is not None
    assert wrong in told.points
    assert row in now.points
    assert made(registry, now)["trn3"] == found


def test_a_run_without_them_says_the_same(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    told = fidelity_of(registry, "emulated", ["trn3"], [])
    points = asked(monkeypatch)
    changed(registry, "trn3", comparisons=None)
    assert fidelity_of(registry, "emulated", ["trn3"], []) == told
    assert [each.id for each in points] == [row.id for row in read(path_of(load_registry(), "trn3")).rows]


@pytest.mark.parametrize("change", [{"version": "8"}, {"by": "another model"}, {"files": "0"}])
def test_rows_of_another_model_or_other_files_do_not_hold(
    registry: Registry, tmp_path: Path, change: dict[str, str]
) -> None:
    path = tmp_path / "comparisons.json"
    path.write_text(as_json(msgspec.structs.replace(read(path_of(registry, "trn3")), **change)))
    assert shipped(registry, ["trn3"]) != {}
    assert shipped(changed(registry, "trn3", comparisons=path), ["trn3"]) == {}


@pytest.mark.parametrize("content", ["{}", "", "[1]"])
def test_what_is_no_file_of_rows_is_passed_over(registry: Registry, tmp_path: Path, content: str) -> None:
    path = tmp_path / "comparisons.json"
    path.write_text(content)
    with pytest.raises(BadInput, match="does not hold a comparison: "):
        read(path)
    assert shipped(changed(registry, "trn3", comparisons=path), ["trn3"]) == {}


def test_rows_follow_from_the_costs_of_every_base(registry: Registry, tmp_path: Path) -> None:
    """Costs are inherited over any number of generations."""
    trn3, trn2 = registry.generations["trn3"], registry.generations["trn2"]
    registry.generations["trn4"] = msgspec.structs.replace(trn3, name="trn4", base="trn3")
    before = digest(registry, "trn4")
    assert trn2.costs is not None
    costs = tmp_path / "costs.toml"
    costs.write_text(trn2.costs.read_text() + "\n# mine\n")
    changed(registry, "trn2", costs=costs)
    assert digest(registry, "trn4") != before
    changed(registry, "trn2", base="trn4")  # a circle, which reading the costs refuses
    assert digest(registry, "trn4") != before


def test_a_row_is_told_apart_from_what_was_never_asked() -> None:
    assert {use for use in Use if use not in ASKED} == {
        Use.NOT_USED,
        Use.NO_KERNEL,
        Use.NEEDS_SOURCE,
        Use.SAME_OPERATION,
    }
