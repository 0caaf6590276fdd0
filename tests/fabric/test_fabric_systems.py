"""Documented systems: clusters of any size, options, groups, several at once, refusals in exact words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from trnbench.emulator.fabric import levels, planner, systems
from trnbench.emulator.fabric.algorithms import ALGORITHMS, OVER_INSTANCES
from trnbench.emulator.fabric.algorithms.algorithm import NAMES, NotPossible
from trnbench.emulator.fabric.answer import Answer
from trnbench.emulator.fabric.ask import ask
from trnbench.emulator.fabric.cases import rank_at
from trnbench.emulator.fabric.constants import constants_of
from trnbench.emulator.fabric.published import published_question
from trnbench.emulator.fabric.question import Beside
from trnbench.emulator.fabric.schedule import Schedule
from trnbench.emulator.fabric.solve import solve
from trnbench.emulator.fabric.systems import Fabric, Options
from trnbench.errors import FactError, UsageError
from trnbench.kernels.families.collective import busbw_factor
from trnbench.registry import Registry, load_registry

SYSTEMS = ("trn1.32xlarge", "trn2-16.48xlarge", "u-trn2x64", "trn3-gen1-ultraserver", "trn3-gen2-ultraserver")
MIB, GIB = 2.0**20, 2.0**30


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry()


def run(fabric: Fabric, collective: str, size: float, **more: Any) -> Answer:
    return ask(fabric.question(collective, size, **more))


@pytest.mark.parametrize("system", [*SYSTEMS, "trn1-ultracluster"])
@pytest.mark.parametrize("collective", NAMES)
def test_every_collective_on_every_system(registry: Registry, system: str, collective: str) -> None:
    fabric = Fabric(registry.system(system))
    last = 0.0
    for size in (2.0**18, 2.0**24, 2.0**30):
        found = run(fabric, collective, size)
        assert found.waterfall.total == round(found.time_s * 1e12)
        assert min(msgspec.structs.astuple(found.waterfall)) >= 0
        assert found.time_s >= found.bound.bandwidth_s * (1 - 1e-9)
        assert found.time_s >= last * (1 - 1e-9)
        assert found.busbw == pytest.approx(found.algbw * busbw_factor(collective, found.ranks))
        assert all(0 < each.utilisation <= 1 + 1e-9 for each in found.hottest)
        last = found.time_s


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("outer", ["ring", "rdh", "mesh"])
@pytest.mark.parametrize("collective", ["all_reduce", "all_gather", "reduce_scatter"])
def test_two_instances_stand_for_the_whole_cluster(
    registry: Registry, count: int, outer: str, collective: str
) -> None:
    name = f"hierarchical-{outer}"
    fabric = Fabric(registry.system(f"trn1-ultracluster:{count}"), Options(ideal=True))
    size = 3 * 2.0**24
    whole = fabric.of_instances(count)
    two = fabric.of_instances(2)
    try:
        full = solve(whole, ALGORITHMS[name].schedule(whole, collective, size))
    except NotPossible:
        assert (outer, count) == ("rdh", 3)
        return
    compact = solve(two, OVER_INSTANCES[name].over_instances(two, collective, size, count))
    # A tick of rounding per step, nothing else.
    assert abs(full.total_ticks - compact.total_ticks) <= 64


@pytest.mark.parametrize("count", [2, 3])
def test_an_all_to_all_of_a_cluster_is_the_one_of_the_whole_graph(registry: Registry, count: int) -> None:
    fabric = Fabric(registry.system(f"trn1-ultracluster:{count}"), Options(ideal=True))
    whole, two = fabric.of_instances(count), fabric.of_instances(2)
    full = solve(whole, ALGORITHMS["direct"].schedule(whole, "all_to_all", 64 * MIB))
    compact = solve(two, OVER_INSTANCES["direct"].over_instances(two, "all_to_all", 64 * MIB, count))
    assert abs(full.total_ticks - compact.total_ticks) <= 64


def test_hierarchies_deliver_the_right_data(registry: Registry, delivers: Any) -> None:
    for count in (2, 3):
        network = Fabric(registry.system(f"trn1-ultracluster:{count}")).of_instances(count)
        for outer in ("ring", "mesh", *(("rdh",) if count == 2 else ())):
            for collective in ("all_reduce", "all_gather", "reduce_scatter"):
                steps = ALGORITHMS[f"hierarchical-{outer}"].transfers(network, collective)
                delivers(collective, network.size, steps)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("level", ["device", "core"])
def test_kangaring_and_switches_deliver_the_right_data(
    registry: Registry, delivers: Any, system: str, level: str
) -> None:
    network = Fabric(registry.system(system), Options(level=level)).network
    if network.size > 144:
        return
    done = 0
    # An all-reduce is the two others, one after the other; of many ranks it stands for them.
    halves = ("all_gather", "reduce_scatter") if network.size <= 64 else ()
    for name in ("kangaring", "switch-direct", "switch-direct-all", "ring"):
        for collective in ("all_reduce", *halves):
            try:
                steps = list(ALGORITHMS[name].transfers(network, collective))
            except NotPossible:
                continue
            delivers(collective, network.size, steps)
            done += 1
    assert done


def test_kangaring_accesses_memory_as_often_as_documented(registry: Registry) -> None:
    network = Fabric(registry.system("trn2-16.48xlarge"), Options(level="logical-core")).network
    n, size = network.size, GIB
    for collective, ring, kangaring in (("all_gather", 4, 3), ("reduce_scatter", 6, 4)):
        for name, accesses in (("ring", ring), ("kangaring", kangaring)):
            found = solve(network, ALGORITHMS[name].schedule(network, collective, size), most=4096)
            pairs = network.ranks_per_device / 2
            assert found.accessed.max() / size / pairs == pytest.approx(accesses, rel=2.5 / n)


def test_a_slow_link_a_straggler_and_oversubscription_cost_time(registry: Registry) -> None:
    system = registry.system("trn2-16.48xlarge")
    whole = run(Fabric(system), "all_gather", GIB, algorithm="ring").time_s
    slow = Fabric(system, Options(degraded=(("d0", "d1", 0.5), ("d0", "d4", 0.5))))
    assert slow.network.symmetry is None
    assert run(slow, "all_gather", GIB, algorithm="ring").time_s > 1.2 * whole
    lame = Fabric(system, Options(straggler=((3, 0.1),)))
    assert run(lame, "all_gather", GIB, algorithm="ring").time_s > 1.2 * whole
    dead = Fabric(system, Options(degraded=(("d0", "d1", 0.0),)))
    # Around a dead link it takes three hops, over all three other cables at once.
    latency = {pair: dead.network.route(*pair).latency for pair in ((0, 1), (1, 0))}
    assert latency[0, 1] == pytest.approx(3 * latency[1, 0])
    some = registry.system("trn1-ultracluster:64")
    times = [
        run(Fabric(some, Options(oversubscription=o)), "all_to_all", 64 * MIB).time_s for o in (1.0, 2.0, 4.0)
    ]
    assert times[1] == pytest.approx(2 * times[0], rel=0.02)
    assert times[2] == pytest.approx(4 * times[0], rel=0.02)


@pytest.mark.parametrize("collective", ["all_reduce", "all_gather"])
@pytest.mark.parametrize(("outer", "count"), [("ring", 3), ("rdh", 4), ("mesh", 3)])
@pytest.mark.parametrize(
    "unlike",
    [
        Options(degraded=(("s2.d0", "s2.d1", 0.25),), ideal=True),
        Options(degraded=(("s1.efa0", "network", 0.5),), ideal=True),
        Options(straggler=((33, 0.02),)),
    ],
    ids=["link", "adapter", "straggler"],
)
def test_an_instance_unlike_the_others_stands_for_itself(
    registry: Registry,
    monkeypatch: pytest.MonkeyPatch,
    unlike: Options,
    count: int,
    outer: str,
    collective: str,
) -> None:
    monkeypatch.setattr(systems, "WHOLE", 0)
    name, size = f"hierarchical-{outer}", 3 * 2.0**24
    fabric = Fabric(registry.system(f"trn1-ultracluster:{count}"), unlike)
    whole, few = fabric.network, fabric.standing()
    assert len(fabric.unlike) == 1
    assert few.size == 32
    try:
        full = solve(whole, ALGORITHMS[name].schedule(whole, collective, size))
    except NotPossible:
        assert outer == "rdh"
        return
    compact = solve(few, OVER_INSTANCES[name].over_instances(few, collective, size, count))
    alike = Fabric(registry.system(f"trn1-ultracluster:{count}"), Options(ideal=unlike.ideal))
    plan = OVER_INSTANCES[name].over_instances(alike.standing(), collective, size, count)
    usual = solve(alike.standing(), plan)
    assert compact.total_ticks > 1.05 * usual.total_ticks
    # All partners are taken to wait as one does; what they pass on among each other is missing.
    assert 0.92 * full.total_ticks <= compact.total_ticks <= full.total_ticks + 64


@pytest.mark.parametrize("collective", NAMES)
def test_a_small_cluster_with_a_slow_link_is_simulated_as_it_is(registry: Registry, collective: str) -> None:
    system = registry.system("trn1-ultracluster:4")
    fabric = Fabric(system, Options(degraded=(("s3.d0", "s3.d1", 0.1),)))
    assert fabric.standing().size == fabric.size
    slow, whole = (run(each, collective, 64 * MIB) for each in (fabric, Fabric(system)))
    assert slow.time_s >= whole.time_s * (1 - 1e-9)
    assert slow.waterfall.total == round(slow.time_s * 1e12)


def test_a_slow_link_in_thirty_thousand_devices_costs_what_it_costs_in_few(registry: Registry) -> None:
    large = registry.system("trn1-ultracluster")
    slow = Fabric(large, Options(degraded=(("s1874.d3", "s1874.d2", 0.1),)))
    found, whole = (run(each, "all_reduce", GIB) for each in (slow, Fabric(large)))
    assert found.time_s > whole.time_s
    assert run(Fabric(large, Options(late=((29_999, 1.0),))), "all_reduce", MIB).time_s > 1.0
    both = Options(straggler=((0, 0.01), (31, 0.01)))
    few = Fabric(registry.system("trn1-ultracluster:2"), both)
    assert few.standing().size == 32  # all there are stand for themselves
    assert run(few, "all_to_all", MIB).time_s > run(Fabric(few.system), "all_to_all", MIB).time_s


def test_groups_lie_on_the_grid_of_ranks(registry: Registry) -> None:
    fabric = Fabric(registry.system("trn2-16.48xlarge"))
    sizes = {"data": 4, "tensor": 4}
    assert fabric.groups(sizes, "tensor")[:2] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert fabric.groups(sizes, "data")[:2] == [[0, 4, 8, 12], [1, 5, 9, 13]]
    row = run(fabric, "all_reduce", GIB, ranks=(0, 1, 2, 3), algorithm="ring")
    assert (row.ranks, row.factor) == (4, 1.5)


def test_a_collective_beside_another_takes_longer_and_says_how_much(registry: Registry) -> None:
    fabric = Fabric(registry.system("trn2-16.48xlarge"), Options(ideal=True))
    alone = run(fabric, "all_reduce", GIB, algorithm="ring")
    same = run(
        fabric,
        "all_reduce",
        GIB,
        beside=(Beside(collective="all_reduce", size=GIB, algorithm="ring"),),
        algorithm="ring",
    )
    # All but the latency, which they do not share.
    assert same.time_s == pytest.approx(2 * alone.time_s - alone.latency_s, rel=1e-6)
    assert same.notes[-2:] == ("beside all_reduce of 1,073,741,824 B by ring", "1.98 times as long as alone")
    assert same.waterfall.total == round(same.time_s * 1e12)
    assert same.waterfall.contention >= alone.waterfall.contention
    assert all(each.utilisation <= 1 + 1e-9 for each in same.hottest)
    # What ends soon frees its links: half of the other's bytes cost half of its time.
    short = run(
        fabric,
        "all_reduce",
        GIB,
        beside=(Beside(collective="all_reduce", size=GIB / 2, algorithm="ring"),),
        algorithm="ring",
    )
    assert short.time_s == pytest.approx(1.5 * alone.time_s, rel=2e-2)
    # Rows of the torus have links of their own.
    rows = ((0, 1, 2, 3), (4, 5, 6, 7))
    one = run(
        fabric,
        "all_reduce",
        GIB,
        beside=(Beside(collective="all_reduce", size=GIB, algorithm="ring", groups=rows[1:]),),
        algorithm="ring",
        groups=rows[:1],
    )
    assert one.notes[-1] == "1.00 times as long as alone"


def test_messages_take_all_cheapest_routes(registry: Registry) -> None:
    fabric = Fabric(registry.system("trn2-16.48xlarge"), Options(ideal=True))
    near, far = (run(fabric, "send", GIB, ranks=(0, dst)) for dst in (1, 10))
    assert far.latency_s == pytest.approx(4 * near.latency_s)  # the far corner of a 4×4 torus
    alone = near.time_s - near.latency_s
    assert far.time_s - far.latency_s == pytest.approx(alone / 4, rel=1e-9)  # and all four cables lead there
    assert run(fabric, "ping_pong", GIB, ranks=(0, 1)).time_s == pytest.approx(2 * near.time_s)
    assert run(fabric, "send", GIB, ranks=(1, 0)).time_s == near.time_s
    into = run(fabric, "incast", GIB, ranks=(0,))
    assert 15 * GIB / into.time_s <= 4 * GIB / alone  # over the four cables that end there
    # Eight cables lead from half to half of a 4×4 torus, and eight back.
    assert 16 * GIB / run(fabric, "halves", GIB).time_s <= 16 * GIB / alone


def test_what_flows_take_from_each_other_is_contention(registry: Registry) -> None:
    fabric = Fabric(registry.system("trn2-16.48xlarge"), Options(ideal=True))
    fall = run(fabric, "all_to_all", GIB, algorithm="direct").waterfall
    # A cable of the 4×4 torus carries half a buffer, 15/64 of one must leave over each.
    assert fall.contention / fall.total == pytest.approx(1 - 15 / 32, rel=1e-2)
    assert fall.algorithm == 0
    # On a ring every message has its cable to itself: what is lost is lost by the three that stay idle.
    ring = run(fabric, "all_gather", GIB, algorithm="ring-1").waterfall
    assert ring.contention <= 64
    assert ring.algorithm / ring.total == pytest.approx(3 / 4, rel=1e-2)


def test_messages_go_the_way_that_they_say(registry: Registry) -> None:
    slow = Options(degraded=(("d0", "d1", 0.25),), ideal=True)
    fabric = Fabric(registry.system("trn2-16.48xlarge"), slow)
    there, back = (run(fabric, "send", GIB, ranks=ranks).time_s for ranks in ((0, 1), (1, 0)))
    assert there > 3 * back
    # What is read comes from the first of the two, what is asked for goes to it; both ways are a ping-pong.
    of_the_first, of_the_second = (run(fabric, "read", GIB, ranks=ranks).time_s for ranks in ((0, 1), (1, 0)))
    assert of_the_first == pytest.approx(there, rel=1e-2)
    assert of_the_second == pytest.approx(back, rel=1e-2)
    for ranks in ((0, 1), (1, 0)):
        assert run(fabric, "ping_pong", GIB, ranks=ranks).time_s == pytest.approx(there + back, rel=1e-9)
    assert run(fabric, "incast", GIB, ranks=(1, 0)).time_s == there
    assert run(fabric, "incast", GIB, ranks=(0, 1)).time_s == back


@pytest.mark.parametrize("system", ["trn3-gen1-ultraserver", "trn3-gen2-ultraserver"])
def test_rings_use_the_links_of_every_level(registry: Registry, system: str) -> None:
    fabric = Fabric(registry.system(system), Options(ideal=True))
    one, all_of_them = (run(fabric, "all_reduce", GIB, algorithm=name) for name in ("ring-1", "ring"))
    assert all_of_them.time_s < one.time_s / 3
    assert all_of_them.bound.time_s > 0.6 * all_of_them.time_s
    found = run(fabric, "all_reduce", GIB, algorithm="ring")
    busiest: dict[str, float] = {}
    for link in found.links:
        busiest[link.cls] = max(busiest.get(link.cls, 0.0), link.utilisation)
    assert min(busiest.values()) > 0.8
    walks = levels.level_walks(fabric.network)
    assert sum(share for _, share in walks) == pytest.approx(1)
    coords = [node.coord for node in fabric.topology.devices]
    for walk, _ in walks:
        assert sorted(walk) == list(range(fabric.size))
        for a, b in zip(walk, (*walk[1:], walk[0]), strict=True):
            assert sum(x != y for x, y in zip(coords[a], coords[b], strict=True)) == 1


def test_what_best_leaves_out_is_said(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = Fabric(registry.system("trn2-16.48xlarge"))
    every = run(fabric, "broadcast", MIB, algorithm="best")
    assert every.left_out == {}
    assert set(every.tried) == {"ring-1", "ring-2", "ring", "mesh", "scatter-gather", "tree"}
    monkeypatch.setattr(planner, "MOST_MESSAGES", 100)
    some = run(fabric, "broadcast", 2 * MIB, algorithm="best")
    assert set(some.left_out) | set(some.tried) == set(every.tried)
    assert some.left_out["ring-1"] == "240 messages, only on request"
    assert some.detail()["not_tried"] == some.left_out


@pytest.mark.parametrize("system", ["trn1.32xlarge", "trn2-16.48xlarge", "u-trn2x64", "trn1-ultracluster"])
def test_a_message_between_two_devices_pays_start_and_step_once(registry: Registry, system: str) -> None:
    fabric = Fabric(registry.system(system))
    small = fabric.of_size(2) if fabric.clustered else fabric
    reaches = ("neighbour", "other-host") if "u-" in system or fabric.clustered else ("neighbour",)
    for reach in reaches:
        there = fabric.size // fabric.system.size if fabric.clustered else 16
        # The first that documents print in the row of device 0.
        dst = 12 if reach == "neighbour" else there
        assert rank_at(small.topology, reach, system) == dst
        for size in (1.0, MIB, GIB):
            sent = run(small, "send", size, ranks=(0, dst))
            costs = fabric.constants
            assert sent.overhead_s == pytest.approx(costs.gather_start + costs.step)
            read = run(small, "read", size, ranks=(0, dst))
            # The request crosses the links once more; start and step are paid once.
            assert read.time_s == pytest.approx(sent.time_s + sent.latency_s, rel=1e-9)
            assert read.overhead_s == pytest.approx(sent.overhead_s)
            assert read.bound.time_s <= read.time_s
            assert sent.bound.time_s <= sent.time_s
            assert sent.waterfall.total == round(sent.time_s * 1e12)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda f: run(f, "gossip", 1), "unknown collective 'gossip'"),
        (lambda f: run(f, "all_reduce", 0), "a message of 0 bytes cannot be sent"),
        (lambda f: run(f, "all_reduce", float("nan")), "a message of nan bytes cannot be sent"),
        (lambda f: run(f, "all_reduce", 8, algorithm="magic"), "unknown algorithm 'magic'"),
        (lambda f: run(f, "all_to_all", 8, algorithm="ring"), "ring does no all_to_all"),
        (lambda f: run(f, "all_reduce", 8, ranks=(0,)), "a collective needs at least 2 ranks"),
        (lambda f: run(f, "all_reduce", 8, ranks=(0, 99)), "rank 99 is not there"),
        (lambda f: f.groups({"data": 3, "tensor": 4}, "data"), "3 data × 4 tensor does not divide 16 ranks"),
        (lambda f: f.groups({"data": 4, "tensor": 4}, "expert"), "unknown group 'expert'"),
        (lambda f: run(f, "send", 8, ranks=(0, 16)), "rank 16 is not there"),
        (lambda f: run(f, "send", -8, ranks=(0, 1)), "a message of -8 bytes cannot be sent"),
        (lambda f: run(f, "send", 8, ranks=(3, 3)), "send does not take ranks 3, 3"),
        (lambda f: run(f, "read", 8), "read does not take ranks of no number"),
        (lambda f: run(f, "ping_pong", 8, ranks=(0, 1, 2)), "ping_pong does not take ranks 0, 1, 2"),
        (lambda f: run(f, "incast", 8, ranks=(0, 1, 1)), "incast does not take ranks 0, 1, 1"),
        (
            lambda f: run(f, "all_reduce", 8, ranks=(0, 1), groups=((2, 3),)),
            "some ranks alone have no groups and nothing beside them",
        ),
        (lambda f: Fabric(f.system, Options(level="chip")), "ranks cannot be 'chip'"),
        (
            lambda f: Fabric(f.system, Options(oversubscription=0.5)),
            "an oversubscription of 0.5 makes no sense",
        ),
        (lambda f: Fabric(f.system, Options(straggler=((0, -1.0),))), "a straggler at -1 makes no sense"),
        (lambda f: Fabric(f.system, Options(straggler=((0, 0.0),))), "a straggler at 0 makes no sense"),
        (lambda f: Fabric(f.system, Options(straggler=((16, 0.5),))), "rank 16 is not there"),
        (lambda f: Fabric(f.system, Options(late=((1, -1.0),))), "a rank cannot be -1 s late"),
        (
            lambda f: Fabric(f.system, Options(degraded=(("d0", "d1", float("nan")),))),
            "a factor of nan makes no sense",
        ),
        (
            lambda f: Fabric(f.system, Options(degraded=(("d0", "d10", 0.5),))).network,
            "trn2-16.48xlarge has no link d0 > d10",
        ),
        (
            lambda f: Fabric(f.system, Options(degraded=(("d0", "moon", 0.5),))).network,
            "trn2-16.48xlarge has no node 'moon'",
        ),
        (
            lambda f: published_question(f.system, "all_reduce", 8, 999),
            "999 ranks on 1 nodes do not fit",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(registry: Registry, call: Any, text: str) -> None:
    fabric = Fabric(registry.system("trn2-16.48xlarge"))
    with pytest.raises(UsageError) as refusal:
        call(fabric)
    assert str(refusal.value).startswith(text)


@pytest.mark.parametrize(
    ("collectives", "start"),
    [
        (("all_reduce", "barrier"), 13.0),
        (("reduce_scatter", "reduce"), 10.0),
        (("all_gather", "all_to_all", "broadcast", "permute"), 3.0),
    ],
)
def test_who_gathers_and_who_reduces_pays_its_start(collectives: tuple[str, ...], start: float) -> None:
    costs = {"gather_start_us": {"value": 3.0}, "reduce_start_us": {"value": 10.0}, "step_us": {"value": 2.0}}
    constants = constants_of({"fabric": costs})
    for name in collectives:
        paid = constants.charged(Schedule(algorithm="some", chains=()), name.replace("barrier", "all_reduce"))
        assert paid.startup_s == pytest.approx(start * 1e-6)
        assert paid.per_message_s == pytest.approx(2e-6)


def test_constants_that_make_no_sense_are_refused() -> None:
    for key, value in (("hbm_efficiency", 1.5), ("step_us", -1.0), ("network_in_flight", 0.5)):
        with pytest.raises(FactError) as refusal:
            constants_of({"fabric": {key: {"value": value}}})
        assert str(refusal.value).startswith(f"[fabric.{key}] of the cost table: {value:g} makes no sense")
    assert constants_of({}).rules == ()
