"""Whether a graph is what documents say of it: counts, ports, names, totals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from math import isclose

from trnbench.errors import counted
from trnbench.facts.fact import FactBook
from trnbench.facts.units import show
from trnbench.record import Record
from trnbench.topology.cycles import disjoint
from trnbench.topology.figures import Figures
from trnbench.topology.graph import Budget, NodeKind, Topology, neighbour_table, torus_sides
from trnbench.topology.properties import Properties, properties
from trnbench.topology.routing import Router
from trnbench.topology.soundness import components, one_way_links, parts_of, unrouted

_HYPERCUBE = re.compile(r"(\d+)D[- ]?hyper-?cube", re.IGNORECASE)
_TORUS = re.compile(r"(?:(\d+(?:x\d+)+),? ?)?(\d+)D torus", re.IGNORECASE)
_LINE = re.compile(r"(ring|chain) of (\d+)", re.IGNORECASE)


def claim(topology: Topology, found: Properties, words: str) -> tuple[bool | None, str]:
    """(true or false, the proof); None where no rule tests the words."""
    if match := _HYPERCUBE.search(words):
        if "network" in topology.shape:
            return None, "said of one instance, not of the cluster"
        bits = int(match[1])
        good = found.hypercube is not None and len(found.hypercube) == 1 << bits
        return good, f"a map onto the {bits}D hypercube keeps every link" if good else "no such map exists"
    sides = torus_sides(topology)
    if match := _TORUS.search(words):
        wanted = tuple(map(int, match[1].split("x"))) if match[1] else None
        kind = f"a torus of {' × '.join(map(str, sides))}" if sides else "no torus"
        good = sides is not None and len(sides) == int(match[2]) and wanted in (None, sides)
        return good, f"the graph is {kind}"
    if match := _LINE.search(words):
        good = topology.shape == (match[1].lower(), int(match[2]))
        return good, f"the graph is a {' of '.join(map(str, topology.shape))}"
    if words.lower() == "ring" and sides is not None:
        count = len(topology.devices) // sides[0]
        good = _rings_between(topology, count, sides[0])
        return good, f"devices of one index in {sides[0]} instances form {counted(count, 'ring')}"
    if words.lower() == "all-to-all" and found.distances is not None:
        good = topology.shape[:1] == ("switched",)
        return (
            good,
            f"over switches, at most {counted(found.distances.diameter, 'link')} apart; "
            "not a link for every pair",
        )
    return None, "no rule tests this name"


def _rings_between(topology: Topology, count: int, length: int) -> bool:
    """Whether the links between servers are `count` rings of `length` devices each."""
    devices = topology.devices
    outward = [
        [n for n in neighbours if devices[n].host != device.host]
        for device, neighbours in zip(devices, neighbour_table(topology), strict=True)
    ]
    rings = all(len(ends) == 2 for ends in outward)
    return rings and [len(ring) for ring in parts_of(outward)] == [length] * count


class Expected(Record, kw_only=True):
    """What facts say of a system, as (value, origin); several where documents differ.

    `counts` are by node kind or "server", `ports` the NeuronLink ports of a device, `names` those that
    documents give the graph.
    """

    counts: dict[str, tuple[tuple[int, str], ...]] = {}
    ports: tuple[tuple[int, str], ...] = ()
    names: tuple[tuple[str, str], ...] = ()


def expected_of(
    book: FactBook, instance: str, device: str, *, parent: str = "", size: int = 1, cores: bool = False
) -> Expected:
    """What `book` says of an instance, or of `size` instances `parent` joined to a cluster."""
    counts: dict[str, tuple[tuple[int, str], ...]] = {}

    def add(kind: str, subject: str, metric: str, times: int = 1) -> None:
        documented = _numbers(book, subject, metric, times)
        if documented:
            counts[kind] = documented

    subject = parent or instance
    times = size if parent else 1
    add("device", subject, "device_count", times)
    if parent:
        counts["server"] = ((size, f"the size asked for, {instance}"),)
    else:
        add("server", instance, "host_count")
    servers = counts.get("server", ((1, ""),))[0][0]
    add("host", subject, "numa_node_count", servers)
    add("adapter", subject, "efa_adapter_count", times)
    if cores and "device" in counts:
        add("core", device, "core_count", counts["device"][0][0])
    names = [fact for fact in book.select(subject, "topology_name") if not fact.superseded_by]
    return Expected(
        counts=counts,
        ports=_numbers(book, device, "neuronlink_port_count"),
        names=tuple((fact.printed, fact.id) for fact in names),
    )


def _numbers(book: FactBook, subject: str, metric: str, times: int = 1) -> tuple[tuple[int, str], ...]:
    return tuple(
        (round(fact.value) * times, fact.id)
        for fact in Figures(book, (subject,)).current(subject, metric)
        if fact.value is not None
    )


ROUNDING = 0.005
"""Documents round their figures; a sum may differ from one by half a percent."""


class Verdict(StrEnum):
    OK = "ok"
    FAILED = "failed"
    NOTE = "note"  # worth reading, no failure: documents disagree, or a claim cannot be tested


class Check(Record, kw_only=True):
    name: str
    verdict: Verdict
    detail: str


def check_topology(topology: Topology, expected: Expected) -> list[Check]:
    """All checks that apply, in a fixed order."""
    summary = properties(topology)
    checks = [_directions(topology), _connected(topology)]
    checks += _counts(topology, expected)
    checks += _ports(summary, expected)
    checks += [_budget(topology, budget) for budget in topology.budgets]
    checks += [_neighbours(topology, source) for source in topology.printed_neighbours]
    checks += [_named(topology, summary, words, origin) for words, origin in expected.names]
    checks += _cycles(summary)
    return checks


def failed(checks: Iterable[Check]) -> bool:
    return any(check.verdict is Verdict.FAILED for check in checks)


def _result(name: str, good: bool, detail: str) -> Check:
    return Check(name=name, verdict=Verdict.OK if good else Verdict.FAILED, detail=detail)


def _directions(topology: Topology) -> Check:
    single = one_way_links(topology)
    if not single:
        cables = len(topology.links) // 2
        if not cables:
            return _result("symmetry", True, "there is no cable that carries one direction alone")
        cables_words = "the one cable carries" if cables == 1 else f"all {cables:,} cables carry"
        return _result("symmetry", True, f"{cables_words} both directions alike")
    first = single[0]
    pair = f"{topology.nodes[first.src].name} → {topology.nodes[first.dst].name}"
    without = counted(len(single), "link") + (" has" if len(single) == 1 else " have")
    return _result("symmetry", False, f"{without} no way back, the first is {pair}")


def _connected(topology: Topology) -> Check:
    parts = components(topology)
    if len(parts) > 1:
        away = parts[1][0].name
        return _result(
            "connectivity",
            False,
            f"the graph falls into {len(parts):,} parts; {away} is cut off from the first",
        )
    lost = unrouted(topology, Router(topology))
    if lost:
        return _result(
            "connectivity",
            False,
            f"no route leads from {topology.devices[0].name} to {counted(len(lost), 'device')}, the first is"
            f" {lost[0].name}; only a host joins them",
        )
    count = len(topology.devices)
    words = "there is one device" if count == 1 else f"every one of {count:,} devices reaches every other"
    return _result("connectivity", True, words)


def _counts(topology: Topology, expected: Expected) -> Iterator[Check]:
    have = Counter(node.kind.value for node in topology.nodes)
    have["server"] = len({node.host for node in topology.of_kind(NodeKind.HOST)})
    for kind, documented in expected.counts.items():
        agreeing = [origin for value, origin in documented if value == have[kind]]
        differing = [f"{value:,} ({origin})" for value, origin in documented if value != have[kind]]
        detail = f"{have[kind]:,} in the graph"
        if agreeing:
            detail += f", as {agreeing[0]} says"
        if differing:
            detail += "; documents also say " if agreeing else "; documents say "
            detail += ", ".join(differing)
        yield _result(f"number of {kind}s", bool(agreeing), detail)


def _ports(found: Properties, expected: Expected) -> Iterator[Check]:
    """More cables than ports is no failure: documents count the ports of one instance."""
    for value, origin in expected.ports:
        used = found.degree[1]
        if used:
            fits = used == value
            detail = f"{counted(used, 'cable')} per device, "
            detail += ("as" if fits else counted(value, "port")) + f" {origin} says"
            yield Check(name="ports of a device", verdict=Verdict.OK if fits else Verdict.NOTE, detail=detail)


def totals(topology: Topology, budget: Budget) -> dict[str, float]:
    """What the links of a budget add up to, in bytes/s, for each device, server or the system."""
    devices = budget.owner == "device"
    sums = {device.name: 0.0 for device in topology.devices if devices}
    for link in topology.links:
        node = topology.nodes[link.src]
        if link.cls in budget.classes and node.kind is (NodeKind.DEVICE if devices else NodeKind.ADAPTER):
            owner = {"device": node.name, "server": f"server {node.host}"}.get(budget.owner, topology.name)
            sums[owner] = sums.get(owner, 0.0) + topology.bandwidth(link)
    return sums


def _budget(topology: Topology, budget: Budget) -> Check:
    name = f"sum of links, {budget.name}"
    sums = totals(topology, budget)
    wanted = budget.figure.value
    wrong = {owner: value for owner, value in sums.items() if not isclose(value, wanted, rel_tol=ROUNDING)}
    ends = topology.shape[:1] == ("chain",) and len(wrong) == 2
    if (wrong and not ends) or not sums:
        if not sums:
            return _result(name, False, f"no link of {' or '.join(budget.classes)} exists")
        owner, value = next(iter(wrong.items()))
        return _result(
            name,
            False,
            f"{owner} has {show(value, 'B/s')}, documented are {show(wanted, 'B/s')}"
            f" ({budget.figure.origin}); {len(wrong):,} of {len(sums):,} differ",
        )
    detail = f"{show(wanted, 'B/s')} = {budget.figure.formula}"
    if ends:
        detail += "; the two ends of the chain have half, one of their ports is unused"
    agree = [o for o, r in budget.readings.items() if isclose(r.value, wanted, rel_tol=ROUNDING)]
    differ = [
        f"{origin}: {show(reading.value, 'B/s')}"
        for origin, reading in budget.readings.items()
        if origin not in agree
    ]
    if agree:
        detail += f", as {agree[0]} says"
    if differ:
        detail += "; documents also say " + ", ".join(differ)
    return _result(name, bool(agree) or not budget.readings, detail)


def _neighbours(topology: Topology, source: str) -> Check:
    """Every server's devices against the printed table, the order included.

    Links that leave the server come after those of the table: the tool numbers one server's devices.
    """
    printed = topology.printed_neighbours[source]
    name = f"neighbour table of {source}"
    own = neighbour_table(topology)
    per_server = len(printed)
    for device, neighbours in enumerate(own):
        base = device - device % per_server
        inside = [n - base for n in neighbours if base <= n < base + per_server]
        if tuple(inside) != printed[device % per_server]:
            shown = list(printed[device % per_server])
            return _result(name, False, f"device {device} has neighbours {inside}, printed are {shown}")
    servers = len(own) // per_server
    servers_words = "" if servers == 1 else f", in each of {servers:,} servers"
    return _result(name, True, f"{per_server} rows equal, the order of neighbours included{servers_words}")


def _named(topology: Topology, found: Properties, words: str, origin: str) -> Check:
    good, proof = claim(topology, found, words)
    verdict = Verdict.NOTE if good is None else Verdict.OK if good else Verdict.FAILED
    return Check(name=f"“{words}”", verdict=verdict, detail=f"{proof} ({origin})")


def _cycles(found: Properties) -> Iterator[Check]:
    if found.cycles:
        count = len(found.cycles)
        good = disjoint(found.cycles) and all(
            sorted(cycle) == list(range(found.nodes["device"])) for cycle in found.cycles
        )
        noun = "cycle" if count == 1 else "cycles that share no cable"
        yield _result("Hamiltonian cycles", good, f"{count} {noun}, each through every device once")
