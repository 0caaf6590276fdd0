"""`trnbench run`: what is run, where and how; `trnbench.terminal.execution` carries it out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trnbench.run.executor import executor as opened_executor
from trnbench.terminal.context import Session
from trnbench.terminal.output import emit, say
from trnbench.terminal.request import CASE_COLUMNS, EXACT, Request, case_rows, settings_of
from trnbench.terminal.settings import load_settings


def run(
    shared: Session,
    /,
    *,
    backend: str,
    preset: str,
    labels: tuple[str, ...],
    output: Path | None,
    force: bool,
    no_report: bool,
    wait_quiet: float,
    require_quiet: bool,
    strict: bool,
    dry_run: bool,
    explain: bool,
    format: str,
    **options: Any,
) -> int:
    """Plan the cases that the options choose; list them, or carry them out and report."""
    if preset:
        shared.settings = load_settings(preset)
    request = Request(shared, settings_of(shared, labels, {**options, "isolate": True}), backend, options)
    if dry_run:
        with opened_executor(shared.registry, request.settings.executor, request.settings.jobs) as by:
            planned = request.plan(request.selection(request.chosen(by)))
        emit(list(case_rows(planned)), EXACT if format == "csv" else CASE_COLUMNS, format)
        for note in planned.notes:
            say(f"note: {note}")
        return 0
    from trnbench.terminal.execution import Steadiness, carry_out_request  # all that carries cases out

    steadiness = Steadiness(wait_quiet, require_quiet, strict)
    page = None if no_report else (output, force)
    return carry_out_request(request, page, steadiness, format, explain=explain)
