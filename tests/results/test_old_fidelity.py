"""What runs of schema 2 said of the model opens as it is read today."""

from __future__ import annotations

import math

import msgspec
import pytest

from trnbench.results.fidelity import Comparison, Fidelity, Use
from trnbench.results.schema import NOTE, old_fidelity

POINT = {
    "id": "a",
    "family": "hbm",
    "generation": "trn1",
    "use": "in-sample",
    "quantity": "bandwidth_bytes_per_s",
    "unit": "B/s",
    "published": 100.0,
    "emulated": 80.0,
    "error": -0.2,
    "slower": 0.25,
    "cross_validated": 50.0,
    "held": None,
    "how": "h",
    "source": "s",
    "confidence": "high",
}
ERRORS = {"count": 1, "median": 0.2, "p90": 0.2, "worst": 0.2, "worst_id": "a", "bias": 0.25}
OLD = {
    "by": "model",
    "version": "5",
    "families": [{"name": "hbm", "title": "HBM", "in_sample": 1, "errors": ERRORS, "bounds_held": 0}],
    "points": [POINT, {**POINT, "id": "b", "use": "bound", "unit": "s", "slower": None, "held": True}],
    "public": [{"generation": "trn1", "by": "m", "version": "5", "day": "2026-01-02", "bounds_held": 1}],
    "notes": ["n"],
}


def test_points_keep_their_numbers_and_statistics_are_left_out() -> None:
    found = msgspec.convert(old_fidelity(OLD), Fidelity)
    first, second = found.points
    assert first == Comparison(
        id="a",
        family="hbm",
        generation="trn1",
        use=Use.EMULATED,
        vote="a",
        honesty="fitted",
        quantity="bandwidth_bytes_per_s",
        unit="B/s",
        published=100.0,
        emulated=80.0,
        e=math.log(1.25),
        e_cross=pytest.approx(math.log(2)),
        how="h",
        source="s",
        confidence="high",
    )
    assert (second.use, second.honesty, second.e) == (Use.BOUND, "", None)
    assert (found.families, found.public, found.notes) == ((), (), ("n", NOTE))
    assert (found.by, found.version) == ("model", "5")


def test_held_out_points_are_of_unknown_honesty() -> None:
    found = old_fidelity({**OLD, "points": [{**POINT, "use": "held out"}]})
    assert (found["points"][0]["use"], found["points"][0]["honesty"]) == ("emulated", "")


def test_what_is_of_today_comes_back_as_it_is() -> None:
    today = msgspec.to_builtins(Fidelity(by="m"))
    assert old_fidelity(today) is today
    migrated = old_fidelity(OLD)
    assert old_fidelity(migrated) == migrated
