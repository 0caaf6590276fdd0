"""The narrowest cut that halves the devices: how many cables, and how many bytes per second, cross it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import prod

from trnbench.record import Record
from trnbench.topology.graph import Link, LinkKind, NodeKind, Topology, torus_sides

EXHAUSTIVE_UP_TO = 16
"""Devices (without switches) below which every halving is tried."""


class Bisection(Record, kw_only=True):
    """`one_way` is what crosses the cut in one direction, in bytes/s; `both_ways` is twice that.

    `cables` cross it. `exact` is false when a narrower cut could exist that `method` did not look at.
    """

    cables: int
    one_way: float
    method: str
    exact: bool = True

    @property
    def both_ways(self) -> float:
        return 2 * self.one_way


def bisection(topology: Topology) -> Bisection | None:
    """The bisection by bandwidth; None where nothing joins the devices.

    Hosts do not count: a route never passes one. Switches and networks are non-blocking.
    """
    count = len(topology.devices)
    if count < 2:
        return None
    if "network" in topology.shape and topology.of_kind(NodeKind.NETWORK):
        return _of_network(topology)
    has_switch = bool(topology.of_kind(NodeKind.SWITCH))
    if not has_switch and not _links(topology):
        return None
    if not has_switch and count <= EXHAUSTIVE_UP_TO:
        one_way, cables = _exhaustive(range(count), _links(topology))
        return Bisection(cables=cables, one_way=one_way, method="every halving tried")
    sides = torus_sides(topology)
    if sides is not None:
        return _of_torus(topology, sides)
    if has_switch:
        return _of_switches(topology)
    one_way, cables = _structured(topology)
    return Bisection(cables=cables, one_way=one_way, method="narrowest straight cut", exact=False)


def _links(topology: Topology, links: Iterable[Link] | None = None) -> list[tuple[int, int, float]]:
    """NeuronLink cables between devices, with the bandwidth of one direction; among `links` if given."""
    count = len(topology.devices)
    return [
        (link.src, link.dst, topology.bandwidth(link))
        for link in (topology.links if links is None else links)
        if link.src < link.dst < count and topology.classes[link.cls].kind == LinkKind.NEURONLINK
    ]


def _exhaustive(members: Sequence[int], cables: Iterable[tuple[int, int, float]]) -> tuple[float, int]:
    """(bandwidth, cables) of the narrowest of all halvings of `members`."""
    position_of = {node: position for position, node in enumerate(members)}
    # Cables of one bandwidth, no two between the same devices: whither they lead from each, as bits.
    layers: list[tuple[float, list[int]]] = []
    for src, dst, bandwidth in cables:
        if src not in position_of or dst not in position_of:
            continue
        a, b = position_of[src], position_of[dst]
        free = (ends for rate, ends in layers if rate == bandwidth and not ends[a] >> b & 1)
        ends = next(free, None)
        if ends is None:
            ends = [0] * len(members)
            layers.append((bandwidth, ends))
        ends[a] |= 1 << b
        ends[b] |= 1 << a
    half, odd = divmod(len(members), 2)
    widths: set[tuple[int, ...]] = set()
    # The first device stays on one side: the other cuts are the same ones named the other way.
    for size in (half, half + 1) if odd else (half,):
        for chosen in combinations(range(1, len(members)), size - 1):
            side = (0, *chosen)
            away = ~sum([1 << node for node in side])
            widths.add(tuple([sum([(ends[i] & away).bit_count() for i in side]) for _, ends in layers]))
    cuts = [[layers[i][0] for i, count in enumerate(width) for _ in range(count)] for width in widths]
    return min((sum(crossing), len(crossing)) for crossing in cuts)


def torus_width(sides: Sequence[int]) -> int | None:
    """Cables in the narrowest halving of a torus; None where no closed form is known to hold.

    With sides k1 ≥ k2 ≥ … all above 2 it is 2·Σ_{i≤e} Π_{j>i} kj, e being the first even side (the
    last side when all are odd): the result of Azizoğlu and Eğecioğlu for products of rings. A side of
    2 has one cable instead of two: all sides 2 give the hypercube's N/2; with k1 even and above 2 the
    cut across it is the narrowest, 2N/k1.
    """
    lengths = sorted((side for side in sides if side > 1), reverse=True)
    count = prod(lengths)
    if lengths[0] == 2:
        return count // 2
    if lengths[0] % 2 == 0:
        return 2 * count // lengths[0]
    if lengths[-1] == 2:
        return None
    total, sides_left = 0, count
    for side in lengths:
        sides_left //= side
        total += sides_left
        if side % 2 == 0:
            break
    return 2 * total


def _of_torus(topology: Topology, sides: Sequence[int]) -> Bisection:
    one_way, cables = _structured(topology)
    width = torus_width(sides)
    slowest = min(bandwidth for _, _, bandwidth in _links(topology))
    # As many of the slowest cables as any halving cuts: no cut can carry less.
    exact = width is not None and one_way <= width * slowest * (1 + 1e-12)
    if width is not None and not exact and len({b for _, _, b in _links(topology)}) == 1:
        # Odd sides: the narrowest cut is a staircase that no straight cut follows.
        return Bisection(cables=width, one_way=width * slowest, method="closed form of the torus")
    even = "even " if any(side % 2 == 0 for side in sides) else ""  # of odd sides alone: a ring
    method = f"closed form of the torus: a straight cut across the longest {even}side"
    if not exact:
        method = "narrowest straight cut across one side"
    return Bisection(cables=cables, one_way=one_way, method=method, exact=exact)


def _structured(topology: Topology) -> tuple[float, int]:
    """(bandwidth, cables) of the narrowest cut that halves the devices along one coordinate."""
    return min(_crossing(topology, side) for side in _straight_halves(topology))


def _straight_halves(topology: Topology) -> Iterable[set[int]]:
    """Halves of equal size: devices by their coordinates, each axis leading once; without any, in order.

    A ring is cut at 0 and opposite; starting elsewhere gives the same widths.
    """
    devices = topology.devices
    for axis in range(len(devices[0].coord) or 1):
        order = sorted(devices, key=lambda d: (d.coord[axis : axis + 1], d.coord))
        yield {device.id for device in order[: len(order) // 2]}


def _of_switches(topology: Topology) -> Bisection:
    """Straight cuts, each switch on the side where it costs least; compared with a lower bound."""
    one_way, cables = _structured(topology)
    bound = _switch_bound(topology)
    exact = bound is not None and one_way <= bound * (1 + 1e-12)
    method = "straight cuts between servers and racks, switches where they cost least"
    if exact:
        method += "; no halving can carry less, by the ports of either switch"
    return Bisection(cables=cables, one_way=one_way, method=method, exact=exact)


def _crossing(topology: Topology, side: set[int]) -> tuple[float, int]:
    """(bandwidth, cables) between `side` and the other devices, each switch where it costs least."""
    crossing = [b for src, dst, b in _links(topology) if (src in side) != (dst in side)]
    for switch in topology.of_kind(NodeKind.SWITCH):
        ports = [(link.dst in side, topology.bandwidth(link)) for link in topology.out[switch.id]]
        inside = [b for within, b in ports if within]
        outside = [b for within, b in ports if not within]
        crossing += inside if sum(inside) < sum(outside) else outside
    return sum(crossing), len(crossing)


def _switch_bound(topology: Topology) -> float | None:
    """What no halving can go below; None where this argument does not apply.

    One switch joins all N devices: a halving cuts N/2 ports. Two switches join half of them each and
    direct links pair the halves: with b of the first switch's devices on the one side and N/2−b of
    the second's, b ≤ N/4, each switch cuts b ports and at least N/2−2b pairs are parted. The sum is
    linear in b, so it is smallest at b = 0 or b = N/4.
    """
    count = len(topology.devices)
    half = count // 2
    switches = topology.of_kind(NodeKind.SWITCH)
    ports = {s.id: {link.dst: topology.bandwidth(link) for link in topology.out[s.id]} for s in switches}
    if any(len(port) == count for port in ports.values()):
        return sum(min(port.values()) * half for port in ports.values() if len(port) == count)
    big = [port for port in ports.values() if 2 * len(port) == count]
    if len(big) != 2 or big[0].keys() & big[1].keys():
        return None
    direct = _links(topology)
    ends = [end for src, dst, _ in direct for end in (src, dst)]
    if len(direct) != half or len(set(ends)) != count:
        return None
    if any((src in big[0]) == (dst in big[0]) for src, dst, _ in direct):
        return None
    return min(min(b for _, _, b in direct), *big[0].values(), *big[1].values()) * half


def _of_network(topology: Topology) -> Bisection:
    """Half of the servers' adapters: the network itself blocks nothing.

    With an odd number of servers one of them is halved too: its own cut and half of its adapters are
    added.
    """
    network = topology.of_kind(NodeKind.NETWORK)[0]
    per_server: dict[int, list[float]] = {}
    for link in topology.out[network.id]:
        per_server.setdefault(topology.nodes[link.dst].host, []).append(topology.bandwidth(link))
    hosts = sorted(per_server, key=lambda host: sum(per_server[host]))
    chosen = hosts[: len(hosts) // 2]
    one_way = sum(sum(per_server[host]) for host in chosen)
    cables = sum(len(per_server[host]) for host in chosen)
    method = "the adapters of half of the servers: the network blocks nothing"
    if len(hosts) % 2 == 0:
        return Bisection(cables=cables, one_way=one_way, method=method)
    middle = hosts[len(hosts) // 2]
    members = [device.id for device in topology.devices if device.host == middle]
    own = _links(topology, (link for device in members for link in topology.out[device]))
    inside = _exhaustive(members, own) if 1 < len(members) <= EXHAUSTIVE_UP_TO else (0.0, 0)
    return Bisection(
        cables=cables + inside[1] + len(per_server[middle]) // 2,
        one_way=one_way + inside[0] + sum(per_server[middle]) / 2,
        method=method + "; the server in the middle halved",
        exact=False,
    )
