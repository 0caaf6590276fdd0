"""`trnbench fabric sensitivity`: how far the answer hangs on what is assumed."""

from __future__ import annotations

from typing import Any

import click

from trnbench.cli.context import Session, session
from trnbench.cli.output import Column, emit, format_option, say
from trnbench_emulator.commands.fabric.cells import say_about, time_column
from trnbench_emulator.commands.fabric.collective import COLLECTIVE
from trnbench_emulator.commands.fabric.options import algorithm_option, fabric_of, fabric_options
from trnbench_emulator.commands.fabric.sizes import SIZE, shown


@click.command()
@COLLECTIVE
@click.option("--size", "-s", type=SIZE, default="1G", show_default=True, help="The message.")
@algorithm_option
@fabric_options
@format_option
@session
def sensitivity(
    state: Session, /, *, collective: str, size: int, algorithm: str, format: str, **options: Any
) -> None:
    """How the answer moves over the range of each assumption and each reading of the documents."""
    from trnbench_emulator.fabric.sensitivity import sensitivity as moved

    fabric = fabric_of(state, options)
    base, shifts = moved(fabric.question(collective, size, algorithm=algorithm))
    rows: list[dict[str, object]] = [
        {
            "what": each.name,
            "usual": each.usual,
            "setting": each.setting,
            "time_s": each.time_s,
            "change": each.ratio - 1,
            "reason": each.reason,
        }
        for each in shifts
    ]
    say_about(fabric)
    columns = [
        Column("what"),
        Column("usual"),
        Column("setting"),
        time_column(),
        Column("change", "change", "right", lambda v: f"{v * 100:+.1f} %"),
    ]
    from trnbench.facts.format import show

    say(f"usual: {show(base.time_s, 's')} by {base.algorithm}", level=0)
    if not rows:
        say("nothing is assumed about the links that carry this", level=0)
    emit(rows, columns, format, title=f"{collective} of {shown(size)} on {fabric.system.name}")
