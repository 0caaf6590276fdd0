"""What all `trnbench fabric` commands take: the system, its ranks, and how its links are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from trnbench.cli.names import complete_systems

if TYPE_CHECKING:
    from trnbench.cli.context import Session
    from trnbench.emulator.fabric.systems import Fabric
    from trnbench.topology.graph import Topology

Command = TypeVar("Command", bound=Callable[..., Any])

LEVELS = ("device", "logical-core", "core")

algorithm_option = click.option(
    "--algorithm",
    "-a",
    default="auto",
    show_default=True,
    metavar="auto|best|NAME",
    help="auto: as the Neuron documents say; best: the quickest of all; or one by name.",
)
dtype_option = click.option(
    "--dtype", "-d", default="fp32", show_default=True, help="Of an element; sizes are rounded down to it."
)


def fabric_options(command: Command) -> Command:
    """The system and the readings of its links; the command gets them as keywords for `fabric_of`."""
    for option in (
        click.option(
            "--facts",
            type=click.Path(path_type=Path),
            multiple=True,
            metavar="FILE",
            help="Facts of your own, over the documented ones.",
        ),
        click.option(
            "--oversubscription",
            type=float,
            default=1.0,
            show_default=True,
            help="How many times less the cluster network carries than all adapters together.",
        ),
        click.option(
            "--degrade",
            multiple=True,
            metavar="LINK=FACTOR",
            help="A slow or dead link: d0-d1=0.5 both ways, 'd0>d1=0' one way. Repeatable.",
        ),
        click.option(
            "--trn3-links",
            type=click.Choice(("levels", "table", "chip-page")),
            help="Which of the three NeuronLink figures of Trn3 the links get.  [default: levels]",
        ),
        click.option(
            "--neuronlink-direction",
            type=click.Choice(("one-way", "both-ways")),
            help="How documented NeuronLink figures are read.  [default: one-way]",
        ),
        click.option(
            "--ranks", type=click.Choice(LEVELS), default="device", show_default=True, help="What a rank is."
        ),
        click.option(
            "--instance",
            "-i",
            required=True,
            metavar="INSTANCE",
            shell_complete=complete_systems,
            help="The system; a cluster takes a size: trn1-ultracluster:64.",
        ),
    ):
        command = option(command)
    return command


def fabric_of(state: Session, options: dict[str, Any], *, size: int | None = None) -> Fabric:
    """The network that the options describe; `size` instances of a cluster instead of those named.

    Raises UsageError for a link that is not there and everything `Fabric` raises.
    """
    import msgspec

    from trnbench.emulator.fabric.systems import Fabric, Options
    from trnbench.errors import UsageError

    system = state.registry.system(options["instance"], tuple(options["facts"]))
    if size is not None:
        system = msgspec.structs.replace(system, size=size)
    if options["trn3_links"] and "trn3" not in system.generation.name:
        raise UsageError(
            f"{system.name} takes no --trn3-links",
            cause="only documents of Trn3 give three figures for one link",
            try_="leave it out",
        )
    chosen = Options(
        level=options["ranks"],
        neuronlink_direction=options["neuronlink_direction"] or "",
        trn3_links=options["trn3_links"] or "",
        oversubscription=options["oversubscription"],
    )
    made = Fabric(system, chosen)
    if not options["degrade"]:
        return made
    if made.clustered and made.system.size > 2:
        raise UsageError(
            f"--degrade works on no cluster of {made.system.size:,} instances",
            cause="above 2 all instances are taken to be alike",
            try_=f"-i {system.instance.name}:2",
        )
    topology = made.topology
    degraded = tuple(each for text in options["degrade"] for each in _degraded(text, topology))
    return Fabric(system, msgspec.structs.replace(chosen, degrade=degraded))


def _degraded(text: str, topology: Topology) -> tuple[tuple[str, str, float], ...]:
    """`d0-d1=0.5` as both directions, `d0>d1=0.5` as one."""
    from trnbench.errors import UsageError

    link, equals, number = text.rpartition("=")
    try:
        factor = float(number)
    except ValueError:
        equals = ""
    if not equals or factor != factor:
        raise UsageError(f"--degrade {text} is no LINK=FACTOR", try_="--degrade d0-d1=0.5")
    one_way = ">" in link
    names = topology.by_name
    cut = [i for i, char in enumerate(link) if char == (">" if one_way else "-")]
    ends = [(link[:i].strip(), link[i + 1 :].strip()) for i in cut]
    known = [(a, b) for a, b in ends if a in names and b in names]
    joined = [(a, b) for a, b in known if any(each.dst == names[b].id for each in topology.out[names[a].id])]
    if not joined:
        near = ""
        for a, _ in known:
            near = ", ".join(topology.nodes[node].name for node in topology.neighbours(names[a].id))
            near = f"{a} is joined to {near}"
        raise UsageError(
            f"{topology.name} has no link {link}",
            cause=near or "links are named by the nodes they join, as in d0-d1",
            try_=f"trnbench topology show {topology.name}",
        )
    a, b = joined[0]
    return ((a, b, factor),) if one_way else ((a, b, factor), (b, a, factor))


def about(fabric: Fabric) -> list[str]:
    """What an answer holds for, in lines: system, ranks, readings, assumptions."""
    from trnbench.emulator.fabric.sensitivity import assumed

    options, system = fabric.options, fabric.system
    each = {"device": "device", "logical-core": "logical core", "core": "core"}[options.level]
    lines = [f"{system.name}: {fabric.size:,} ranks, one per {each}"]
    readings = []
    if options.neuronlink_direction:
        readings.append(f"NeuronLink figures read {options.neuronlink_direction}")
    if options.trn3_links:
        readings.append(f"Trn3 links by {options.trn3_links}")
    if options.oversubscription != 1:
        readings.append(f"network oversubscribed {options.oversubscription:g} times")
    readings += [f"{a} > {b} at {factor:g}" for a, b, factor in options.degrade]
    if readings:
        lines.append("options: " + "; ".join(readings))
    names = assumed(fabric)
    if names:
        book = system.book.assumptions
        lines.append("assumed: " + "; ".join(f"{n} {book[n].printed} {book[n].printed_unit}" for n in names))
    return lines
