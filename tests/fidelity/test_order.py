"""Order of published versions: pairs, ties, gains and the rank correlation."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from comparison import comparison
from hypothesis import given
from hypothesis import strategies as st
from published_point import published_point

from trnbench.errors import FactError
from trnbench.registry import Registry
from trnbench.results.fidelity import Comparison, Step, Use
from trnbench_fidelity.order import (
    Sequence,
    by_order,
    load_sequences,
    notes,
    order_of,
    order_text,
    pairs,
    step_cells,
)
from trnbench_fidelity.point import Quantity
from trnbench_fidelity.published_points import published_points

FOUR = Sequence(name="s", points=("a", "b", "c", "d"), source="x", generation="g")


def of(published: float, e: float | None, id: str, **more: object) -> Comparison:
    row = comparison(id, e, **more)
    emulated = None if e is None else published * math.exp(e)
    return msgspec.structs.replace(row, published=published, emulated=emulated)


def pairs_of(*rows: Comparison, sequence: Sequence = FOUR) -> list[Step]:
    return pairs(sequence, {row.id: row for row in rows})


@given(st.floats(0.1, 0.9), st.floats(-1, 1), st.floats(-1, 1))
def test_a_pair_compares_the_two_changes(change: float, before: float, after: float) -> None:
    (found,) = pairs_of(of(1.0, before, "a"), of(change, after, "b"))
    assert found.published == pytest.approx(math.log(change))
    assert found.model == pytest.approx(math.log(change * math.exp(after) / math.exp(before)))
    assert found.off == pytest.approx(after - before)
    assert found.in_order is (found.model < 0 and not found.tied)


def test_rates_are_turned_round() -> None:
    (time,) = pairs_of(of(2.0, 0.1, "a"), of(1.0, 0.3, "b"))
    (rate,) = pairs_of(of(1.0, 0.1, "a", unit="B/s"), of(2.0, 0.3, "b", unit="B/s"))
    assert (rate.published, rate.model) == (pytest.approx(time.published), pytest.approx(time.model))


def test_every_two_versions_are_a_pair() -> None:
    found = pairs_of(of(4.0, 0.0, "a"), of(3.0, 0.0, "b"), of(2.0, 0.0, "c"))
    assert [(each.start, each.end, each.apart) for each in found] == [
        ("a", "b", 1),
        ("a", "c", 2),
        ("b", "c", 1),
    ]


def test_up_to_three_per_cent_is_no_difference() -> None:
    near = pairs_of(of(1.0, 0.0, "a"), of(1.03, 0.0, "b"))
    far = pairs_of(of(1.0, 0.0, "a"), of(1.031, 0.0, "b"))
    assert (order_of(near).pairs, order_of(far).pairs) == (0, 1)
    assert (by_order(near), len(by_order(far))) == ([], 1)


def test_a_tie_is_out_of_order() -> None:
    """To four digits: the published times differ, the model's do not."""
    sequence = msgspec.structs.replace(FOUR, unpriced={"b": "the order of loops"})
    (found,) = pairs_of(of(1.0, 0.0, "a"), of(1.1, -math.log(1.10003), "b"), sequence=sequence)
    assert (found.tied, found.in_order) == (True, False)
    assert step_cells(found)[-1] == "tie"
    assert notes([found]) == [
        "a and b: the model cannot tell them apart: it does not price the order of loops."
    ]
    (apart,) = pairs_of(of(1.0, 0.0, "a"), of(1.1, -math.log(1.098), "b"), sequence=sequence)
    assert (apart.tied, apart.in_order, apart.note) == (False, True, "")


def test_an_assumption_that_decides_says_so() -> None:
    sequence = msgspec.structs.replace(FOUR, assumed={"a b": "hoisting"})
    found, _, other = pairs_of(of(1.0, 0.0, "a"), of(0.5, 0.0, "b"), of(0.25, 0.0, "c"), sequence=sequence)
    assert other.note == ""
    assert notes([found]) == ["a and b: only an assumption of the compiler decides their order: hoisting."]


def test_what_is_not_run_is_not_covered() -> None:
    found = pairs_of(of(3.0, 0.0, "a"), of(2.0, None, "b", use=Use.NO_KERNEL), of(1.0, 0.0, "c"))
    assert [each.model is None for each in found] == [True, False, True]
    assert order_of(found).missing == 2
    assert step_cells(found[0]) == ("a", "b", "−33 %", "–", "–", "not covered")


