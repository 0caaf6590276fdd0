"""`trnbench workload`: models, how they are laid out, and what a step of theirs takes."""

from __future__ import annotations

import click

from trnbench.cli.workload.info import info
from trnbench.cli.workload.list import list_


@click.group()
def workload() -> None:
    """Models: parameters, operations, memory, and the systems they fit on."""


workload.add_command(list_)
workload.add_command(info)

__all__ = ["workload"]
