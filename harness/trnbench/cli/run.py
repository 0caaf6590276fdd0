"""`trnbench run`: plan, carry out, keep, report."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trnbench.bounded import kinds
from trnbench.cli.context import Session, no_cache_option, quiet_option, session
from trnbench.cli.facts import facts_of, facts_option
from trnbench.cli.names import complete_backends, complete_executors
from trnbench.cli.number import NumberType
from trnbench.cli.output import emit, format_option, say
from trnbench.cli.planned import CASE_COLUMNS, EXACT, case_rows
from trnbench.cli.reporting import check_html, own_target, report_options, report_target
from trnbench.cli.selecting import selection_from, selection_options
from trnbench.cli.steadiness import Steadiness, steadiness_options
from trnbench.cli.store_names import complete_run_tags

if TYPE_CHECKING:
    from trnbench.backend import Backend
    from trnbench.registry import Registry
    from trnbench.run.plan import Plan
    from trnbench.run.ranks.rank import Rank
    from trnbench.run.settings import RunSettings

PROCESS = "process"  # trnbench.run.executor's; named here to import nothing
PROCESSES = 3  # trnbench.run.settings's
POLICIES = ("seed", "device", "engine", "latest")


@click.command()
@selection_options
@click.option(
    "--backend", default="", metavar="NAME", shell_complete=complete_backends, help="Emulated, or measured."
)
@click.option(
    "--peak", type=click.Choice(POLICIES), help="Documents that percentages are taken of.  [default: seed]"
)
@facts_option
@click.option(
    "--jobs", type=NumberType(kinds.JOBS), metavar="N", help="Processes; 0: as many as pay off.  [default: 0]"
)
@click.option(
    "--timeout",
    type=NumberType(kinds.TIME_LIMIT),
    default=0.0,
    metavar="SECONDS",
    help="Limit for one case; 0: none.",
)
@click.option(
    "--maxfail",
    type=NumberType(kinds.MOST_FAILED),
    default=0,
    metavar="N",
    help="Stop after N failed or suspect cases; 0: never.",
)
@click.option("--seed", type=NumberType(kinds.SEED), metavar="N", help="Of random data.  [default: 0]")
@click.option(
    "--retries",
    type=NumberType(kinds.RETRIES),
    default=0,
    metavar="N",
    help="Tries more for a case that crashed or hung.",
)
@click.option(
    "--sample-time",
    type=NumberType(kinds.SAMPLING),
    default=0.0,
    metavar="SECONDS",
    help="Sampling of one measured case; 0: its own.",
)
@click.option(
    "--processes",
    type=NumberType(kinds.PROCESSES),
    default=PROCESSES,
    metavar="N",
    help="Processes that measure each case, round by round; where they disagree, up to three times as many.  "
    f"[default: {PROCESSES}]",
)
@steadiness_options
@click.option(
    "--keep-identity", is_flag=True, help="Leave names of host and user, and addresses, in the run."
)
@click.option(
    "--executor",
    default=PROCESS,
    metavar="NAME",
    shell_complete=complete_executors,
    help="Who carries cases out: processes of this machine, or a plugin's executor.  [default: process]",
)
@click.option("--preset", default="", metavar="NAME", help="A preset of the configuration.")
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="TAG",
    shell_complete=complete_run_tags,
    help="Tag the stored run; may be repeated.",
)
@report_options
@click.option("--dry-run", is_flag=True, help="List the cases, run none.")
@no_cache_option
@quiet_option
@format_option
@session
def run(
    shared: Session,
    /,
    *,
    format: str,
    backend: str,
    peak: str | None,
    facts: tuple[Path, ...],
    jobs: int | None,
    timeout: float,
    maxfail: int,
    seed: int | None,
    retries: int,
    sample_time: float,
    processes: int,
    wait_quiet: float,
    require_quiet: bool,
    strict: bool,
    keep_identity: bool,
    executor: str,
    preset: str,
    labels: tuple[str, ...],
    output: Path | None,
    force: bool,
    no_report: bool,
    dry_run: bool,
    **selected: Any,
) -> int:
    """Run benchmarks, emulated or measured, and write a report.

    With no argument, every kernel on every system, emulated. KERNEL is a name or a glob.
    """
    if preset:
        from trnbench.cli.settings import load_settings

        shared.settings = load_settings(preset)
    configured = shared.settings

    from trnbench.facts.peak import as_policy
    from trnbench.run.api import choose_backend, here
    from trnbench.run.executor import executor as opened_executor
    from trnbench.run.plan import plan
    from trnbench.run.ranks.rank import find_rank
    from trnbench.run.returned import detected
    from trnbench.run.settings import RunSettings
    from trnbench.store.path import check_named, store_path
    from trnbench.store.tag import checked_tags

    settings = RunSettings(
        policy=as_policy(peak or configured.policy),
        jobs=configured.jobs if jobs is None else jobs,
        timeout_s=timeout,
        maxfail=maxfail,
        seed=configured.seed if seed is None else seed,
        retries=retries,
        sample_s=sample_time,
        processes=processes,
        keep_identity=keep_identity,
        executor=executor,
        isolate=True,
        tags=checked_tags(labels),
        argv=tuple(sys.argv),
        facts=tuple(str(each.absolute()) for each in facts_of(shared, facts)),
    ).checked()
    rank = find_rank() if executor == PROCESS and not dry_run else None
    target = None
    reported = not (no_report or dry_run or (rank is not None and rank.rank > 0))
    if reported:
        target = output and report_target(output, force=force)
        check_html(shared)
    # Whoever carries out the cases is gone before anything goes to stdout.
    with ExitStack() as stack:
        by = stack.enter_context(opened_executor(shared.registry, executor, settings.jobs))
        chosen = choose_backend(
            shared.registry, backend or configured.backend, by, keep_identity=keep_identity
        )
        if not dry_run and (rank is None or rank.rank == 0):
            check_named(store_path(shared.store_path))  # before the seconds that a plan takes
        selection = here(selection_from(**_merged(selected, configured.selection)), chosen)
        planned = plan(shared.registry, selection, extra_facts=facts_of(shared, facts))
        if rank is not None and rank.rank > 0:
            return _follow(rank, planned, chosen, settings, shared.registry)
        if rank is not None and detected(chosen).instance:
            from trnbench.run.ranks.executor import rank_executor

            by = stack.enter_context(rank_executor(rank))
        if reported and target is None:
            target = own_target(chosen.name, selection, force=force)
        steadiness = Steadiness(wait_quiet, require_quiet, strict)
        ended = None
        if not dry_run:
            from trnbench.cli.carrying import carry_out

            ended = carry_out(shared, planned, chosen, settings, by, steadiness)
    if ended is None:
        _list_cases(planned, format)
        return 0
    from trnbench.cli.ended import tell

    return tell(shared, planned, ended, target, format)


def _follow(rank: Rank, planned: Plan, chosen: Backend, settings: RunSettings, registry: Registry) -> int:
    """The part of every rank but the first: no store, no report, nothing on stdout."""
    from trnbench.run.returned import detected

    if not detected(chosen).instance:
        say(f"rank {rank.rank}: emulated cases need no machine, rank 0 carries them out alone")
        return 0
    from trnbench.run.preparation import prepared
    from trnbench.run.ranks.follow import follow
    from trnbench.run.rounds import for_ranks

    cases = for_ranks(planned.cases, settings.processes)
    return follow(rank, prepared(planned, chosen, settings, registry), cases)


def _merged(selected: Mapping[str, Any], configured: Mapping[str, Any]) -> dict[str, Any]:
    """What is typed goes over what is configured, option by option."""
    merged = dict(selected)
    for key, value in configured.items():
        name = {"exclude": "excludes"}.get(key, key)
        merged[name] = merged.get(name) or value
    return merged


def _list_cases(planned: Plan, format: str) -> None:
    emit(list(case_rows(planned)), EXACT if format == "csv" else CASE_COLUMNS, format)
    for note in planned.notes:
        say(f"note: {note}")
