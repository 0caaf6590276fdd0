"""One flow of each class gives the answer of all flows; a steady state gives that of every repetition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from fabric_question import flow_by_flow
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench_emulator.fabric import steady_state
from trnbench_emulator.fabric.algorithms import ALGORITHMS
from trnbench_emulator.fabric.algorithms.algorithm import NotPossible
from trnbench_emulator.fabric.equivalence import Classes, Patterns
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.orbits import Orbits
from trnbench_emulator.fabric.schedule import Move, Schedule, Step
from trnbench_emulator.fabric.shares import Shares
from trnbench_emulator.fabric.solve import least_ticks, solve
from trnbench_emulator.fabric.steady_state import member_flows

Make = Callable[..., Network]
CASES = sorted((name, verb) for name, each in ALGORITHMS.items() for verb in each.collectives)


def messages(*pairs: tuple[int, int]) -> Classes:
    """One byte each in one step, all over one resource; each is a class of its own."""
    shares = Shares(pairs, [(np.zeros(1, np.intp), np.ones(1), 0)] * len(pairs), list(range(len(pairs))))
    return Classes(
        flow=np.arange(len(pairs)),
        resource=np.zeros(1, np.intp),
        rank=np.arange(2),
        patterns=Patterns.of([(0, 0, Move(size=1.0, pairs=pairs), shares)]),
        shapes=(0,),
        times=((100,),),
    )


@settings(max_examples=60)
@given(
    case=st.sampled_from(CASES),
    dims=st.sampled_from([(4,), (6,), (3, 3), (2, 4), (4, 4)]),
    slow=st.lists(st.tuples(st.integers(0, 63), st.sampled_from([0.25, 0.5, 0.9])), max_size=2),
    late=st.dictionaries(st.integers(0, 3), st.integers(0, 10**8), max_size=2),
    share=st.integers(1, 2),
    memory=st.sampled_from([float("inf"), 100e9, 400e9]),
    size=st.floats(1.0, 2.0**32),
)
def test_classes_change_nothing(
    torus: Make,
    case: tuple[str, str],
    dims: tuple[int, ...],
    slow: list[tuple[int, float]],
    late: dict[int, int],
    share: int,
    memory: float,
    size: float,
) -> None:
    topology = torus(*dims).topology
    scale = {}
    for number, factor in slow:
        link = topology.links[number % len(topology.links)]
        scale[link.src, link.dst] = factor
    count = len(topology.devices)
    network = Network(
        topology, scale=scale, late=late, memory=memory, shared=[rank // share for rank in range(count)]
    )
    try:
        schedule = ALGORITHMS[case[0]].schedule(network, case[1], size)
    except NotPossible:
        return
    classes, every = solve(network, schedule), flow_by_flow(network, schedule)
    # Sums in another order can round a step's last tick the other way.
    assert abs(classes.total_ticks - every.total_ticks) <= 2 * schedule.steps
    assert np.allclose(classes.carried, every.carried, rtol=1e-9)
    assert np.allclose(classes.accessed, every.accessed, rtol=1e-9)
    assert np.allclose(classes.ends, every.ends, atol=2 * schedule.steps, rtol=0)


def test_a_ring_with_one_slow_link_is_simulated_by_few_flows(torus: Make) -> None:
    plain = torus(16)
    network = Network(plain.topology, memory=20e9)
    schedule = ALGORITHMS["ring"].schedule(network, "all_reduce", 2.0**28)
    assert solve(network, schedule).way == "orbits, each step once"
    slow = Network(plain.topology, memory=20e9, scale={(0, 1): 0.01})
    found = solve(slow, ALGORITHMS["ring"].schedule(slow, "all_reduce", 2.0**28))
    assert found.way == "flows, by classes"


@pytest.mark.parametrize(("dims", "classes"), [((4, 4), 2), ((2, 4), 4)])
def test_lanes_that_are_mirror_images_are_simulated_once(torus: Make, dims: Any, classes: int) -> None:
    """Four lanes of a bucket on a torus, of two steps each: by either dimension first, either way round."""
    network = Network(torus(*dims).topology, memory=30e9)
    schedule = ALGORITHMS["bucket"].schedule(network, "all_gather", 2.0**28)
    found = Orbits(network, schedule).classes(schedule.chains)
    assert len(schedule.chains) == 4
    assert len(set(found.flow.tolist())) == classes


@pytest.mark.parametrize("memory", [30e9, 90e9, 700e9])
@pytest.mark.parametrize("collective", ["all_reduce", "all_gather", "reduce_scatter"])
def test_a_steady_state_gives_what_all_repetitions_give(
    torus: Make, monkeypatch: pytest.MonkeyPatch, memory: float, collective: str
) -> None:
    topology = torus(96).topology
    network = Network(topology, memory=memory, scale={(0, 1): 0.9}, shared=[r // 2 for r in range(96)])
    schedule = ALGORITHMS["ring"].schedule(network, collective, 2.0**30)
    steady = solve(network, schedule)
    monkeypatch.setattr(steady_state, "LONG", 10**9)
    whole = solve(network, schedule)
    assert steady.total_ticks == whole.total_ticks
    assert steady.ends == whole.ends
    assert np.allclose(steady.carried, whole.carried, rtol=1e-12)


def test_chains_that_come_to_a_long_step_one_after_the_other_are_in_a_steady_state_later(
    torus: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One way round at once, the other way after a message that takes as long as 30 of the repetitions: of 48
    the middle ones are done before the other way has begun.
    """
    network = Network(torus(8).topology, memory=30e9)
    forth, back = (Move(size=2.0**20, offset=(n,)) for n in (1, -1 % 8))
    first = Step(moves=(Move(size=30 * 2.0**20, offset=(1,)),))
    chains = ((first, Step(moves=(forth,), times=500)), (Step(moves=(back,), times=500),))
    schedule = Schedule(algorithm="both ways", chains=chains)
    carried_out: list[int] = []

    def counted(classes: Classes, times: Sequence[Sequence[int]], *rest: Any) -> Any:
        carried_out.append(max(map(max, times)))
        return member_flows(classes, times, *rest)

    monkeypatch.setattr(steady_state, "member_flows", counted)
    steady = solve(network, schedule)
    assert carried_out == [steady_state.KEPT, steady_state.LATER]
    monkeypatch.setattr(steady_state, "LONG", 10**9)
    whole = solve(network, schedule)
    assert carried_out[-1] == 500
    assert (steady.total_ticks, steady.ends) == (whole.total_ticks, whole.ends)


