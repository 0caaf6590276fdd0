"""`trnbench fabric pingpong`: latency and bandwidth of two ranks over sizes, inside or across EFA."""

from __future__ import annotations

from typing import Any

import click

from trnbench.bounded import kinds
from trnbench.cli.context import Session, session
from trnbench.cli.number import NumberType
from trnbench.cli.output import Column, emit, format_option, say
from trnbench_emulator.commands.fabric.cells import EVIDENCE, say_about, time_column, two_places
from trnbench_emulator.commands.fabric.near import Near, cells
from trnbench_emulator.commands.fabric.near import columns as near_columns
from trnbench_emulator.commands.fabric.options import fabric_of, fabric_options
from trnbench_emulator.commands.fabric.sizes import shown, sweep, sweep_options


@click.command()
@sweep_options
@click.option(
    "--from",
    "src",
    type=NumberType(kinds.RANK),
    default=0,
    show_default=True,
    help="The rank that sends first.",
)
@click.option(
    "--to",
    "dst",
    type=NumberType(kinds.RANK),
    help="The one that sends back.  [default: the same place of the next instance, else the next rank]",
)
@fabric_options
@format_option
@session
def pingpong(
    state: Session,
    /,
    *,
    minbytes: int,
    maxbytes: int,
    stepfactor: float,
    src: int,
    dst: int | None,
    format: str,
    **options: Any,
) -> None:
    """A message there and back between two ranks; on a cluster over EFA to the next instance.

    Times are half of there and back, bandwidth is the message over that.
    """
    from trnbench.errors import UsageError
    from trnbench_emulator.fabric.ask import ask
    from trnbench_emulator.fabric.question import PING_PONG

    fabric = fabric_of(state, options)
    sizes = list(sweep(minbytes, maxbytes, stepfactor, None))
    if dst is None:
        step = fabric.size // fabric.system.size if fabric.clustered else 1
        dst = (src + step) % fabric.size
    if fabric.size < 2:
        raise UsageError(
            f"{fabric.system.name} has one rank",
            cause="a ping-pong takes two",
            try_="--ranks core, or a system of several devices",
        )
    if src == dst:
        raise UsageError(
            f"rank {src} cannot play with itself", cause="a ping-pong takes two ranks", try_="--from 0 --to 1"
        )
    near = Near(state, fabric)
    rows: list[dict[str, Any]] = []
    hosts = 0
    for size in sizes:
        time_s = ask(fabric.question(PING_PONG, size, ranks=(src, dst))).time_s / 2
        # Whether there are such ranks is known by now.
        hosts = hosts or len({fabric.network.nodes[fabric.network.ranks[rank]].host for rank in (src, dst)})
        rows.append(
            {
                "size": size,
                "time_s": time_s,
                "bandwidth_gb_s": size / time_s / 1e9,
                "evidence": EVIDENCE,
                **cells(near.of("sendrecv", size, 2, hosts=hosts), time_s),
            }
        )
    network = fabric.network
    ends = [network.nodes[network.ranks[rank]].name for rank in (src, dst)]
    hops = network.route(src, dst).hops
    say_about(fabric)
    say(f"{hops} links between {ends[0]} and {ends[1]}", level=0)
    if format == "json":
        rows = [{"src": ends[0], "dst": ends[1], "hops": hops, **each} for each in rows]
    columns = [
        Column("size", "size", "right", shown),
        time_column(),
        Column("bandwidth_gb_s", "GB/s", "right", two_places),
        Column("evidence"),
        *near_columns(),
    ]
    emit(rows, columns, format, title=f"{fabric.system.name}: {ends[0]} to {ends[1]} and back, half of it")
