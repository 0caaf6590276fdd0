"""`trnbench resume`: a run that stopped goes on where it was left."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from trnbench.errors import UsageError
from trnbench.run.api import choose_backend
from trnbench.run.executor import executor as opened_executor
from trnbench.run.resumption import Earlier, unfinished
from trnbench.terminal.context import Session
from trnbench.terminal.execution import Steadiness, carry_on, sample_for
from trnbench.terminal.outcome import tell
from trnbench.terminal.target import check_html, own_target, report_target


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
    """The missing, failed and inconclusive cases of a run, and a report of the whole."""
    target = None
    if not no_report:
        target = output and report_target(output, force=force)
        check_html(shared)
    with ExitStack() as stack:
        store = stack.enter_context(shared.open_store())
        earlier = stack.enter_context(Earlier(store, unfinished(store, run)))
        _check_hosts(earlier)
        if target is None and not no_report:
            target = own_target(earlier.run.backend, earlier.selection(shared.registry), force=force)
        settings = earlier.settings
        jobs = settings.jobs if jobs is None else jobs
        by = stack.enter_context(opened_executor(shared.registry, settings.executor, jobs))
        chosen = choose_backend(
            shared.registry, earlier.run.backend, by, keep_identity=settings.keep_identity
        )
        planned = earlier.planned(shared.registry, facts)
        resumed = earlier.taken_up(planned, chosen, shared.registry, anyway=anyway)
        settings = replace(settings, jobs=jobs, isolate=True).checked()
        left = len(planned.cases) - len(resumed.kept)
        opening = f"{chosen.name}: run {earlier.id} goes on with {left:,} of {len(planned.cases):,} cases"
        steadiness = Steadiness(wait_quiet, require_quiet, strict)
        who = (shared, store, planned, chosen, settings, by, steadiness)
        ended = carry_on(*who, resumed=resumed, opening=opening, sample=sample_for(format))
    return tell(shared, planned, ended, target, format)


def _check_hosts(earlier: Earlier) -> None:
    """Raises `UsageError` for a run of several ranks: only the first of them has the journal."""
    if earlier.opening.executor == "ranks":
        raise UsageError(
            f"run {earlier.id} cannot be resumed: several ranks measured every case of it together",
            cause="rank 0 alone has the journal, and the others would not know which cases are left",
            try_="the same command on all ranks again, as a new run; what was done stays in this one",
        )
