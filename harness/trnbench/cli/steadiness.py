"""Options of commands that measure: how quiet the machine has to be, and what is made of doubtful numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from trnbench.bounded import kinds
from trnbench.cli.bundle import bundle
from trnbench.cli.number import NumberType
from trnbench.cli.output import say
from trnbench.errors import ExitCode, TrnbenchError

if TYPE_CHECKING:
    from trnbench.backend import Backend
    from trnbench.cli.context import Session
    from trnbench.run.executor import Executor


class BusyMachine(TrnbenchError):
    """--require-quiet, and it is not."""

    exit_code = ExitCode.GATE


class Steadiness(NamedTuple):
    """`strict`: an inconclusive case makes the exit code 1."""

    wait_s: float
    required: bool
    strict: bool


steadiness_options = bundle(
    click.option(
        "--wait-quiet",
        type=NumberType(kinds.QUIET),
        default=0.0,
        metavar="SECONDS",
        help="Wait at most so long for a quiet machine, before a measured run.",
    ),
    click.option(
        "--require-quiet", is_flag=True, help="Measure nothing on a busy machine: exit code 1 instead."
    ),
    click.option("--strict", is_flag=True, help="Exit code 1 for inconclusive cases as well."),
)
"""--wait-quiet, --require-quiet and --strict."""


def wait_for_quiet(shared: Session, chosen: Backend, by: Executor | None, wanted: Steadiness) -> None:
    """Before a measured run on this machine: says that it is busy, or waits. Raises `BusyMachine`."""
    from trnbench.run.returned import detected

    if not detected(chosen).instance or (by is not None and by.elsewhere):
        return
    from trnbench.measure.quiet import quiet_within

    if wanted.wait_s and shared.verbosity >= 0:
        say(f"waiting for a quiet machine, {wanted.wait_s:g} s at most")
    cause = quiet_within(wanted.wait_s)
    if cause is None:
        return
    if wanted.required:
        raise BusyMachine(
            "the machine is too busy to measure: nothing was run (--require-quiet)",
            cause=cause.what,
            try_="end other processes, or wait for them: --wait-quiet 600",
        )
    if shared.verbosity >= 0:
        say(f"warning: the machine is busy: {cause.what}; cases that suffer from it will be inconclusive")
        say("  try:   end other processes, or wait for them: --wait-quiet 600")
