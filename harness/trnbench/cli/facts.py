"""Fact files of the user's own: those of the configuration, then those of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from trnbench.cli.context import Session

facts_option = click.option(
    "--facts",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Add a fact file of your own (TOML, see docs/facts.md). Repeatable.",
)
"""`@facts_option` gives a command the parameter `facts`, for `facts_of`."""


def facts_of(state: Session, given: tuple[Path, ...]) -> tuple[Path, ...]:
    """What a registry takes as further facts: the last file to speak of a figure wins."""
    return (*state.settings.facts, *given)
