"""Documented systems: data delivered, messages, rings on the links of every level."""

from __future__ import annotations

from typing import Any

import pytest
from campaigns import sweep
from fabric_question import GIB, MIB, SYSTEMS, run
from msgspec.structs import replace

from trnbench.errors import TopologyError, UsageError
from trnbench.registry import Registry
from trnbench.topology import NodeKind
from trnbench_emulator.commands.fabric.pairs import _pair
from trnbench_emulator.compiler import assuming
from trnbench_emulator.fabric import cycles, planner
from trnbench_emulator.fabric.algorithms import ALGORITHMS
from trnbench_emulator.fabric.algorithms.algorithm import NotPossible
from trnbench_emulator.fabric.cases import rank_at
from trnbench_emulator.fabric.constants import constants_of
from trnbench_emulator.fabric.question import Beside
from trnbench_emulator.fabric.schedule import Schedule
from trnbench_emulator.fabric.sensitivity import sensitivity
from trnbench_emulator.fabric.solve import solve
from trnbench_emulator.fabric.systems import Fabric, Options


@pytest.mark.parametrize("system", sweep(SYSTEMS, ("trn2-16.48xlarge", "trn3-gen1-ultraserver").__contains__))
@pytest.mark.parametrize("level", ["device", "core"])
def test_kangaring_and_switches_deliver_the_right_data(
    registry: Registry, delivers: Any, system: str, level: str
) -> None:
    network = Fabric(registry.system(system), Options(level=level)).network
    if network.size > 144:
        return
    done = 0
    for name in ("kangaring", "switch-direct", "switch-direct-all", "ring"):
        try:
            delivers(network, ALGORITHMS[name], "all_reduce")
        except NotPossible:
            continue
        done += 1
    assert done


@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
def test_the_root_exchanges_with_each_lane_what_that_lane_carries(
    registry: Registry, delivers: Any, collective: str
) -> None:
    """Lanes along dimensions of unlike rates have unlike shares of the buffer."""
    system = registry.system("trn1.32xlarge")
    options = Options(level="logical-core")
    delivers(Fabric(system, options).network, ALGORITHMS["scatter-gather"], collective)
    usual = system.book.assumptions["neuronlink-hop-latency"].value
    fabrics = [Fabric(assuming(system, "neuronlink-hop-latency", n * usual), options) for n in (1, 2)]
    near, far = (run(each, collective, 64 * MIB).time_s for each in fabrics)
    assert near < far


def test_kangaring_accesses_memory_as_often_as_documented(registry: Registry) -> None:
    network = Fabric(registry.system("trn2-16.48xlarge"), Options(level="logical-core")).network
    n, size = network.size, GIB
    for collective, ring, kangaring in (("all_gather", 4, 3), ("reduce_scatter", 6, 4)):
        for name, accesses in (("ring", ring), ("kangaring", kangaring)):
            found = solve(network, ALGORITHMS[name].schedule(network, collective, size), most=4096)
            pairs = network.ranks_per_device / 2
            assert found.accessed.max() / size / pairs == pytest.approx(accesses, rel=2.5 / n)


def test_a_rank_whose_core_no_document_tells_the_rate_of_is_its_device_or_refused(registry: Registry) -> None:
    """`trn1.32xlarge` without its costs stands for systems that have none."""
    of_devices = [
        run(Fabric(registry.system("hgx-h100"), Options(level=level)), "all_reduce", MIB)
        for level in ("device", "logical-core", "core")
    ]
    assert {(each.level, each.ranks, each.time_s) for each in of_devices} == {
        ("device", 8, of_devices[0].time_s)
    }
    _, shifts = sensitivity(Fabric(registry.system("hgx-h100")).question("all_reduce", MIB))
    assert {each.name for each in shifts} == {"nvswitch-latency"}
    system = registry.system("trn1.32xlarge")
    facts = tuple(fact for fact in system.book.facts if fact.metric != "dma_bandwidth")
    unknown = replace(system, costs={}, book=replace(system.book, facts=facts))
    assert run(Fabric(unknown), "all_reduce", MIB).time_s > 0
    with pytest.raises(UsageError, match="no document says how fast a core"):
        run(Fabric(unknown, Options(level="core")), "all_reduce", MIB)


