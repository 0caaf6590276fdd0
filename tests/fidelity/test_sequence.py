"""Sequences: loading them, their steps, and what is said of the order."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest
from comparison import comparison
from hypothesis import given
from hypothesis import strategies as st
from published_point import published_point

from trnbench.errors import FactError
from trnbench.results.fidelity import Step, Use
from trnbench_fidelity.point import Quantity
from trnbench_fidelity.sequence import Sequence, by_order, load_sequences, order_text, step_cells, steps

POINTS = (
    published_point(id="a"),
    published_point(id="b"),
    published_point(id="rate", quantity=Quantity.FLOPS),
)
ONE = '[[sequence]]\nname = "s"\nsource = "x"\npoints = ["a", "b"]\n'


def loaded(path: Path, text: str) -> tuple[Sequence, ...]:
    path.write_text(text)
    return load_sequences(path, POINTS)


def test_a_sequence_is_read(tmp_path: Path) -> None:
    (found,) = loaded(tmp_path / "p.toml", ONE)
    assert found == Sequence(name="s", points=("a", "b"), source="x", generation="trn2")
    assert loaded(tmp_path / "p.toml", "schema = 1\n") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ONE.replace("source", "sauce"), "[[sequence]] 1: unknown key 'sauce'"),
        (ONE.replace('source = "x"\n', ""), "[[sequence]] 1: key 'source' is missing"),
        (ONE + ONE, "sequence 's': is there twice"),
        (ONE.replace('"a", ', ""), "sequence 's': needs two points or more, each once"),
        (ONE.replace('"b"', '"b", "a"'), "sequence 's': needs two points or more, each once"),
        (ONE.replace('"b"', '"c"'), "sequence 's': names 'c', which is no point of the file"),
        (ONE.replace('"b"', '"rate"'), "sequence 's': mixes flops_per_s and latency_s"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(FactError) as caught:
        loaded(tmp_path / "p.toml", text)
    assert caught.value.what == f"{tmp_path / 'p.toml'}: {said}"


def of(published: float, e: float | None, id: str, **more: object) -> object:
    row = comparison(id, e, **more)
    emulated = None if e is None else published * math.exp(e)
    return msgspec.structs.replace(row, published=published, emulated=emulated)


def steps_of(*rows: object) -> list[Step]:
    by_id = {row.id: row for row in rows}  # type: ignore[attr-defined]
    return steps(Sequence(name="s", points=("a", "b", "c"), source="x"), by_id)


@given(st.floats(0.1, 0.9), st.floats(-1, 1), st.floats(-1, 1))
def test_a_step_compares_the_two_changes(change: float, before: float, after: float) -> None:
    (found,) = steps_of(of(1.0, before, "a"), of(change, after, "b"))
    assert found.published == pytest.approx(math.log(change))
    assert found.model == pytest.approx(math.log(change * math.exp(after) / math.exp(before)))
    assert found.off == pytest.approx(after - before)
    assert found.in_order is (found.model < 0)


def test_rates_are_turned_round() -> None:
    (time,) = steps_of(of(2.0, 0.1, "a"), of(1.0, 0.3, "b"))
    (rate,) = steps_of(of(1.0, 0.1, "a", unit="B/s"), of(2.0, 0.3, "b", unit="B/s"))
    assert (rate.published, rate.model) == (pytest.approx(time.published), pytest.approx(time.model))


def test_up_to_three_per_cent_is_no_step() -> None:
    assert steps_of(of(1.0, 0.0, "a"), of(1.03, 0.0, "b")) == []
    assert len(steps_of(of(1.0, 0.0, "a"), of(1.031, 0.0, "b"))) == 1


def test_what_is_not_run_is_not_covered() -> None:
    found = steps_of(of(3.0, 0.0, "a"), of(2.0, None, "b", use=Use.NO_KERNEL), of(1.0, 0.0, "c"))
    assert [(each.model, each.in_order, each.off) for each in found] == [(None, None, None)] * 2
    assert order_text(found) == "order kept in 0 of 0 steps; 2 not covered"
    assert step_cells(found[0]) == ("a", "b", "−33 %", "–", "–", "not covered")


def step(end: str, model: float | None) -> Step:
    return Step(sequence="s", generation="g", source="x", start="a", end=end, published=-0.5, model=model)


def test_the_count_and_the_order_of_the_table() -> None:
    found = [step("near", -0.4), step("none", None), step("far", -0.1), step("wrong", 0.1)]
    assert order_text(found) == "order kept in 2 of 3 steps, ratio off by 49 % in the median; 1 not covered"
    assert [each.end for each in by_order(found)] == ["wrong", "far", "near", "none"]
    assert step_cells(found[3]) == ("a", "wrong", "−39 %", "+11 %", "+82 %", "turned round")
    assert step_cells(found[0])[-1] == "kept"
    assert step("x", 0.0).in_order is False  # no change where one is published
