"""`trnbench fabric links`: what every link carries during one collective."""

from __future__ import annotations

from typing import Any

import click

from trnbench.bounded import kinds
from trnbench.cli.context import Session, session
from trnbench.cli.number import NumberType
from trnbench.cli.output import Column, emit, format_option, say
from trnbench_emulator.commands.fabric.cells import percent_of, say_about, two_places
from trnbench_emulator.commands.fabric.collective import COLLECTIVE, frozen
from trnbench_emulator.commands.fabric.grouping import groups_of
from trnbench_emulator.commands.fabric.options import algorithm_option, fabric_of, fabric_options
from trnbench_emulator.commands.fabric.sizes import SIZE, shown


@click.command()
@COLLECTIVE
@click.option("--size", "-s", type=SIZE, default="1G", show_default=True, help="The message.")
@algorithm_option
@click.option("--group", multiple=True, metavar="KIND=SIZE", help="Groups of ranks at once: tensor=8.")
@click.option("--replica-groups", metavar="JSON", help="Groups by rank: [[0,1],[2,3]].")
@click.option("--top", type=NumberType(kinds.TOP), default=20, show_default=True, help="How many links.")
@click.option("--all", "every", is_flag=True, help="Every link that carries something.")
@fabric_options
@format_option
@session
def links(
    state: Session,
    /,
    *,
    collective: str,
    size: int,
    algorithm: str,
    group: tuple[str, ...],
    replica_groups: str | None,
    top: int,
    every: bool,
    format: str,
    **options: Any,
) -> None:
    """What every link carries during one collective, the busiest first.

    Load is the share of what the link could have carried in the whole time.
    """
    from trnbench_emulator.fabric.ask import ask

    fabric = fabric_of(state, options)
    groups = groups_of(fabric, group, replica_groups)
    result = ask(fabric.question(collective, size, algorithm=algorithm, groups=frozen(groups)))
    rows = [
        {
            "link": f"{each.src} > {each.dst}",
            "class": each.cls,
            "bytes": each.bytes,
            "gb_s": each.bytes / result.time_s / 1e9,
            "load": each.utilisation,
        }
        for each in (result.links if every else result.links[:top])
    ]
    say_about(fabric)
    say(f"{result.algorithm}: {len(rows):,} of {len(result.links):,} links that carry something", level=0)
    columns = [
        Column("link"),
        Column("class"),
        Column("bytes", "bytes", "right", shown),
        Column("gb_s", "GB/s", "right", two_places),
        Column("load", "load", "right", percent_of),
    ]
    emit(rows, columns, format, title=f"{collective} of {shown(size)} on {fabric.system.name}")
