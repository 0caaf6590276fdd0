"""A run carried out and kept, its progress shown."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from trnbench.cli.ended import Ended
from trnbench.cli.output import say
from trnbench.cli.steadiness import Steadiness, wait_for_quiet
from trnbench.cli.terminal import suits_colours

if TYPE_CHECKING:
    from trnbench.backend import Backend
    from trnbench.cli.context import Session
    from trnbench.run.executor import Executor
    from trnbench.run.plan import Plan
    from trnbench.run.resumption import Resumption
    from trnbench.run.settings import RunSettings
    from trnbench.store.store import Store


def carry_out(
    shared: Session,
    planned: Plan,
    chosen: Backend,
    settings: RunSettings,
    by: Executor | None,
    steadiness: Steadiness,
) -> Ended:
    """A new run, kept in the store."""
    from trnbench.store.store import Store

    with Store(shared.store_path) as store:
        opening = _opening(planned, chosen.name)
        return carry_on(shared, store, planned, chosen, settings, by, steadiness, opening=opening)


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
) -> Ended:
    """What is left of a run: all of a new one. `opening` is said first. Raises `BusyMachine` before the first
    case where a quiet machine is required."""
    from trnbench.run.cut import RunCutShort
    from trnbench.run.execute import execute
    from trnbench.run.progress import progress

    quiet = shared.verbosity < 0
    shared.kept = f"what was done is in {store.path}; see it with: trnbench runs show"
    if not quiet:
        say(opening)
    wait_for_quiet(shared, chosen, by, steadiness)
    cases = len(planned.cases) - (len(resumed.kept) if resumed else 0)
    try:
        with progress(cases, quiet=quiet, terminal=suits_colours(sys.stderr)) as on_progress:
            done = execute(
                planned,
                chosen,
                shared.registry,
                settings,
                on_progress,
                store=store,
                cache=shared.cache(),
                executor=by,
                resumed=resumed,
            )
    except RunCutShort as error:
        ended = Ended(error.run, store.path, error, steadiness.strict)
    else:
        ended = Ended(done, store.path, strict=steadiness.strict)
    if store.behind is not None:
        say(f"warning: {store.behind.what}; run {ended.run.id} is kept in its journal")
        say(f"  try:   {store.behind.try_}; the next command then fills the store")
    if by is not None:
        failure = ended.failure
        by.ended(int(failure.exit_code if failure else ended.code), failure)
    return ended


def _opening(planned: Plan, backend: str) -> str:
    total, skipped = len(planned.cases), len(planned.skipped)
    systems = len(planned.systems)
    return (
        f"{backend}: {total:,} {'case' if total == 1 else 'cases'} "
        f"on {systems} {'system' if systems == 1 else 'systems'}"
        + (f", {skipped:,} of them skipped" if skipped else "")
    )