def test_lockstep_says_how_far_it_can_be_off(torus: Make) -> None:
    topology = torus(4, 4).topology
    network = Network(topology, memory=150e9, scale={(0, 1): 0.5}, shared=[r // 2 for r in range(16)])
    schedule = ALGORITHMS["ring"].schedule(network, "all_reduce", 2.0**28)
    exact, fast = solve(network, schedule), solve(network, schedule, most=1)
    assert fast.way == "flows, in lockstep"
    assert least_ticks(network, schedule, fast) <= exact.total_ticks <= fast.total_ticks


def test_a_late_rank_delays_what_waits_for_it(torus: Make) -> None:
    plain = torus(8)
    ring = ALGORITHMS["ring-1"].schedule(plain, "all_gather", 2.0**20)
    on_time = solve(plain, ring)
    network = Network(plain.topology, late={3: 5_000_000})
    late = solve(network, ALGORITHMS["ring-1"].schedule(network, "all_gather", 2.0**20))
    # Its own sends begin late, and everything it passes on with them.
    assert late.total_ticks == on_time.total_ticks + 5_000_000
    lockstep = solve(network, ALGORITHMS["mesh"].schedule(network, "all_gather", 2.0**20), most=1)
    assert lockstep.total_ticks >= 5_000_000
    beside = Schedule(algorithm="send", chains=((Step(moves=(Move(size=2.0**20, pairs=((0, 1),)),)),),))
    without = solve(plain, beside)
    for found in (solve(network, beside), solve(network, msgspec.structs.replace(beside, lockstep=True))):
        assert (found.total_ticks, found.latency_s) == (without.total_ticks, without.latency_s)


@pytest.mark.parametrize(("apart", "found"), [(129, (1, 10)), (130, None)])
def test_a_period_counts_only_where_no_flow_outlasts_two(apart: int, found: tuple[int, int] | None) -> None:
    """Two classes arrive every 10 ticks, the one `apart` ticks after the other: repetitions 16 to 31 of both
    have 150 − `apart` ticks in common, and more than two periods are asked for.
    """
    classes, first = messages((0, 1), (1, 0)), 10 * np.arange(steady_state.KEPT)
    assert steady_state.period_of(classes, 0, {0: first, 1: first + apart}) == found
    # Nor does one that is no whole number of ticks, as long as it is looked for.
    uneven = first + np.arange(steady_state.KEPT) // 5
    assert steady_state.period_of(classes, 0, {0: first, 1: uneven}) is None


def test_a_period_may_span_several_repetitions() -> None:
    for repetitions in range(2, 6):
        ticks = 10 * np.arange(steady_state.KEPT) + (np.arange(steady_state.KEPT) % repetitions == 0)
        found = (repetitions, 10 * repetitions) if repetitions <= steady_state.LONGEST else None
        assert steady_state.period_of(messages((0, 1)), 0, {0: ticks}) == found
    assert steady_state.LONGEST == 4
