"""What sets single links and ranks apart from the others: slow and dead links, stragglers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from trnbench.errors import UsageError
from trnbench.topology import NodeKind, Topology


class Irregular(msgspec.Struct, frozen=True, kw_only=True):
    """`scale`: factor by (from, to), node ids of a topology; 0 is a dead link. By rank: `slow`, the share of
    its device's memory bandwidth that is left; `late`, ticks that it begins after the others.
    """

    scale: dict[tuple[int, int], float] = {}
    slow: dict[int, float] = {}
    late: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self.scale or self.slow or self.late)

    def instances(self, whole: Topology, ranks_each: int) -> tuple[int, ...]:
        """Numbers of the instances that are unlike the rest, `ranks_each` ranks in every one."""
        touched = {_host(whole, *link) for link in self.scale}
        touched |= {rank // ranks_each for rank in (*self.slow, *self.late)}
        return tuple(sorted(touched))

    def onto(self, whole: Topology, part: Topology, standing: Sequence[int], ranks_each: int) -> Irregular:
        """The same on a smaller cluster, whose instance `standing.index(i)` stands for instance i; negative
        numbers stand for nobody in particular."""
        place = {number: i for i, number in enumerate(standing) if number >= 0}
        there = {host: _nodes(part, host) for host in place.values()}
        here = {number: {node: i for i, node in enumerate(_nodes(whole, number))} for number in place}
        network = [node.id for node in part.of_kind(NodeKind.NETWORK)]

        def node(number: int, of: int) -> int:
            at = here[number].get(of)
            return network[0] if at is None else there[place[number]][at]

        def rank(of: int) -> int:
            return place[of // ranks_each] * ranks_each + of % ranks_each

        scale = {}
        for (a, b), factor in self.scale.items():
            number = _host(whole, a, b)
            scale[node(number, a), node(number, b)] = factor
        return Irregular(
            scale=scale,
            slow={rank(each): factor for each, factor in self.slow.items()},
            late={rank(each): ticks for each, ticks in self.late.items()},
        )


def slow_links(topology: Topology, degrade: Iterable[tuple[str, str, float]]) -> dict[tuple[int, int], float]:
    """`Irregular.scale` of links given as (from, to, factor) by the names of their ends. Raises UsageError
    for a node or a link that is not there.
    """
    scale = {}
    for a, b, factor in degrade:
        ends = _named(topology, a), _named(topology, b)
        if not any(link.dst == ends[1] for link in topology.out[ends[0]]):
            raise _unknown(topology, f"link {a} > {b}")
        scale[ends] = factor
    return scale


def _named(topology: Topology, name: str) -> int:
    node = topology.by_name.get(name)
    if node is None:
        raise _unknown(topology, f"node {name!r}")
    return node.id


def _unknown(topology: Topology, what: str) -> UsageError:
    return UsageError(
        f"{topology.name} has no {what}",
        cause="links are named by the nodes they join",
        try_=f"trnbench topology show {topology.name}",
    )


def _nodes(topology: Topology, host: int) -> list[int]:
    return [each.id for each in topology.nodes if each.host == host and each.kind is not NodeKind.NETWORK]


def _host(topology: Topology, a: int, b: int) -> int:
    """The instance that a link belongs to; the network between them belongs to none."""
    ends = [topology.nodes[each] for each in (a, b)]
    return next(end.host for end in ends if end.kind is not NodeKind.NETWORK)
