"""The frozen list: strict to read, no point leaves it, and how its points moved."""

from __future__ import annotations

import datetime
import math
from pathlib import Path

import msgspec
import pytest
from comparison import comparison

from trnbench.errors import BadInput, FactError
from trnbench.registry import load_registry
from trnbench.results.fidelity import Bounds, Mover, Use
from trnbench_fidelity.published_points import published_points
from trnbench_fidelity.summary import MOVED, moved_cells, moved_text, movers_text
from trnbench_fidelity.validate import Untouched, load_untouched, moved

GOOD = 'schema = 1\nmodel = "m"\nversion = "6"\nday = 2026-11-22\n[errors]\n"a" = +0.5\n"b" = 1\n'


def loaded(path: Path, text: str) -> Untouched:
    path.write_text(text)
    (found,) = load_untouched(path, ("a", "b"))
    return found


def test_a_list_is_read(tmp_path: Path) -> None:
    assert loaded(tmp_path / "u.toml", GOOD) == Untouched(
        model="m", version="6", day=datetime.date(2026, 11, 22), errors={"a": 0.5, "b": 1.0}
    )


LATER = '[[later]]\nmodel = "m"\nversion = "9"\nday = 2026-11-23\n[later.errors]\n"a" = 0.25\n'


def test_a_later_list_is_read(tmp_path: Path) -> None:
    path = tmp_path / "u.toml"
    path.write_text(GOOD + LATER)
    first, later = load_untouched(path, ("a", "b"))
    assert (first.version, later.version, later.errors) == ("6", "9", {"a": 0.25})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD + LATER.replace("version", "verzion"), "[[later]] 1: unknown key 'verzion'"),
        (GOOD + LATER.replace('"a" = 0.25', '"c" = 1'), "[[later]] 1: errors.c: no such point is published"),
        (GOOD.replace("schema = 1", "schema = 2"), "schema is 2"),
        (GOOD.replace("model", "modell"), "unknown key 'modell'"),
        (GOOD.replace('version = "6"\n', ""), "key 'version' is missing"),
        (GOOD.replace('"b" = 1', '"b" = "1"'), "errors.b is '1'"),
        (GOOD.replace('"b" = 1', '"b" = 100'), "errors.b is 100"),
        (GOOD.replace('"b" = 1', '"c" = 1'), "errors.c: no such point is published"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(FactError) as caught:
        loaded(tmp_path / "u.toml", text)
    assert caught.value.what == f"{tmp_path / 'u.toml'}: {said}"


def test_an_error_that_is_no_number_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        loaded(tmp_path / "u.toml", GOOD.replace('"b" = 1', '"b" = nan'))
    assert caught.value.what == f"{tmp_path / 'u.toml'}: errors.b is nan"


@pytest.mark.parametrize(
    ("generation", "counts"),
    [("trn1", {"6": 85, "9": 63}), ("trn2", {"6": 67, "9": 65}), ("trn3", {"6": 35, "9": 40})],
)
def test_no_point_leaves_the_list(generation: str, counts: dict[str, int]) -> None:
    registry = load_registry()
    path = registry.generations[generation].untouched_file
    points = published_points(registry, [generation])[generation]
    found = load_untouched(path, (point.id for point in points))
    assert {each.version: len(each.errors) for each in found} == counts


FROZEN = Untouched(
    model="m",
    version="6",
    day=datetime.date(2026, 11, 22),
    errors={"a": 0.5, "b": -0.2, "bound": 1.0, "gone": 0.1, "elsewhere": 0.3, "disputed": 0.4},
)


def test_then_and_now() -> None:
    rows = {
        "a": comparison("a", 0.1),
        "b": comparison("b", -0.2004),
        "bound": comparison("bound", -0.3, use=Use.BOUND),
        "gone": comparison("gone", use=Use.NOT_EMULATED),
        "unlisted": comparison("unlisted", 9.0),
    }
    (found,) = moved(FROZEN, rows)
    assert (found.family, found.generation, found.version) == ("hbm", "trn1", "6")
    assert found.then.listed == {"a": 0.5, "b": -0.2}
    assert found.now.listed == {"a": 0.1, "b": -0.2004}
    assert found.bounds_then == Bounds(count=1, broken=1, worst=1.0, worst_id="bound")
    assert found.bounds_now == Bounds(count=1)
    assert found.movers == (Mover(id="bound", then=1.0, now=0.0), Mover(id="a", then=0.5, now=0.1))
    assert found.unanswered == ("gone",)
    assert dict(zip(MOVED, moved_cells(found), strict=False))["median then"] == "42 %"
    assert moved_cells(found)[-3:] == ("1 of 1, ×2.7", "0 of 1", "2")
    assert movers_text(found) == (
        "HBM streams, trn1, since version 6: bound +172 % → 0.0 %; a +65 % → +11 %; no answer now: gone"
    )
    assert moved_text([found]) == (
        "Points that were untouched when their list was frozen (no point leaves it): errors by version 6 of "
        "the model, and now."
    )


def test_then_counts_as_now_does() -> None:
    """A rate's error of the time, and the interval of contradicted sources."""
    row = comparison("disputed", 0.0, use=Use.CONTRADICTED, unit="B/s", span=(math.exp(-0.3), 1.0))
    (found,) = moved(FROZEN, {"disputed": row})
    assert found.then.worst == pytest.approx(0.1)
    same = msgspec.structs.replace(row, e=0.4, emulated=math.exp(-0.4))
    (still,) = moved(FROZEN, {"disputed": same})
    assert still.then == still.now
    assert still.movers == ()
