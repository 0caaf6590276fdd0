"""`trnbench resume`: go on with a run where it ended."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trnbench.bounded import kinds
from trnbench.cli.carrying import carry_on
from trnbench.cli.context import Session, no_cache_option, quiet_option, session
from trnbench.cli.ended import tell
from trnbench.cli.facts import facts_option
from trnbench.cli.number import NumberType
from trnbench.cli.output import format_option
from trnbench.cli.reporting import check_html, own_target, report_options, report_target
from trnbench.cli.steadiness import Steadiness, steadiness_options
from trnbench.cli.store_names import complete_runs
from trnbench.errors import UsageError

if TYPE_CHECKING:
    from trnbench.run.resumption import Earlier


@click.command()
@click.argument("run", default="", metavar="[RUN]", shell_complete=complete_runs)
@click.option("--anyway", is_flag=True, help="Go on although versions, settings or facts differ.")
@facts_option
@click.option(
    "--jobs",
    type=NumberType(kinds.JOBS),
    metavar="N",
    help="Processes; 0: as many as pay off.  [default: as before]",
)
@report_options
@steadiness_options
@no_cache_option
@quiet_option
@format_option
@session
def resume(
    shared: Session,
    /,
    *,
    run: str,
    anyway: bool,
    facts: tuple[Path, ...],
    jobs: int | None,
    output: Path | None,
    force: bool,
    no_report: bool,
    wait_quiet: float,
    require_quiet: bool,
    strict: bool,
    format: str,
) -> int:
    """Go on with a run: its missing, failed and inconclusive cases, and a report of the whole.

    RUN is an id, the beginning of one, a tag, or the latest run that is not complete. The rest of the
    run is carried out as it began; where plan, settings, versions or facts differ, the difference is named.
    """
    import msgspec

    from trnbench.run.api import choose_backend
    from trnbench.run.executor import executor as opened_executor
    from trnbench.run.resumption import Earlier, unfinished
    from trnbench.store.store import Store

    target = None
    if not no_report:
        target = output and report_target(output, force=force)
        check_html(shared)
    with ExitStack() as stack:
        store = stack.enter_context(Store(shared.store_path))
        earlier = stack.enter_context(Earlier(store, unfinished(store, run)))
        _check_hosts(earlier)
        if target is None and not no_report:
            target = own_target(earlier.run.backend, earlier.selection(shared.registry), force=force)
        settings = earlier.settings
        by = stack.enter_context(
            opened_executor(shared.registry, settings.executor, settings.jobs if jobs is None else jobs)
        )
        chosen = choose_backend(
            shared.registry, earlier.run.backend, by, keep_identity=settings.keep_identity
        )
        planned = earlier.planned(shared.registry, facts)
        resumed = earlier.taken_up(planned, chosen, shared.registry, anyway=anyway)
        jobs = settings.jobs if jobs is None else jobs
        settings = msgspec.structs.replace(settings, jobs=jobs, isolate=True).checked()
        left = len(planned.cases) - len(resumed.kept)
        opening = f"{chosen.name}: run {earlier.id} goes on with {left:,} of {len(planned.cases):,} cases"
        steadiness = Steadiness(wait_quiet, require_quiet, strict)
        ended = carry_on(
            shared, store, planned, chosen, settings, by, steadiness, resumed=resumed, opening=opening
        )
    return tell(shared, planned, ended, target, format)


def _check_hosts(earlier: Earlier) -> None:
    """Raises `UsageError` for a run of several ranks: only the first of them has the journal."""
    if earlier.opening.executor == "ranks":
        raise UsageError(
            f"run {earlier.id} cannot be resumed: several ranks measured every case of it together",
            cause="rank 0 alone has the journal, and the others would not know which cases are left",
            try_="the same command on all ranks again, as a new run; what was done stays in this one",
        )
