"""What all `trnbench fabric` commands take: the system, its ranks, and how its links are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trnbench.bounded import kinds
from trnbench.cli.bundle import bundle
from trnbench.cli.facts import facts_of, facts_option
from trnbench.cli.link_figures import neuronlink_direction_option, trn3_links_option
from trnbench.cli.names import complete_systems
from trnbench.cli.number import NumberType
from trnbench.quoting import cut

if TYPE_CHECKING:
    from trnbench.cli.context import Session
    from trnbench.topology.graph import Topology
    from trnbench_emulator.fabric.systems import Fabric

LEVELS = ("device", "logical-core", "core")
CONTEXTS = ("nccom", "graph")

algorithm_option = click.option(
    "--algorithm",
    "-a",
    default="auto",
    show_default=True,
    metavar="auto|best|NAME",
    help="auto: what the runtime was observed to take, else the best; best: the quickest; or one by name.",
)
dtype_option = click.option(
    "--dtype", "-d", default="fp32", show_default=True, help="Of an element; sizes are rounded down to it."
)


fabric_options = bundle(
    click.option(
        "--instance",
        "-i",
        required=True,
        metavar="INSTANCE",
        shell_complete=complete_systems,
        help="The system; a cluster takes a size: trn1-ultracluster:64.",
    ),
    click.option(
        "--ranks", type=click.Choice(LEVELS), default="device", show_default=True, help="What a rank is."
    ),
    click.option(
        "--context",
        type=click.Choice(CONTEXTS),
        default="nccom",
        show_default=True,
        help="Alone, as nccom-test measures it, or inside a compiled graph.",
    ),
    neuronlink_direction_option,
    trn3_links_option,
    click.option(
        "--degrade",
        multiple=True,
        metavar="LINK=FACTOR",
        help="A slow or dead link: d0-d1=0.5 both ways, 'd0>d1=0' one way. Repeatable.",
    ),
    click.option(
        "--straggler",
        multiple=True,
        metavar="RANK=SHARE|TIME",
        help="A slow rank: 3=0.5 has half its memory bandwidth, 3=50us begins late. Repeatable.",
    ),
    click.option(
        "--exact",
        is_flag=True,
        help="Simulate what competes unevenly however long it takes, instead of in lockstep.",
    ),
    click.option(
        "--oversubscription",
        type=NumberType(kinds.OVERSUBSCRIPTION),
        default=1.0,
        show_default=True,
        help="How many times less the cluster network carries than all adapters together.",
    ),
    facts_option,
)
"""The system and the readings of its links; the command gets them as keywords for `fabric_of`."""


def fabric_of(state: Session, options: dict[str, Any], *, size: int | None = None) -> Fabric:
    """The network that the options describe; `size` instances of a cluster instead of those named.

    Raises UsageError for a link that is not there and everything `Fabric` raises.
    """
    import msgspec

    from trnbench.errors import UsageError
    from trnbench_emulator.fabric.systems import Options
    from trnbench_emulator.fabric.systems import fabric_of as built

    system = state.registry.system(options["instance"], facts_of(state, options["facts"]))
    if size is not None:
        system = msgspec.structs.replace(system, size=size)
    if options["trn3_links"] and "trn3" not in system.generation.name:
        raise UsageError(
            f"{system.name} takes no --trn3-links",
            cause="only documents of Trn3 give three figures for one link",
            try_="leave it out",
        )
    slow, late = _stragglers(options["straggler"])
    chosen = Options(
        level=options["ranks"],
        context=options["context"],
        neuronlink_direction=options["neuronlink_direction"] or "",
        trn3_links=options["trn3_links"] or "",
        oversubscription=options["oversubscription"],
        exact=options["exact"],
        straggler=slow,
        late=late,
    )
    if not options["degrade"]:
        return built(system, chosen)
    topology = built(system, chosen).topology
    degraded = tuple(each for text in options["degrade"] for each in _degraded(text, topology))
    return built(system, msgspec.structs.replace(chosen, degraded=degraded))


Stragglers = tuple[tuple[int, float], ...]


def _stragglers(texts: tuple[str, ...]) -> tuple[Stragglers, Stragglers]:
    """`3=0.5` as a share of speed among the first, `3=50us` as a time in seconds among the second."""
    from trnbench.errors import UsageError

    slow: list[tuple[int, float]] = []
    late: list[tuple[int, float]] = []
    for text in texts:
        number, equals, how = text.partition("=")
        rank = kinds.RANK.parsed(number)
        share, time_s = kinds.LEFT_OF_RANK.parsed(how), kinds.LATE.parsed(how)
        if not equals or rank is None or (share is None and time_s is None):
            raise UsageError(
                f"--straggler {cut(text)} is no RANK=SHARE and no RANK=TIME",
                cause="a share is 0.001 to 1; a time has a unit (ns, us, ms or s) and is 1000 s at most",
                try_="--straggler 3=0.5 or --straggler 3=50us",
            )
        if share is not None:
            slow.append((int(rank), float(share)))
        elif time_s is not None:
            late.append((int(rank), float(time_s)))
    return tuple(slow), tuple(late)


def _degraded(text: str, topology: Topology) -> tuple[tuple[str, str, float], ...]:
    """`d0-d1=0.5` as both directions, `d0>d1=0.5` as one."""
    from trnbench.errors import UsageError

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
        raise UsageError(
            f"{topology.name} has no link {cut(link)}",
            cause=near or "links are named by the nodes they join, as in d0-d1",
            try_=f"trnbench topology show {topology.name}",
        )
    a, b = joined[0]
    return ((a, b, factor),) if one_way else ((a, b, factor), (b, a, factor))


def about(fabric: Fabric) -> list[str]:
    """What an answer holds for, in lines: system, ranks, readings, assumptions."""
    from trnbench.facts.format import show
    from trnbench_emulator.fabric.sensitivity import assumed

    options, system = fabric.options, fabric.system
    each = {"device": "device", "logical-core": "logical core", "core": "core"}[options.level]
    lines = [f"{system.name}: {fabric.size:,} ranks, one per {each}"]
    context = {"nccom": "alone, as nccom-test measures it", "graph": "inside a compiled graph"}
    lines.append(f"context: {options.context}, {context[options.context]}")
    if assumptions := fabric.constants.assumed:
        lines.append(
            "assumed: "
            + "; ".join(
                f"{name} {show(each.value, 's')} ({show(each.low, 's')} to {show(each.high, 's')})"
                for name, each in assumptions.items()
            )
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