def test_ranks_of_four_versions_have_a_correlation() -> None:
    """One of six pairs turned round: τ = (5 − 1) / 6; three versions have none."""
    rows = [of(4.0, 0.0, "a"), of(3.0, 0.0, "b"), of(2.0, 0.0, "c"), of(1.5, math.log(1.5), "d")]
    found = order_of(pairs_of(*rows))
    assert found.tau == {"g s": pytest.approx(4 / 6)}
    assert found.tau_mean == pytest.approx(4 / 6)
    assert order_of(pairs_of(*rows[:3])).tau_mean is None


@given(st.permutations([1.0, 2.0, 3.0, 4.0, 5.0]))
def test_the_correlation_is_kendalls(times: list[float]) -> None:
    """Against scipy's definition by counting: 1 where every pair is in order, −1 where none is."""
    sequence = msgspec.structs.replace(FOUR, points=tuple("abcde"))
    rows = [
        of(float(at), math.log(time / at), id)
        for at, (id, time) in enumerate(zip("abcde", times, strict=True), 1)
    ]
    found = order_of(pairs_of(*rows, sequence=sequence))
    ascents = sum(a < b for at, a in enumerate(times) for b in times[at + 1 :])
    assert found.tau == {"g s": pytest.approx((2 * ascents - 10) / 10)}
    assert found.kept == ascents


def step(end: str, model: float | None, apart: int = 1) -> Step:
    return Step(
        sequence="s", generation="g", source="x", start="a", end=end, published=-0.5, model=model, apart=apart
    )


def test_the_count_and_the_order_of_the_table() -> None:
    found = [
        step("near", -0.4),
        step("none", None),
        step("far", -0.1),
        step("wrong", 0.1),
        step("two", -0.5, 2),
    ]
    assert order_text(found[:4]) == (
        "order kept in 2 of 3 pairs, in 2 of 3 that are a factor of 1.2 and more apart; a step's gain off by "
        "49 % in the median; Kendall's τ 0.33 in the mean of 1 sequence; 1 not covered"
    )
    assert order_of(found).off == order_of(found[:4]).off  # gains are of steps to the next version
    assert [each.end for each in by_order(found)] == ["wrong", "far", "near", "two", "none"]
    assert step_cells(found[3]) == ("a", "wrong", "−39 %", "+11 %", "+82 %", "turned round")
    assert step_cells(found[0])[-1] == "kept"
    assert step("x", 0.0).in_order is False  # no change where one is published


def test_sizes_of_the_table_fall() -> None:
    found = [step(str(at), -0.5 - at / 10) for at in range(5)]
    assert all(abs(a.off or 0) >= abs(b.off or 0) for a, b in pairwise(by_order(found)))


# Sequences: loading them -----------------------------------------------------------------------------

POINTS = (
    published_point(id="a"),
    published_point(id="b"),
    published_point(id="rate", quantity=Quantity.FLOPS),
)
ONE = '[[sequence]]\nname = "s"\nsource = "x"\npoints = ["a", "b"]\n'


@pytest.mark.parametrize("name", ["trn1", "trn2"])
def test_versions_of_one_sequence_take_the_same_arguments(registry: Registry, name: str) -> None:
    points = {point.id: point for point in published_points(registry, (name,))[name]}
    path = registry.generations[name].points_file
    assert path is not None
    sequences = load_sequences(path, points.values())
    compared = 0
    for sequence in sequences:
        kernels = [points[id].kernel for id in sequence.points]
        arguments = {kernel.arguments for kernel in kernels if kernel is not None}
        assert len(arguments) <= 1, sequence.name
        compared += len(arguments)
    assert compared > 2


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
        (ONE + 'unpriced = { "c" = "w" }\n', "sequence 's': unpriced names 'c', which is not in it"),
        (ONE + 'assumed = { "a c" = "w" }\n', "sequence 's': assumed names 'c', which is not in it"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(FactError) as caught:
        loaded(tmp_path / "p.toml", text)
    assert caught.value.what == f"{tmp_path / 'p.toml'}: {said}"
