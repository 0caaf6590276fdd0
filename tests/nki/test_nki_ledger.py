"""Tiles that Python still refers to, and those that are of use: held against each moment one by one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench_emulator.nki.memory import Ledger, Life

CAPACITY = 10

Event = tuple[str, int]
"""What happens, and its bytes or which of the tiles it is about."""

EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("allocate"), st.integers(1, CAPACITY)),
        st.tuples(st.sampled_from(["use", "use", "use once", "drop", "drop"]), st.integers(0, 30)),
    ),
    max_size=60,
)


class Moment(NamedTuple):
    at: int
    newest: Life
    referred: tuple[Life, ...]

    @property
    def holding(self) -> list[Life]:
        return [life for life in self.referred if life is self.newest or life.last > self.at]


def carried_out(events: list[Event]) -> tuple[Ledger, list[Moment]]:
    """The ledger, and every allocation with the tiles that Python referred to then."""
    clock: Any = SimpleNamespace(count=0, careful=False)
    ledger = Ledger(CAPACITY, clock)
    lives: list[Life] = []
    planned: set[Life] = set()
    moments: list[Moment] = []
    for what, value in events:
        if what == "allocate":
            life = Life(clock.count, value, last=clock.count)
            ledger.acquire(life)
            lives.append(life)
            moments.append(Moment(clock.count, life, tuple(each for each in lives if each.alive)))
            continue
        if not lives:
            continue
        life = lives[value % len(lives)]
        if what == "drop" and life.alive:
            ledger.release(life)
        elif what.startswith("use") and (life.alive or life in planned):
            clock.count += 1
            life.last = clock.count
            if what == "use once" and life.alive:  # as Beta 1, which plans places afterwards and goes on
                ledger.release(life)
                planned.add(life)
    return ledger, moments


@given(EVENTS)
def test_the_first_moment_that_needs_more_than_there_is(events: list[Event]) -> None:
    ledger, moments = carried_out(events)
    beyond = [each for each in moments if sum(life.bytes for life in each.referred) > CAPACITY]
    first = next((each for each in beyond if sum(life.bytes for life in each.holding) > CAPACITY), None)
    assert ledger.clock.careful is bool(beyond)
    found = ledger.overflow()
    if first is None:
        assert found is None
        needed = [
            sum(life.bytes for life in (each.holding if each in beyond else each.referred))
            for each in moments
        ]
        assert ledger.peak == max(needed, default=0)
        return
    assert found is not None
    newest, holding = found
    assert newest is first.newest
    assert {id(life) for life in holding} == {id(life) for life in first.holding}
    assert [life.bytes for life in holding] == sorted((life.bytes for life in holding), reverse=True)


@pytest.mark.parametrize("count", [3_000])
def test_what_nobody_uses_any_more_is_forgotten(count: int) -> None:
    clock: Any = SimpleNamespace(count=0, careful=False)
    ledger = Ledger(CAPACITY, clock)
    before: Life | None = None
    for _ in range(count):  # a loop's variable holds the tile of the round before until the next is there
        life = Life(clock.count, 6, last=clock.count)
        ledger.acquire(life)
        clock.count += 1
        life.last = clock.count
        if before is not None:
            ledger.release(before)
        before = life
    assert len(ledger.suspicions) == count - 1
    assert len(ledger.lives) < 200
    assert ledger.overflow() is None
    assert ledger.peak == 6
