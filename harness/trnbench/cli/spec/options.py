"""The scope that spec commands are asked for."""

from __future__ import annotations

import click

from trnbench.errors import UnknownName
from trnbench.facts.scope import Scope

scope_option = click.option(
    "--scope",
    "scope",
    default="",
    metavar="SCOPE",
    help="Scope of the peaks: core, logical-core, device, instance, ultraserver or cluster.",
)


def scope_of(given: str, default: Scope) -> Scope:
    """Raises `UnknownName` for a word that is no scope."""
    if not given:
        return default
    if given not in set(map(str, Scope)):
        raise UnknownName("scope", given, map(str, Scope), try_="--scope device")
    return Scope(given)
