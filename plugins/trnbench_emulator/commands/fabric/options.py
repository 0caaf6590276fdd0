"""What all `trnbench fabric` commands take: the system, its ranks, and how its links are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from trnbench.bounded import kinds
from trnbench.errors import UsageError, counted, cut
from trnbench.facts.units import show
from trnbench.terminal.word_values import BUILDERS, readings_of
from trnbench_emulator.fabric.constants import RESIDUE, START_SHARE
from trnbench_emulator.fabric.sensitivity import assumed
from trnbench_emulator.fabric.systems import Options
from trnbench_emulator.fabric.systems import fabric_of as built

if TYPE_CHECKING:
    from trnbench import Session
    from trnbench.topology import Topology
    from trnbench_emulator.fabric.systems import Fabric


def fabric_of(state: Session, options: dict[str, Any], *, size: int | None = None) -> Fabric:
    """The network that the options describe; `size` instances of a cluster instead of those named.

    Raises UsageError for a link that is not there and everything `Fabric` raises.
    """
    system = state.registry.system(options["instance"], state.facts_of(options["facts"]))
    if size is not None:
        system = replace(system, size=size)
    readings = readings_of(options["readings"])
    taken = [reading for reading, option in BUILDERS.items() if system.takes(option)]
    for reading, option in BUILDERS.items():
        if option in readings and reading not in taken:
            raise UsageError(
                f"{system.name} takes no --reading {reading}",
                cause=f"its graph takes {', '.join(f'--reading {each}' for each in taken) or 'no --reading'}",
                try_="leave it out",
            )
    ranks = [text for text in options["degrade"] if text.partition("=")[0].strip().isdecimal()]
    links = [text for text in options["degrade"] if text not in ranks]
    slow, late = _stragglers(ranks)
    chosen = Options(
        level=options["ranks"],
        context=options["context"],
        neuronlink_direction=readings.get("neuronlink_direction", ""),
        trn3_links=readings.get("trn3_links", ""),
        oversubscription=options["oversubscription"],
        exact=options["exact"],
        straggler=slow,
        late=late,
    )
    if not links:
        return built(system, chosen)
    topology = built(system, chosen).topology
    degraded = tuple(each for text in links for each in _degraded(text, topology))
    return built(system, replace(chosen, degraded=degraded))


Stragglers = tuple[tuple[int, float], ...]


def _stragglers(texts: Iterable[str]) -> tuple[Stragglers, Stragglers]:
    """`3=0.5` as a share of speed among the first, `3=50us` as a time in seconds among the second."""
    slow: list[tuple[int, float]] = []
    late: list[tuple[int, float]] = []
    for text in texts:
        number, equals, how = text.partition("=")
        rank = kinds.RANK.parsed(number)
        share, time_s = kinds.LEFT_OF_RANK.parsed(how), kinds.LATE.parsed(how)
        if not equals or rank is None or (share is None and time_s is None):
            raise UsageError(
                f"--degrade {cut(text)} is no RANK=SHARE and no RANK=TIME",
                cause="a share is 0.001 to 1; a time has a unit (ns, us, ms or s) and is 1000 s at most",
                try_="--degrade 3=0.5 or --degrade 3=50us",
            )
        if share is not None:
            slow.append((int(rank), float(share)))
        elif time_s is not None:
            late.append((int(rank), float(time_s)))
    return tuple(slow), tuple(late)


def _degraded(text: str, topology: Topology) -> tuple[tuple[str, str, float], ...]:
    """`d0-d1=0.5` as both directions, `d0>d1=0.5` as one."""
    link, equals, number = text.rpartition("=")
    left = kinds.LEFT_OF_LINK.parsed(number)
    if not equals or left is None:
        raise UsageError(
            f"--degrade {cut(text)} is no LINK=FACTOR",
            cause="a link is two nodes with - or > between; a factor is 0 for a dead link, or 0.001 to 1000",
            try_="--degrade d0-d1=0.5",
        )
    factor, one_way = float(left), ">" in link
    names = topology.by_name
    joints = [i for i, char in enumerate(link) if char == (">" if one_way else "-")]
    ends = [(link[:i].strip(), link[i + 1 :].strip()) for i in joints]
    known = [(a, b) for a, b in ends if a in names and b in names]
    joined = [(a, b) for a, b in known if any(each.dst == names[b].id for each in topology.out[names[a].id])]
    if not joined:
        near = ""
        for a, _ in known:
            near = ", ".join(topology.nodes[node].name for node in topology.neighbours(names[a].id))
            near = f"{a} is joined to {near}"
        if not topology.links:
            raise UsageError(
                f"{topology.name} has no links",
                cause="--degrade slows a link between devices",
                try_="--degrade d0-d1=0.5 with -i trn2.48xlarge",
            )
        first = topology.links[0]
        example = f"{topology.nodes[first.src].name}-{topology.nodes[first.dst].name}"
        raise UsageError(
            f"{topology.name} has no link {cut(link)}",
            cause=near or f"links are named by the nodes they join, as in {example}",
            try_=f"--degrade {example}={number}",
        )
    a, b = joined[0]
    return ((a, b, factor),) if one_way else ((a, b, factor), (b, a, factor))


def about(fabric: Fabric) -> list[str]:
    """What an answer holds for, in lines: system, ranks, readings, assumptions."""
    options, system = fabric.options, fabric.system
    each = {"device": "device", "logical-core": "logical core", "core": "core"}[options.level]
    lines = [f"{system.name}: {counted(fabric.size, 'rank')}, one per {each}"]
    context = {"nccom": "alone, as nccom-test measures it", "graph": "inside a compiled graph"}
    lines.append(f"context: {options.context}, {context[options.context]}")
    ranged = fabric.constants.ranged
    if share := ranged.get(START_SHARE):
        lines.append(
            f"start: {share.value:.0%} of a collective's start alone, {share.low:.0%} to {share.high:.0%}"
        )
    if residue := ranged.get(RESIDUE):
        lines.append(
            f"residue: {residue.value:.0%} of what links take is added, {residue.low:.0%} to "
            f"{residue.high:.0%}: published steps take so much longer, and no mechanism explains it"
        )
    readings = []
    if options.neuronlink_direction:
        readings.append(f"NeuronLink figures read {options.neuronlink_direction}")
    if options.trn3_links:
        readings.append(f"Trn3 links by {options.trn3_links}")
    if options.oversubscription != 1:
        readings.append(f"network oversubscribed {options.oversubscription:g} times")
    readings += [f"{a} > {b} at {factor:g}" for a, b, factor in options.degraded]
    readings += [f"rank {rank} at {share:g} of its memory bandwidth" for rank, share in options.straggler]
    readings += [f"rank {rank} {show(seconds, 's')} late" for rank, seconds in options.late]
    if options.exact:
        readings.append("flow by flow")
    if readings:
        lines.append("options: " + "; ".join(readings))
    names = assumed(fabric)
    if names:
        book = system.book.assumptions
        lines.append("assumed: " + "; ".join(f"{n} {book[n].printed} {book[n].printed_unit}" for n in names))
    return lines
