"""An algorithm is a file and a line: this one stands here, and everything that asks for algorithms has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fabric_command import rows

from trnbench.generation import System
from trnbench.registry import load_registry
from trnbench_emulator.fabric.algorithms import ALGORITHMS
from trnbench_emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    BROADCAST,
    Algorithm,
    NotPossible,
)
from trnbench_emulator.fabric.ask import ask, compared
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.question import Question
from trnbench_emulator.fabric.schedule import Move, Schedule, Step

SYSTEM = "trn1.32xlarge"


class Star(Algorithm):
    """All send to rank 0, which sends all on."""

    name = "star"
    collectives = (ALL_GATHER, BROADCAST)
    uneven = ()
    auto_ranks = 16

    def schedule(self, network: Network, collective: str, size: float) -> Schedule:
        others = range(1, network.size)
        own = size / network.size
        moves = (Move(size=size, pairs=tuple((0, r) for r in others), direct=True),)
        if collective == ALL_GATHER:
            inward = Move(size=own, pairs=tuple((r, 0) for r in others), direct=True)
            moves = (inward, Move(size=size - own, pairs=moves[0].pairs, direct=True))
        return Schedule(algorithm=self.name, chains=(tuple(Step(moves=(move,)) for move in moves),))


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> System:
    """A system that was never asked before, in a world that has the algorithm."""
    monkeypatch.setitem(ALGORITHMS, "star", Star())
    return load_registry().system(SYSTEM)


def asked(system: System, collective: str = ALL_GATHER, size: float = 3 * 2.0**20, **more: Any) -> Question:
    return Question(collective=collective, size=size, system=system, **more)


@pytest.mark.parametrize("collective", Star.collectives)
def test_its_blocks_arrive(collective: str, torus: Callable[..., Network], delivers: Any) -> None:
    delivers(torus(4, 4), Star(), collective)


def test_it_is_asked_for_by_name_tried_compared_and_listed(system: System) -> None:
    by_name = ask(asked(system, algorithm="star"))
    assert by_name.algorithm == "star"
    assert by_name.time_s >= by_name.bound.time_s
    auto, best = ask(asked(system)), ask(asked(system, algorithm="best"))
    assert auto.choice == f"no rule observed: best of {', '.join(auto.tried)}"
    assert auto.tried["star"] == best.tried["star"] == by_name.time_s
    assert auto.time_s == best.time_s == min(best.tried.values())
    for size in (2.0**8, 2.0**14, 2.0**30):
        question = asked(system, size=size)
        assert ask(question).time_s == min(ask(question).tried.values())
    assert compared(asked(system))["star"] == by_name.time_s
    in_groups = ask(asked(system, algorithm="star", groups=((0, 1, 2, 3), (4, 5, 6, 7))))
    assert in_groups.algorithm == "star"
    (listed,) = [row for row in rows("algorithms", "-i", SYSTEM) if row["algorithm"] == "star"]
    assert listed["collectives"] == "all_gather, broadcast"


def test_its_attributes_say_what_it_cannot_do(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotPossible) as refusal:
        ask(asked(system, "all_reduce", algorithm="star"))
    assert refusal.value.what == "star does no all_reduce"
    with pytest.raises(NotPossible) as refusal:
        ask(asked(system, "all_gather_v", algorithm="star"))
    assert refusal.value.what == "star does no all_gather_v"
    # A broadcast of more than an eighth of its ranks is left out of `auto`; above them all is.
    assert ask(asked(system, BROADCAST)).left_out["star"] == "above 2 ranks only on request"
    cores = asked(system, BROADCAST, level="core")
    assert ask(cores).left_out["star"] == "above 2 ranks only on request"
    monkeypatch.setattr(Star, "auto", False)
    assert "star" not in ask(asked(system, size=5 * 2.0**20)).tried
    assert ask(asked(system, size=5 * 2.0**20, algorithm="best")).tried["star"] > 0
