"""`trnbench nki`: your own kernel, emulated."""

from __future__ import annotations

import click

from trnbench_emulator.commands.nki.check import check
from trnbench_emulator.commands.nki.list import list_
from trnbench_emulator.commands.nki.run import run

__all__ = ["nki"]


@click.group("nki")
def nki() -> None:
    """Run an NKI kernel of your own, unchanged, on any generation.

    Nothing is stored; the emulator says what limits the kernel, and every number is emulated.
    """


for command in (run, check, list_):
    nki.add_command(command)
