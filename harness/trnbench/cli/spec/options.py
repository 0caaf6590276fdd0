"""Options that the spec commands share, and what they stand for."""

from __future__ import annotations

import click

from trnbench.cli.context import Session
from trnbench.errors import UnknownName
from trnbench.facts.peak import PeakPolicy
from trnbench.facts.scope import Scope

peak_option = click.option(
    "--peak", "policy", default="", metavar="POLICY", help="seed, device, engine or latest."
)
scope_option = click.option(
    "--scope",
    "scope",
    default="",
    metavar="SCOPE",
    help="Scope of the peaks: core, logical-core, device, instance, ultraserver or cluster.",
)


def policy_of(state: Session, given: str) -> PeakPolicy:
    """Raises `UnknownName` for a word that is no policy."""
    word = given or state.settings.policy
    if word not in set(map(str, PeakPolicy)):
        raise UnknownName("peak policy", word, map(str, PeakPolicy), try_="--peak seed")
    return PeakPolicy(word)


def scope_of(given: str, default: Scope) -> Scope:
    """Raises `UnknownName` for a word that is no scope."""
    if not given:
        return default
    if given not in set(map(str, Scope)):
        raise UnknownName("scope", given, map(str, Scope), try_="--scope device")
    return Scope(given)
