"""`trnbench fabric run`: a sweep in the table of nccl-tests."""

from __future__ import annotations

from typing import Any

import click

from trnbench.cli.context import Session, session
from trnbench.cli.output import emit, emit_json, format_option, say_left_out, write
from trnbench.cli.terminal import width
from trnbench_emulator.commands.fabric.collective import Collective, frozen, others_of, with_option
from trnbench_emulator.commands.fabric.grouping import groups_of
from trnbench_emulator.commands.fabric.near import Near, cells, notes
from trnbench_emulator.commands.fabric.options import (
    about,
    algorithm_option,
    dtype_option,
    fabric_of,
    fabric_options,
)
from trnbench_emulator.commands.fabric.shares import (
    UNEVEN,
    about_shares,
    shares_of,
    shares_option,
    skew_option,
)
from trnbench_emulator.commands.fabric.sizes import SIZE, shown, sweep, sweep_options


@click.command()
@click.argument("collective", type=Collective(UNEVEN), metavar="COLLECTIVE")
@sweep_options
@click.option("--step", type=SIZE, help="Bytes from size to size, instead of -f.")
@algorithm_option
@dtype_option
@click.option("--group", multiple=True, metavar="KIND=SIZE", help="Groups of ranks at once: tensor=8.")
@click.option("--replica-groups", metavar="JSON", help="Groups by rank: [[0,1],[2,3]].")
@shares_option
@skew_option
@with_option
@fabric_options
@format_option
@session
def run(
    state: Session,
    /,
    *,
    collective: str,
    minbytes: int,
    maxbytes: int,
    stepfactor: float,
    step: int | None,
    algorithm: str,
    dtype: str,
    group: tuple[str, ...],
    replica_groups: str | None,
    shares: str | None,
    skew: str | None,
    others: tuple[str, ...],
    format: str,
    **options: Any,
) -> None:
    """A collective from -b to -e bytes, in the table of nccl-tests.

    Bus bandwidth counts the ranks asked about, as nccom-test does, and is held against what the
    documented links of a device allow it to be, where no network lies between them. all_gather_v and
    all_to_all_v take uneven parts: --shares or --skew.
    """
    from msgspec.structs import replace

    from trnbench.cli.aligned import wrapped
    from trnbench.results.nccl_table import left_out, table
    from trnbench_emulator.commands.fabric.table import details, peak_of, row
    from trnbench_emulator.fabric.ask import ask

    fabric = fabric_of(state, options)
    groups = groups_of(fabric, group, replica_groups)
    peak = peak_of(fabric, collective.removesuffix("_v"), groups[0] if groups else None)
    sizes = _whole(list(sweep(minbytes, maxbytes, stepfactor, step)), dtype, collective)
    parts = shares_of(collective, shares, skew, len(groups[0]) if groups else fabric.size)
    more: dict[str, Any] = {}
    question = fabric.question(
        collective,
        sizes[0],
        algorithm=algorithm,
        groups=frozen(groups),
        shares=parts,
        beside=tuple(others_of(fabric, others)),
    )
    answers = [ask(replace(question, size=size)) for size in sizes]
    rows = [row(each, dtype, peak) for each in answers]
    if parts:
        alike = replace(question, shares=())
        for each, size in zip(rows, sizes, strict=True):
            each["times_even"] = each["time_s"] / ask(replace(alike, size=size)).time_s
        more = {"shares": list(parts), "shares_of": "senders" if collective == UNEVEN[0] else "receivers"}
        said = [
            *about(fabric),
            about_shares(collective, shares, skew, parts),
            f"{shown(sizes[-1])} takes {rows[-1]['times_even']:.2f} times as long as with even shares",
            "busbw: by the factor of even shares",
            *details(fabric, answers, peak, ""),
        ]
    else:
        said = [*about(fabric), *details(fabric, answers, peak, algorithm)]
    near = Near(state, fabric, alone=not (parts or others or len(groups) > 1))
    nearest = [near.of(collective, each.size, each.ranks, busbw=each.busbw) for each in answers]
    rows = [{**each, **cells(kind, each["time_s"])} for each, kind in zip(rows, nearest, strict=True)]
    said += notes(nearest, [each.busbw for each in answers])
    if format == "table":
        room = width()
        wide = None if room is None else room - 2
        comments = [line for note in said for line in wrapped(note, wide, 2).split("\n")]
        title = f"trnbench fabric {collective}, emulated"
        write("\n".join(table(title, rows, comments, room=room)) + "\n")
        say_left_out(left_out(room))
    elif format == "json":
        emit_json(
            {
                "instance": fabric.system.name,
                "collective": collective,
                "ranks": answers[0].ranks,
                "rank_kind": fabric.options.level,
                "context": fabric.options.context,
                "groups": len(groups) or 1,
                **more,
                "notes": said,
                "rows": rows,
            }
        )
    else:
        emit(rows, list(rows[0]), format)


def _whole(sizes: list[int], dtype: str, collective: str) -> list[float]:
    """Sizes in whole elements, none twice. Raises UsageError below one."""
    from trnbench.errors import UsageError
    from trnbench.kernels.dtype import item_bytes

    item = item_bytes(dtype)
    if sizes[0] < item:
        raise UsageError(
            f"{sizes[0]} B is less than one {dtype} element",
            cause=f"an element takes {item:g} B",
            try_=f"-b {max(int(item), 1)}",
        )
    if collective == "barrier":
        return [0.0]
    return list(dict.fromkeys(size // item * item for size in sizes))
