"""Cases of `trnbench run` and `trnbench resume`: carried out and kept, their progress shown."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trnbench.backend import Backend
from trnbench.errors import ExitCode, TrnbenchError
from trnbench.registry import Registry
from trnbench.run.attempt import for_ranks
from trnbench.run.execute import execute
from trnbench.run.executor import PROCESS, Executor, Rank, RunCutShort, find_rank
from trnbench.run.executor import executor as opened_executor
from trnbench.run.plan import Plan
from trnbench.run.preparation import prepared
from trnbench.run.progress import Step, progress
from trnbench.run.reply import detected
from trnbench.run.selection import RunSettings
from trnbench.store.path import check_named, store_path
from trnbench.store.store import Store
from trnbench.terminal.context import Session
from trnbench.terminal.outcome import Ended, Tally, tell
from trnbench.terminal.output import say
from trnbench.terminal.request import Request
from trnbench.terminal.result_table import MOST
from trnbench.terminal.screen import suits_colours

if TYPE_CHECKING:
    from trnbench.run.resumption import Resumption

SAMPLE = 2_000
"""Cases that a page and a headline speak of where a run has more than `outcomes.MANY`."""


def sample_for(format: str) -> int:
    """So many of very many cases come back; all (0) for CSV, which prints every case."""
    return 0 if format == "csv" else SAMPLE


class BusyMachine(TrnbenchError):
    """--require-quiet, and it is not."""

    exit_code = ExitCode.GATE


class Steadiness(NamedTuple):
    """`strict`: an inconclusive case makes the exit code 1."""

    wait_s: float
    required: bool
    strict: bool


def wait_for_quiet(shared: Session, chosen: Backend, by: Executor | None, wanted: Steadiness) -> None:
    """Before a measured run on this machine: says that it is busy, or waits. Raises `BusyMachine`."""
    if not detected(chosen).instance or (by is not None and by.elsewhere):
        return
    from trnbench.measure.conditions import quiet_within  # of a measured run alone

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


def carry_out_request(
    request: Request,
    page: tuple[Path | None, bool] | None,
    steadiness: Steadiness,
    format: str,
    *,
    explain: bool,
) -> int:
    """A new run, its report where `page` (file, whether to overwrite) asks for one; the exit code."""
    shared, settings = request.shared, request.settings
    rank = find_rank() if settings.executor == PROCESS else None
    follows = rank is not None and rank.rank > 0
    target = None
    if page is not None and not follows:
        from trnbench.terminal.target import check_html, own_target, report_target  # with all that draws

        target = page[0] and report_target(page[0], force=page[1])
        check_html(shared)
    # Whoever carries out the cases is gone before anything goes to stdout.
    with ExitStack() as stack:
        by = stack.enter_context(opened_executor(shared.registry, settings.executor, settings.jobs))
        chosen = request.chosen(by)
        if not follows:
            check_named(store_path(shared.store_path))  # before the seconds that a plan takes
        selection = request.selection(chosen)
        planned = request.plan(selection)
        if rank is not None and rank.rank > 0:
            return _follow(rank, planned, chosen, settings, shared.registry)
        if rank is not None and detected(chosen).instance:
            from trnbench.run.ranks.executor import rank_executor  # ranks bring secrets and sockets

            by = stack.enter_context(rank_executor(rank))
        if page is not None and target is None:
            target = own_target(chosen.name, selection, force=page[1])
        sample = sample_for(format)
        ended = carry_out(shared, planned, chosen, settings, by, steadiness, sample=sample)
    return tell(shared, planned, ended, target, format, explain=explain)


def _follow(rank: Rank, planned: Plan, chosen: Backend, settings: RunSettings, registry: Registry) -> int:
    """The part of every rank but the first: no store, no report, nothing on stdout."""
    if not detected(chosen).instance:
        say(f"rank {rank.rank}: emulated cases need no machine, rank 0 carries them out alone")
        return 0
    from trnbench.run.ranks.executor import follow

    cases = for_ranks(planned.cases, settings.processes)
    return follow(rank, prepared(planned, chosen, settings, registry), cases)


def carry_out(
    shared: Session,
    planned: Plan,
    chosen: Backend,
    settings: RunSettings,
    by: Executor | None,
    steadiness: Steadiness,
    *,
    sample: int = 0,
) -> Ended:
    """A new run, kept in the store; of very many cases so many come back, and of those alone is told more
    than their number. 0: all."""
    with shared.open_store() as store:
        opening = _opening(planned, chosen.name)
        return carry_on(
            shared, store, planned, chosen, settings, by, steadiness, opening=opening, sample=sample
        )


def carry_on(
    shared: Session,
    store: Store,
    planned: Plan,
    chosen: Backend,
    settings: RunSettings,
    by: Executor | None,
    steadiness: Steadiness,
    *,
    resumed: Resumption | None = None,
    opening: str,
    sample: int,
) -> Ended:
    """What is left of a run: all of a new one. `opening` is said first, if any.

    Raises `BusyMachine` before the first case where a quiet machine is required.
    """
    quiet = shared.verbosity < 0
    if not quiet and opening:
        say(opening)
    wait_for_quiet(shared, chosen, by, steadiness)
    kept = resumed.kept if resumed else {}
    cases = len(planned.cases) - len(kept)
    tally = Tally()
    for entry in kept.values():
        tally.add(entry)

    def count(step: Step) -> None:
        if step.ended:
            tally.add(step.entry)
        on_progress(step)

    def keep() -> None:
        shared.kept = f"what was done is in {store.path}; see it with: {shared.typed('trnbench runs show')}"

    failure: RunCutShort | None = None
    try:
        with progress(cases, quiet=quiet, terminal=suits_colours(sys.stderr)) as on_progress:
            done = execute(
                planned,
                chosen,
                shared.registry,
                settings,
                count,
                store=store,
                cache=shared.cache(),
                executor=by,
                resumed=resumed,
                sample=sample,
                on_kept=keep,
            )
    except RunCutShort as error:
        done, failure = error.run, error
    ended = Ended(done, tally, store.path, failure, steadiness.strict)
    if store.behind is not None:
        say(f"warning: {store.behind.what}; run {ended.run.id} is kept in its journal")
        say(f"  try:   {store.behind.try_}; the next command then fills the store")
    if by is not None:
        by.ended(int(failure.exit_code if failure else ended.code), failure)
    return ended


def _opening(planned: Plan, backend: str) -> str:
    """Nothing of so few cases that a row for each will say it."""
    total, skipped = len(planned.cases), len(planned.skipped)
    if total <= MOST:
        return ""
    systems = len(planned.systems)
    return (
        f"{backend}: {total:,} {'case' if total == 1 else 'cases'} "
        f"on {systems} {'system' if systems == 1 else 'systems'}"
        + (f", {skipped:,} of them skipped" if skipped else "")
    )
