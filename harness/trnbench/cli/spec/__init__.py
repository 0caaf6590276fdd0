"""`trnbench spec`: the documented figures, each with its evidence and source."""

from __future__ import annotations

import click

from trnbench.cli.spec.check import check
from trnbench.cli.spec.diff import diff
from trnbench.cli.spec.list import list_
from trnbench.cli.spec.show import show

__all__ = ["spec"]


@click.group("spec")
def spec() -> None:
    """Show, list, check and compare the documented figures.

    A figure keeps its printed digits, its unit, its scope and its source. Where documents
    disagree, none is dropped: `--peak` says which one percentages are taken of.
    """


for command in (show, list_, check, diff):
    spec.add_command(command)
