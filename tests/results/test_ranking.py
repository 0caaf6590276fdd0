"""Which of several answers is fastest, as far as their bands tell."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench.results.ranking import Result, varying, verdict

UNTOLD = "the fastest cannot be told"


def result(system: str, time_s: float | None, width: float | None = 0.1, **names: Any) -> Result:
    """`width`: how far its band reaches either way, None for no band."""
    band = None
    if time_s is not None and width is not None:
        band = (time_s * (1 - width), time_s * (1 + width))
    return Result(names={"system": system, **names}, time_s=time_s, band=band, letter="E")


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ({"a": 1.0}, ""),
        ({"a": 1.0, "b": None}, ""),
        ({"a": 3.0, "b": 2.0, "c": 1.0}, "c is fastest, 2 times as fast as b."),
        ({"a": 1.0, "b": 1.1}, f"{UNTOLD}, the bands of a and b overlap."),
        ({"a": 1.0, "b": 1.1, "c": 3.0}, f"{UNTOLD}, the bands of a and b overlap; c is slower."),
        ({"a": 1.0, "b": 1.1, "c": 1.3}, f"{UNTOLD}, the bands of a and b overlap."),
        ({"a": 1.0, "b": 1.0}, "a and 1 more take the same time."),
        ({"a": 1.0, "b": 1.0, "c": 2.5}, "a (and 1 alike) is fastest, 2.5 times as fast as c."),
    ],
)
def test_the_sentence_of_systems(times: dict[str, float | None], said: str) -> None:
    assert verdict([result(system, time_s) for system, time_s in times.items()], ()) == said


TOUCHING = (("a", 1.0), ("b", 3.0), ("c", 9.0))


@pytest.mark.parametrize(
    ("results", "choices", "said"),
    [
        ([result("a", 1.0), result("a", 2.0, size=2)], (), ""),
        ([result("a", 1.0), result("b", 9.0, None)], (), f"{UNTOLD}, b has no band."),
        # Bands that touch overlap.
        ([result("a", 1.0, 0.5), result("b", 3.0, 0.5)], (), f"{UNTOLD}, the bands of a and b overlap."),
        ([result(*each, 0.5) for each in TOUCHING], (), f"{UNTOLD}, the bands of a and b overlap."),
        (
            [
                each
                for n in (1, 2, 2.5)
                for each in (result("a", 9.0 / n**4, size=n), result("b", 1.0, size=n))
            ],
            (),
            "fastest of 3 questions: a in 2, 1.78 to 4.34 times as fast as the next; "
            "b in 1, 9 times as fast as the next.",
        ),
        ([result("a", 1.0, None), result("b", 9.0, None)], (), f"{UNTOLD}, a and 1 more have no band."),
        (
            [result("a", 2.0, tp=4), result("a", 1.0, tp=8)],
            ("tp",),
            "tp 8 is fastest, 2 times as fast as tp 4.",
        ),
        (
            [result(name, time, size=n) for n in (1, 2) for name, time in (("a", 1.0), ("b", 1.0 + n))],
            (),
            "fastest of 2 questions: a in 2, 2 to 3 times as fast as the next.",
        ),
        (
            [result(name, time, size=n) for n in (1, 4) for name, time in (("a", 1.0), ("b", 1 + n / 40))],
            (),
            f"{UNTOLD} in any of 2 questions, bands overlap or there is none.",
        ),
        (
            [
                *(result("a", 1.0, size=size) for size in (1, 2)),
                result("b", 2.0, size=1),
                result("b", 1.0, None, size=2),
            ],
            (),
            "fastest of 2 questions: a in 1, 2 times as fast as the next; in the others it cannot be told.",
        ),
    ],
)
def test_the_sentence_of_other_questions(results: list[Result], choices: tuple[str, ...], said: str) -> None:
    assert verdict(results, choices) == said


@given(
    st.lists(
        st.tuples(st.floats(1e-6, 1e3), st.one_of(st.none(), st.floats(0.0, 0.9))), min_size=2, max_size=6
    )
)
def test_a_winner_is_named_only_where_no_band_reaches_it(drawn: list[tuple[float, float | None]]) -> None:
    results = [result(f"s{number}", *each) for number, each in enumerate(drawn)]
    first = min(results, key=lambda each: each.time_s or 0.0)
    if " is fastest, " in verdict(results):
        slower = [each for each in results if each.time_s != first.time_s]
        assert all(each.band is not None and each.band[0] > first.band[1] for each in slower)


def test_names_that_differ_keep_their_order() -> None:
    results = [result("a", 1.0, kernel="k", size=1), result("b", 1.0, kernel="k", size=2, tp=3)]
    assert varying(results) == ["system", "size", "tp"]
