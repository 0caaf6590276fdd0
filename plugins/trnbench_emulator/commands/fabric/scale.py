"""`trnbench fabric scale`: from two ranks or instances to all of them."""

from __future__ import annotations

from typing import Any

import click

from trnbench.bounded import kinds
from trnbench.cli.context import Session, session
from trnbench.cli.output import Column, emit, format_option
from trnbench.quoting import cut
from trnbench_emulator.commands.fabric.cells import EVIDENCE, percent_of, say_about, time_column, two_places
from trnbench_emulator.commands.fabric.collective import COLLECTIVE
from trnbench_emulator.commands.fabric.options import algorithm_option, fabric_of, fabric_options
from trnbench_emulator.commands.fabric.sizes import SIZE, shown


@click.command()
@COLLECTIVE
@click.option("--size", "-s", type=SIZE, default="1G", show_default=True, help="The message.")
@algorithm_option
@click.option(
    "--counts", metavar="N,N,…", help="How many instances (of a cluster) or ranks, instead of all steps."
)
@fabric_options
@format_option
@session
def scale(
    state: Session,
    /,
    *,
    collective: str,
    size: int,
    algorithm: str,
    counts: str | None,
    format: str,
    **options: Any,
) -> None:
    """A collective on more and more ranks: instances of a cluster, or devices of one system.

    `-i trn1-ultracluster` goes from 2 instances to all of them, 30,000 devices.
    """
    from trnbench_emulator.fabric.ask import ask

    whole = fabric_of(state, options)
    steps = _counts(counts, whole.system.size if whole.clustered else whole.size)
    rows: list[dict[str, Any]] = []
    for count in steps:
        if whole.clustered:
            fabric = fabric_of(state, options, size=count)
            result = ask(fabric.question(collective, size, algorithm=algorithm))
        else:
            some = () if count == whole.size else tuple(range(count))
            result = ask(whole.question(collective, size, algorithm=algorithm, ranks=some))
        rows.append(
            {
                "instances": count if whole.clustered else None,
                "ranks": result.ranks,
                "algorithm": result.algorithm,
                "time_s": result.time_s,
                "algbw_gb_s": result.algbw / 1e9,
                "busbw_gb_s": result.busbw / 1e9,
                "bound_share": result.bound.time_s / result.time_s,
                "evidence": EVIDENCE,
            }
        )
    if not whole.clustered:
        for each in rows:
            del each["instances"]
    first = rows[0]["time_s"]
    for each in rows:
        each["times_first"] = each["time_s"] / first
    say_about(whole)
    names = (*(["instances"] if whole.clustered else []), "ranks", "algorithm")
    columns = [
        *map(Column, names),
        time_column(),
        Column("algbw_gb_s", "algbw (GB/s)", "right", two_places),
        Column("busbw_gb_s", "busbw (GB/s)", "right", two_places),
        Column("times_first", "× first", "right", lambda v: f"{v:.2f}"),
        Column("bound_share", "% of bound", "right", percent_of),
        Column("evidence"),
    ]
    emit(rows, columns, format, title=f"{collective} of {shown(size)} on {whole.system.name}")


def _counts(text: str | None, most: int) -> list[int]:
    from trnbench.errors import UsageError

    if text is None:
        counts = [2**k for k in range(1, most.bit_length()) if 2**k < most]
        return [*counts, most] if most > 1 else [most]
    read = [kinds.GROUP.parsed(each) for each in text.split(",")]
    counts = sorted({int(each) for each in read if each is not None})
    if None in read:
        raise UsageError(
            f"--counts {cut(text)} are no numbers",
            cause="whole numbers, 1 or more, with commas between",
            try_="--counts 2,4,8",
        )
    if not 2 <= counts[0] <= counts[-1] <= most:
        raise UsageError(
            f"--counts {cut(text)} is not within reach",
            cause=f"2 to {most:,} are there",
            try_="--counts 2,4,8",
        )
    return counts
