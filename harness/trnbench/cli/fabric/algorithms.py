"""`trnbench fabric algorithms`: what is possible where, and what the documents would take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trnbench.cli.context import Session, session
from trnbench.cli.fabric.options import about, fabric_of, fabric_options
from trnbench.cli.output import Column, emit, format_option, say

if TYPE_CHECKING:
    from trnbench.emulator.fabric.systems import Fabric

PROBE = float(2**20)


@click.command()
@fabric_options
@format_option
@session
def algorithms(state: Session, /, *, format: str, **options: Any) -> None:
    """Which algorithms this system allows, for which collectives, and why not."""
    from trnbench.emulator.fabric.possible import names

    fabric = fabric_of(state, options)
    rows = [_row(fabric, name) for name in names(fabric)]
    for line in about(fabric):
        say(line, level=0)
    if fabric.constants.source and not fabric.clustered:
        say(f"thresholds of auto: {fabric.constants.source}", level=0)
    emit(
        rows,
        [Column("algorithm"), Column("auto"), Column("collectives"), Column("not", "not possible")],
        format,
    )


def _row(fabric: Fabric, name: str) -> dict[str, object]:
    """Plans every collective; nothing is carried out."""
    from trnbench.emulator.fabric.algorithms.algorithm import COLLECTIVES, NotPossible
    from trnbench.emulator.fabric.possible import meant, plan

    does: list[str] = []
    why: dict[str, None] = {}
    for collective in COLLECTIVES:
        if not meant(fabric, collective, name):
            continue
        try:
            plan(fabric, collective, name, PROBE)
        except NotPossible as error:
            why[error.what + (f" ({error.cause})" if error.cause else "")] = None
        else:
            does.append(collective)
    return {
        "algorithm": name,
        "auto": _threshold(fabric, name),
        "collectives": ", ".join(does) or "–",
        "not": "; ".join(why),
    }


def _threshold(fabric: Fabric, name: str) -> str:
    """From where to where the documents take it."""
    if fabric.clustered:
        return ""
    low = 0.0
    for each in fabric.constants.auto:
        if each.algorithm == name:
            if each.max_bytes == float("inf"):
                return f"from {low / 1e6:g} MB" if low else "always"
            return (
                f"{low / 1e6:g} to {each.max_bytes / 1e6:g} MB"
                if low
                else f"below {each.max_bytes / 1e6:g} MB"
            )
        low = each.max_bytes
    return ""
