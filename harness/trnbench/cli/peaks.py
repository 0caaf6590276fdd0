"""Which of the disagreeing documents percentages are taken of: what is asked for, else what is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from trnbench.cli.context import Session
    from trnbench.facts.peak import PeakPolicy

peak_option = click.option(
    "--peak", "policy", default="", metavar="POLICY", help="seed, device, engine or latest."
)
"""`@peak_option` gives a command the parameter `policy`, for `policy_of`."""


def policy_of(state: Session, given: str) -> PeakPolicy:
    """Raises `UnknownName` for a word that is no policy."""
    from trnbench.facts.peak import as_policy

    return as_policy(given or state.settings.policy)
