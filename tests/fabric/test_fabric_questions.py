"""What a fabric cannot be asked, refused in one sentence."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from fabric_question import GIB, run
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import messages
from msgspec.structs import replace

from trnbench.errors import FactError, UsageError
from trnbench.generation import System
from trnbench.registry import Registry, load_registry
from trnbench_emulator.fabric.answer import Answer
from trnbench_emulator.fabric.ask import ask, published_question
from trnbench_emulator.fabric.constants import constants_of
from trnbench_emulator.fabric.cycles import cycle_shares, directed_cycles
from trnbench_emulator.fabric.question import Beside
from trnbench_emulator.fabric.solve import BOTH_WAYS, LEAST, MOST, SLOWED
from trnbench_emulator.fabric.systems import Fabric, Options, fabric_of


@pytest.mark.parametrize(("call", "message", "_"), messages(Path(__file__).with_name("refusals.txt")))
def test_bad_input_is_refused_in_one_sentence(call: str, message: str, _: int) -> None:
    """An expression of `f`, the devices of trn2-16.48xlarge."""
    with pytest.raises(UsageError) as refusal:
        eval(call, {**globals(), "f": Fabric(SYSTEMS[TRN2]), "published_question": published_question})
    assert str(refusal.value).startswith(message)


def test_constants_that_make_no_sense_are_refused() -> None:
    for key, value in (("hbm_efficiency", 1.5), ("step_us", -1.0), ("network_in_flight", 0.5)):
        with pytest.raises(FactError) as refusal:
            constants_of({"fabric": {key: {"value": value}}})
        assert str(refusal.value).startswith(f"[fabric.{key}] of the cost table: {value:g} makes no sense")
    assert constants_of({}).rules == ()


# Groups on the grid of ranks, and several collectives at once ----------------------------------------


def test_groups_lie_on_the_grid_of_ranks(registry: Registry) -> None:
    fabric = Fabric(SYSTEMS[TRN2])
    sizes = {"data": 4, "tensor": 4}
    assert fabric.groups(sizes, "tensor")[:2] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert fabric.groups(sizes, "data")[:2] == [[0, 4, 8, 12], [1, 5, 9, 13]]
    row = run(fabric, "all_reduce", GIB, ranks=(0, 1, 2, 3), algorithm="ring")
    assert (row.ranks, row.factor) == (4, 1.5)


def test_a_collective_beside_another_takes_longer_and_says_how_much(registry: Registry) -> None:
    fabric = Fabric(SYSTEMS[TRN2], Options(ideal=True))

    def ring(size: float = 0.0, rows: tuple[tuple[int, ...], ...] = ((), ())) -> Answer:
        """A GiB in the first of the rows, and beside it `size` in the other."""
        first, second = ({"groups": (row,)} if row else {} for row in rows)
        other = (Beside(collective="all_reduce", size=size, algorithm="ring", **second),) if size else ()
        return run(fabric, "all_reduce", GIB, beside=other, algorithm="ring", **first)

    alone, same = ring(), ring(GIB)
    # All but the latency, which they do not share.
    assert same.time_s == pytest.approx(2 * alone.time_s - alone.latency_s, rel=1e-6)
    assert same.notes[-2:] == ("beside all_reduce of 1,073,741,824 B by ring", "1.98 times as long as alone")
    assert same.waterfall.total == round(same.time_s * 1e12)
    assert same.waterfall.contention >= alone.waterfall.contention
    assert all(each.utilisation <= 1 + 1e-9 for each in same.hottest)
    # What ends soon frees its links: half of the other's bytes cost half of its time.
    assert ring(GIB / 2).time_s == pytest.approx(1.5 * alone.time_s, rel=2e-2)
    # Rows of the torus have links of their own.
    assert ring(GIB, ((0, 1, 2, 3), (4, 5, 6, 7))).notes[-1] == "1.00 times as long as alone"


# A slow link costs between a dead and a healthy one: the less it carries, the longer it takes --------

TRN1, TRN2 = "trn1.32xlarge", "trn2-16.48xlarge"
SYSTEMS = {name: load_registry().system(name) for name in (TRN1, TRN2)}
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


@settings(max_examples=15)
@given(
    name=st.sampled_from(sorted(SYSTEMS)),
    collective=st.sampled_from(("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce")),
    size=st.sampled_from((8192.0, 1e6, 64e6, 1e9)),
    link=st.sampled_from(LINKS),
    rates=st.tuples(RATES, RATES),
    level=st.sampled_from(("device", "logical-core")),
)
def test_time_does_not_rise_with_the_rate_of_a_link(
    name: str, collective: str, size: float, link: tuple[str, str], rates: tuple[float, float], level: str
) -> None:
    times = [
        time_s(SYSTEMS[name], collective, size, link, left, level=level)
        for left in (0.0, min(rates), max(rates), 1.0, 2.0)
    ]
    # Lanes take whole shares of a message by their rates: of two close rates the faster may cost a little.
    for slower, faster in pairwise(times):
        assert faster <= slower * 1.05
    *slow, healthy, quick = times
    assert quick <= healthy <= min(slow)


@pytest.mark.parametrize(
    ("name", "collective", "size", "level", "rate", "limit"),
    [
        (TRN2, "broadcast", 2.0**20, "logical-core", 0.5, LEAST),
        (TRN1, "all_gather", 2.0**26, "logical-core", 0.9, LEAST),
        (TRN1, "all_reduce", 2.0**26, "device", 2.0, MOST),
    ],
    ids=["slow-broadcast", "slow-gather", "quick-reduce"],
)
def test_a_time_at_its_limit_is_the_healthy_one_in_all_its_parts(
    name: str, collective: str, size: float, level: str, rate: float, limit: str
) -> None:
    a, b = LINKS[0]
    healthy, other = (
        run(Fabric(SYSTEMS[name], Options(level=level, degraded=links)), collective, size)
        for links in ((), ((a, b, rate), (b, a, rate)))
    )
    assert other.time_s == healthy.time_s
    assert limit in other.notes
    assert other.waterfall.total == round(other.time_s * 1e12)
    assert other.bound.time_s <= other.time_s
    assert min(other.tried.values(), default=other.time_s) == other.time_s
    assert all(each.utilisation <= 1 + 1e-9 for each in other.links)


SLOW = {
    "link": (Options(degraded=(("d0", "d1", 0.999), ("d1", "d0", 0.999))), 1 / 0.999, 0.0),
    "rank": (Options(straggler=((1, 0.999),)), 1 / 0.999, 0.0),
    "late": (Options(late=((1, 1e-6),)), 1.0, 1e-6),
    "all": (
        Options(degraded=(("d0", "d1", 0.99),), straggler=((1, 0.999),), late=((2, 1e-6),)),
        1 / 0.99,
        1e-6,
    ),
}


@pytest.mark.parametrize("context", ["nccom", "graph"])
@pytest.mark.parametrize("slow", SLOW)
def test_what_slows_one_costs_no_more_than_if_it_slowed_all(slow: str, context: str) -> None:
    """A bucket needs links and ranks that are alike: one of them a thousandth slower cost 12 %."""
    options, times, late_s = SLOW[slow]
    system = SYSTEMS[TRN1]
    healthy, other = (
        run(Fabric(system, replace(each, context=context)), "all_reduce", 2.0**26)
        for each in (Options(), options)
    )
    assert healthy.algorithm == other.algorithm == "bucket"
    assert healthy.time_s <= other.time_s <= healthy.time_s * times + late_s + 1e-9
    assert SLOWED in other.notes
    assert other.waterfall.total == round(other.time_s * 1e12)
    assert all(each.utilisation <= 1 + 1e-9 for each in other.links)
    named = run(Fabric(system, replace(options, context=context)), "all_reduce", 2.0**26, algorithm="ring")
    assert named.time_s > other.time_s
    assert SLOWED not in named.notes


def test_a_link_slow_one_way_takes_no_longer_than_one_slow_both_ways() -> None:
    there, back = ("d0", "d1", 0.5), ("d1", "d0", 0.5)
    graph = Options(level="logical-core", context="graph")
    healthy, one, both = (
        run(Fabric(SYSTEMS[TRN1], replace(graph, degraded=links)), "all_gather", 2.0**29)
        for links in ((), (there,), (there, back))
    )
    assert healthy.time_s <= one.time_s == both.time_s
    assert BOTH_WAYS in one.notes
    assert one.waterfall.total == round(one.time_s * 1e12)


def test_a_late_rank_costs_auto_no_more_than_it_is_late() -> None:
    """In a graph what is quickest by links alone may leave more to wait for."""
    system = SYSTEMS[TRN1]
    punctual, late = (
        run(Fabric(system, Options(level="logical-core", context="graph", late=slow)), "all_gather", 2.0**26)
        for slow in ((), ((1, 1e-3),))
    )
    assert punctual.time_s <= late.time_s <= punctual.time_s + 1e-3 + 1e-9


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
