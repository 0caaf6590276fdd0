"""`trnbench plan`: which layout on which instance, for a model that decodes or is trained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trnbench import Session
from trnbench.bounded import kinds
from trnbench.cli.output import say
from trnbench.errors import ExitCode, NothingSelected, UsageError
from trnbench.run.output_file import check_writable, write_whole
from trnbench.run.render import find_page, render_page
from trnbench_steps.commands.plan_tables import show_plan
from trnbench_steps.commands.workload.options import types_from
from trnbench_steps.job import Task, check_dtype
from trnbench_steps.plan import price, search
from trnbench_steps.plan.goal import BATCHES, By, Goal
from trnbench_steps.plan.pareto import pareto
from trnbench_steps.shipped import model_of

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench_steps.plan.option import Option
    from trnbench_steps.plan.search import Plan


def plan(
    state: Session,
    /,
    *,
    model: str,
    instances: tuple[str, ...],
    prices: Path | None,
    top: int,
    drawing: Path | None,
    force: bool,
    allow_no_evidence: bool,
    facts: Any,
    format: str,
    **options: Any,
) -> ExitCode:
    """Rank the layouts of MODEL on all systems: by time, throughput or dollars, with what limits each."""
    if drawing is not None:
        _check_drawing(state, drawing, force=force)
    goal = _wanted(state, model, prices is not None, options)
    known = price.read_prices(prices) if prices is not None else ()
    systems = _systems(state, instances, state.facts_of(facts), goal)
    planned = search.plan(
        state.registry, goal, systems, known, lambda name: say(f"looking at {name}", level=1)
    )
    show_plan(state.registry, planned, top=top, any_evidence=allow_no_evidence, format=format)
    if not planned.options:
        raise NothingSelected(
            f"no layout of {goal.model.name} is feasible",
            cause="all were refused, each with its reason above",
            try_="a longer --tpot, --ttft or --days, another -i, or a smaller --type weights",
        )
    if not planned.banded and not allow_no_evidence:
        raise NothingSelected(
            f"nothing is published of this task for {goal.model.name} on these systems",
            cause="all feasible options are without a band, so none is put first",
            try_="--allow-no-evidence, or another -i",
        )
    if drawing is not None:
        _draw(state, planned, planned.options if allow_no_evidence else planned.banded, drawing)
    return ExitCode.OK


def _check_drawing(state: Session, drawing: Path, *, force: bool) -> None:
    """Raises `UsageError` for a name that is no drawing's, where it cannot be written, and where nobody can
    draw: before the search instead of after it."""
    if drawing.suffix.lower() != ".svg":
        raise UsageError(
            f"{drawing} does not look like a drawing",
            cause="--chart writes SVG, whatever the name, and this one "
            + (f"ends in {drawing.suffix}" if drawing.suffix else "has no ending"),
            try_=f"--chart {drawing.with_suffix('.svg') if drawing.name else 'plan.svg'}",
        )
    check_writable(drawing, force=force, option="--chart", example="plan.svg")
    find_page(state.registry, "plan")


def _draw(state: Session, made: Plan, ranked: Sequence[Option], drawing: Path) -> None:
    chart = render_page([pareto(made.goal, ranked)], find_page(state.registry, "plan"))
    write_whole(drawing, chart, option="--chart")
    say(f"chart: {drawing}", level=0)


def _wanted(state: Session, model: str, priced: bool, options: dict[str, Any]) -> Goal:
    task = Task(options["task"])
    weights = types_from(options["types"])["weights"]
    check_dtype(weights, "weights")
    given = {"--tokens": options["tokens"], "--days": options["days"]}
    if task is Task.TRAIN:
        given = {"--tpot": options["tpot"], "--ttft": options["ttft"], "--prompt": options["prompt"]}
    for option, value in given.items():
        if value is not None:
            raise UsageError(
                f"{option} says nothing of --task {task}",
                cause="tokens are trained on in days, and decoded one after the other",
                try_="--task train --tokens 1T --days 30"
                if task is Task.DECODE
                else "--task decode --tpot 20ms",
            )
    batches = tuple(
        kinds.SEQUENCES.counted(each, "--batches") for each in options["batches"].split(",") if each
    )
    return Goal(
        model=model_of(state.registry, model),
        task=task,
        batches=batches or (BATCHES if task is Task.DECODE else (1024,)),
        kv=options["kv"],
        prompt=options["prompt"] or 0,
        tpot_s=options["tpot"] or 0.0,
        ttft_s=options["ttft"] or 0.0,
        sequence=options["sequence"],
        tokens=options["tokens"] or 0.0,
        days=options["days"] or 0.0,
        weights=weights,
        by=By(options["by"] or ("dollars" if priced else "throughput")),
    )


def _systems(state: Session, instances: tuple[str, ...], facts: Any, goal: Goal) -> list[System]:
    """Those named, else all of a run that have cores of ours; a cluster only where training may fill it."""
    registry = state.registry
    if instances:
        return [registry.system(name, facts) for name in instances]
    chosen = []
    for name in registry.instance_names():
        generation, instance = registry.instance(name)
        if not instance.default or generation.costs is None:
            continue
        if not instance.sizable:
            chosen.append(registry.system(name, facts))
        elif goal.task is Task.TRAIN:
            chosen += [registry.system(f"{name}:{size}", facts) for size in SIZES]
    return chosen


SIZES = (4, 16, 64)
"""Instances of a cluster that a training is tried on where none are named."""
