"""Campaigns: left out unless they are asked for, drawn by a seed, and said."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from campaigns import SAMPLES, drawn, left_out, summary, sweep
from longest import LONGEST

TESTS = {
    "axe": [f"test_axe.py::test_rules[{number}]" for number in range(5)],
    "sweeps": [f"test_auto.py::test_bytes[{number}]" for number in range(500)],
}


def test_a_seed_draws_the_same_tests_of_each_kind_again() -> None:
    first = drawn("7", TESTS)
    assert first == drawn("7", {kind: reversed(names) for kind, names in TESTS.items()})
    assert first != drawn("8", TESTS)
    assert Counter(next(kind for kind in TESTS if name in TESTS[kind]) for name in first) == {
        kind: SAMPLES[kind] for kind in TESTS
    }


class Asked:
    """The part of pytest's configuration that says what was asked for."""

    def __init__(self, *args: str, **options: str) -> None:
        self.args, self.options = args, options

    def getoption(self, name: str, default: object = None) -> object:
        return self.options.get(name.removeprefix("--").replace("-", "_"), default)


class Item:
    def __init__(self, file: str, kind: str = "") -> None:
        self.path, self.nodeid = Path(file).absolute(), f"{file}::test"
        self.marker = pytest.mark.campaign(kind).mark if kind else None

    def get_closest_marker(self, name: str) -> object:
        return self.marker


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        (Asked("tests"), ["a.py", "b.py"]),
        (Asked("tests", markexpr="not browser"), ["a.py", "b.py"]),
        (Asked("tests", markexpr="campaign"), []),
        (Asked("a.py::test[1]"), ["b.py"]),
        (Asked("tests", campaign_sample="3"), []),
        (Asked("tests", markexpr="campaign", campaign_sample="3"), []),
        (Asked("tests", benchmark_enable="yes"), ["a.py"]),
    ],
)
def test_what_nobody_asked_for_is_left_out(asked: Asked, left: list[str]) -> None:
    items = [Item("plain.py"), Item("a.py", "axe"), Item("b.py", "benchmarks")]
    found = left_out(asked, items)  # type: ignore[arg-type]
    assert [item.path.name for item in found] == left


def test_the_end_of_a_run_says_what_was_left_out_and_what_runs_it() -> None:
    assert summary(Counter(axe=5, sweeps=2)) == (
        "campaigns: left out 7 tests (5 axe, 2 sweeps); .ci/campaign runs them"
    )


def test_a_sweep_keeps_what_is_always_tried() -> None:
    rows = sweep([("a", 1), ("b", 2)], lambda name, _: name == "a")
    assert [(row.values, bool(row.marks)) for row in rows] == [(("a", 1), False), (("b", 2), True)]


# The modules that go first are there -----------------------------------------------------------------


def test_a_module_that_is_renamed_is_renamed_in_the_order() -> None:
    assert [name for name in LONGEST if not (Path(__file__).parent / name).is_file()] == []