def test_messages_that_take_no_time_have_no_rate(registry: Registry) -> None:
    system = assuming(registry.system("host-ranks"), "rank-latency", 0.0)
    quick = Fabric(assuming(system, "rank-bandwidth", 1e14))
    with pytest.raises(UsageError, match="1 B on these links take no time"):
        _pair(quick, 0, 1, 1)


def test_a_slow_link_a_straggler_and_oversubscription_cost_time(registry: Registry) -> None:
    system = registry.system("trn2-16.48xlarge")
    whole = run(Fabric(system), "all_gather", GIB, algorithm="ring").time_s
    slow = Fabric(system, Options(degraded=(("d0", "d1", 0.5), ("d0", "d4", 0.5))))
    assert slow.network.symmetry is None
    assert run(slow, "all_gather", GIB, algorithm="ring").time_s > 1.2 * whole
    lame = Fabric(system, Options(straggler=((3, 0.1),)))
    assert run(lame, "all_gather", GIB, algorithm="ring").time_s > 1.2 * whole
    beside = [
        Fabric(system, Options(level="core", straggler=each)) for each in (((3, 0.1), (2, 0.9)), ((3, 0.1),))
    ]
    assert len({run(each, "all_gather", MIB, algorithm="mesh").time_s for each in beside}) == 1
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


def test_the_link_of_one_rank_may_be_slow_or_dead(registry: Registry) -> None:
    system = registry.system("trn1.32xlarge")
    links = (Options(level="core", degraded=(("d7.r1", "d7", left),)) for left in (1.0, 0.1, 0.0))
    whole, slow, dead = (Fabric(system, options) for options in links)
    assert run(slow, "permute", 64 * MIB).time_s > 2 * run(whole, "permute", 64 * MIB).time_s
    assert dead.network.device_nodes == whole.network.device_nodes
    with pytest.raises(TopologyError, match=r"no route from d7\.r1"):
        run(dead, "permute", MIB)


@pytest.mark.parametrize("algorithm", ["mesh", "auto"])
def test_a_graph_makes_the_wait_for_a_late_rank_no_longer(registry: Registry, algorithm: str) -> None:
    system = registry.system("trn1.32xlarge")
    late = (Fabric(system, Options(context="graph", late=((3, wait_s),))) for wait_s in (0.0, 1e-3))
    healthy, waited = (run(each, "all_gather", 4096.0, algorithm=algorithm) for each in late)
    assert healthy.time_s < waited.time_s <= healthy.time_s + 1e-3
    low, high = waited.range_s or (0.0, 0.0)
    assert low <= waited.time_s <= high
    assert high - low < 1e-4
    assert min(waited.tried.values(), default=waited.time_s) == waited.time_s


@pytest.mark.parametrize(
    ("lone", "many"), [("trn1.2xlarge", "trn1.32xlarge"), ("trn2.3xlarge", "trn2-16.48xlarge")]
)
def test_what_stays_in_a_device_takes_as_long_wherever_the_device_is(
    registry: Registry, lone: str, many: str
) -> None:
    here, there = (Fabric(registry.system(name), Options(level="logical-core")) for name in (lone, many))
    groups = {"groups": tuple(map(tuple, there.groups({"data": 16, "tensor": here.size}, "tensor")))}
    for collective in ("all_reduce", "all_to_all"):
        alone, beside = run(here, collective, 64 * MIB), run(there, collective, 64 * MIB, **groups)
        assert beside.time_s == alone.time_s
        others = (Beside(collective="all_reduce", size=MIB),)
        assert run(there, collective, 64 * MIB, beside=others, **groups).time_s >= alone.time_s
    pairs = [run(each, "ping_pong", 64 * MIB, ranks=(0, 1)).time_s for each in (here, there)]
    assert pairs[0] == pairs[1]
    senders = range(1, here.size + 2)
    incasts = [
        run(there, "incast", 64 * MIB, ranks=(0, *senders[:n])).time_s for n in range(1, here.size + 2)
    ]
    assert incasts == sorted(incasts)
    assert incasts[here.size - 2] == run(here, "incast", 64 * MIB, ranks=(0,)).time_s
    assert incasts[0] == run(there, "send", 64 * MIB, ranks=(1, 0)).time_s


