"""How the figures of the fabric are shown, and what stands above every table of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench.cli.output import Column, say
from trnbench_emulator.commands.fabric.options import about

if TYPE_CHECKING:
    from trnbench_emulator.fabric.systems import Fabric

EVIDENCE = "emulated"
"""The grade of whatever these commands print."""


def say_about(fabric: Fabric) -> None:
    """What an answer holds for, to stderr."""
    for line in about(fabric):
        say(line, level=0)


def time_column() -> Column:
    """`time_s`, with the prefix that suits it."""
    from trnbench.facts.format import show

    return Column("time_s", "time", "right", lambda value: show(value, "s"))


def one_place(value: float) -> str:
    """1,234.5"""
    return f"{value:,.1f}"


def two_places(value: float) -> str:
    """1,234.56"""
    return f"{value:,.2f}"


def percent_of(value: float) -> str:
    """A share as per cent."""
    from trnbench.facts.format import percent

    return percent(value)
