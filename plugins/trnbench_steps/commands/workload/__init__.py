"""`trnbench workload`: models, how they are laid out, and what a step of theirs takes."""

from __future__ import annotations

import click

from trnbench_steps.commands.workload.info import info
from trnbench_steps.commands.workload.list import list_
from trnbench_steps.commands.workload.run import run


@click.group()
def workload() -> None:
    """Models: parameters, operations, memory, and what a step of theirs takes."""


workload.add_command(list_)
workload.add_command(info)
workload.add_command(run)

__all__ = ["workload"]
