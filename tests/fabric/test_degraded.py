"""A slow link costs between a dead and a healthy one: the less it carries, the longer it takes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench.generation import System
from trnbench.registry import load_registry
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.cycles import cycle_shares, directed_cycles
from trnbench_emulator.fabric.options import Options
from trnbench_emulator.fabric.systems import Fabric, fabric_of

SYSTEMS = {name: load_registry().system(name) for name in ("trn1.32xlarge", "trn2-16.48xlarge")}
LINKS = (("d0", "d1"), ("d0", "d4"), ("d5", "d6"))
RATES = st.floats(min_value=0.001, max_value=1.0)


def time_s(
    system: System,
    collective: str,
    size: float,
    link: tuple[str, str],
    left: float,
    algorithm: str = "auto",
    level: str = "device",
    *,
    ideal: bool = False,
) -> float:
    a, b = link
    options = Options(level=level, degraded=((a, b, left), (b, a, left)), ideal=ideal)
    return ask(fabric_of(system, options).question(collective, size, algorithm=algorithm)).time_s


@settings(max_examples=15, deadline=None)
@given(
    name=st.sampled_from(sorted(SYSTEMS)),
    collective=st.sampled_from(("all_reduce", "all_gather", "reduce_scatter")),
    size=st.sampled_from((8192.0, 1e6, 64e6, 1e9)),
    link=st.sampled_from(LINKS),
    rates=st.tuples(RATES, RATES),
)
def test_time_does_not_rise_with_the_rate_of_a_link(
    name: str, collective: str, size: float, link: tuple[str, str], rates: tuple[float, float]
) -> None:
    times = [
        time_s(SYSTEMS[name], collective, size, link, left) for left in (0.0, min(rates), max(rates), 1.0)
    ]
    for slower, faster in pairwise(times):
        assert faster <= slower * (1 + 1e-6)


def test_half_the_rate_costs_between() -> None:
    """Two of four directed cycles cross the link: at half its rate they carry half of the others' share."""
    system = SYSTEMS["trn1.32xlarge"]
    dead, half, healthy = (
        time_s(system, "all_reduce", 256e6, LINKS[0], left, "ring", ideal=True) for left in (0.0, 0.5, 1.0)
    )
    assert healthy < half < dead
    assert half / healthy == pytest.approx(4 / 3, rel=0.03)
    assert dead / healthy == pytest.approx(2.0, rel=0.03)


def test_lanes_take_shares_by_their_slowest_link() -> None:
    system = SYSTEMS["trn1.32xlarge"]
    network = Fabric(system, Options(degraded=(("d0", "d1", 0.25),))).network
    cycles = directed_cycles(network, 2, 0)
    shares = cycle_shares(network, cycles)
    (slow,) = [share for share in shares if share < 0.2]
    assert slow == pytest.approx(0.25 / 3.25)
    assert sum(shares) == pytest.approx(1.0)
    whole = Fabric(system).network
    assert set(cycle_shares(whole, directed_cycles(whole, 2, 0))) == {1 / 4}


def test_pairs_of_ranks_share_lanes_alike() -> None:
    system = SYSTEMS["trn2-16.48xlarge"]
    times = [
        time_s(system, "all_reduce", 1e9, LINKS[0], left, "kangaring", "logical-core")
        for left in (0.02, 0.2, 1.0)
    ]
    assert times[2] <= times[1] <= 1.01 * times[0]


def test_a_link_that_is_worse_than_none_is_left_out() -> None:
    system = SYSTEMS["trn1.32xlarge"]
    options = Options(degraded=(("d0", "d1", 0.001), ("d1", "d0", 0.001)))
    answer = ask(fabric_of(system, options).question("all_reduce", 512 * 1024))
    assert answer.time_s == time_s(system, "all_reduce", 512 * 1024, LINKS[0], 0.0)
    assert any("are left out" in note for note in answer.notes)
    named = ask(fabric_of(system, options).question("all_reduce", 512 * 1024, algorithm="mesh"))
    assert named.time_s > 2 * answer.time_s