@pytest.mark.parametrize(
    ("lone", "many"), [("trn1.32xlarge", "trn1-ultracluster:2"), ("trn2-16.48xlarge", "u-trn2x64")]
)
@pytest.mark.parametrize("algorithm", ["ring", "auto"])
def test_groups_that_are_whole_instances_take_the_plan_of_one(
    registry: Registry, lone: str, many: str, algorithm: str
) -> None:
    here, there = (Fabric(registry.system(name)) for name in (lone, many))
    groups = tuple(map(tuple, there.groups({"data": there.size // 16, "tensor": 16}, "tensor")))
    alone, together = (
        run(fabric, "all_reduce", 64 * MIB, algorithm=algorithm, groups=each)
        for fabric, each in ((here, ()), (there, groups))
    )
    assert (together.algorithm, together.time_s) == (alone.algorithm, alone.time_s)


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
    walks = cycles.level_walks(fabric.network)
    assert sum(share for _, share in walks) == pytest.approx(1)
    coords = [node.coord for node in fabric.topology.devices]
    for walk, _ in walks:
        assert sorted(walk) == list(range(fabric.size))
        for a, b in zip(walk, (*walk[1:], walk[0]), strict=True):
            assert sum(x != y for x, y in zip(coords[a], coords[b], strict=True)) == 1


def test_what_best_leaves_out_is_said(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = Fabric(registry.system("trn2-16.48xlarge"))
    every = run(fabric, "all_reduce", MIB, algorithm="best")
    assert every.left_out == {}
    rings = {"ring-1", "ring-2", "ring", "bucket-1", "bucket-2", "bucket"}
    assert set(every.tried) == {*rings, "mesh", "single-step-mesh", "rdh", "tree"}
    monkeypatch.setattr(planner, "MOST_MESSAGES", 60)
    some = run(fabric, "all_reduce", 2 * MIB, algorithm="best")
    assert set(some.left_out) | set(some.tried) == set(every.tried)
    assert some.left_out["ring-2"] == "64 messages, only on request"
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


@pytest.mark.parametrize(
    "name", ["trn1.32xlarge", "trn1-ultracluster:2", "trn2-16.48xlarge", "trn3-gen2-ultraserver"]
)
@pytest.mark.parametrize("ranks", [(0, 1), (3, 2, 9), tuple(range(0, 32, 4))])
def test_a_part_has_the_links_among_its_devices_and_switches(
    registry: Registry, name: str, ranks: tuple[int, ...]
) -> None:
    network = Fabric(registry.system(name), Options(level="logical-core")).network
    part = network.part(ranks)
    own = {network.ranks[rank] for rank in ranks}
    core = {link.src: link.dst for link in network.links if network.nodes[link.src].kind is NodeKind.CORE}
    own |= {core[node] for node in own if node in core}
    own |= {at for at, node in enumerate(network.nodes) if node.kind is NodeKind.SWITCH}
    among = [link for link in network.links if {link.src, link.dst} <= own]
    ids = [(network.nodes[link.src].id, network.nodes[link.dst].id, link.cls) for link in among]
    assert [(part.nodes[link.src].id, part.nodes[link.dst].id, link.cls) for link in part.links] == ids
    assert [part.nodes[at].id for at in part.ranks] == [
        network.nodes[network.ranks[rank]].id for rank in ranks
    ]
