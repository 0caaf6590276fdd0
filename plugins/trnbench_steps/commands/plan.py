"""`trnbench plan`: which layout on which instances, for a model that decodes or is trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trnbench import ExitCode, NothingSelected, Session, UsageError, item_bytes
from trnbench.bounded import kinds
from trnbench.run.output_file import check_writable, write_whole
from trnbench.run.render import find_page, render_page
from trnbench.terminal.output import say
from trnbench_steps.commands.plan_tables import show_plan
from trnbench_steps.commands.workload.options import refuse_idle, types_from
from trnbench_steps.job import Task
from trnbench_steps.paths import TYPES
from trnbench_steps.plan import api
from trnbench_steps.plan.composed import Why
from trnbench_steps.plan.goal import Goal
from trnbench_steps.plan.pareto import pareto


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
    """Say which instances and which layout MODEL takes: by time, throughput or dollars, winner first."""
    if drawing is not None:
        _check_drawing(state, drawing, force=force)
    planned = api.plan(
        model,
        instances=instances,
        prices=prices or (),
        facts=state.facts_of(facts),
        registry=state.registry,
        named_facts=facts,  # commands add those configured
        told=lambda name: say(f"looking at {name}", level=1),
        **_wanted(options),
    )
    show_plan(state.registry, planned, top=top, any_evidence=allow_no_evidence, format=format)
    if not planned.options:
        raise NothingSelected(
            f"no layout of {planned.goal.model.name} is feasible",
            cause="all were refused, each with its reason above",
            try_=_remedies(planned.goal, {each.why for each in planned.refused}),
        )
    if not planned.banded and not allow_no_evidence:
        raise NothingSelected(
            f"nothing is published of this task for {planned.goal.model.name} on these systems",
            cause="all feasible options are without a band, so none is put first",
            try_="--allow-no-evidence, or another -i",
        )
    if drawing is not None:
        ranked = planned.options if allow_no_evidence else planned.banded
        chart = render_page([pareto(planned.goal, ranked)], find_page(state.registry, "plan"))
        write_whole(drawing, chart, option="--chart")
        say(f"chart: {drawing}", level=0)
    return ExitCode.OK


def _remedies(goal: Goal, whys: set[Why]) -> str:
    """What helps `goal` against any of these reasons."""
    limits = {"--tpot": goal.tpot_s, "--ttft": goal.ttft_s, "--days": goal.days}
    kept = [option for option, limit in limits.items() if limit]
    ways = [f"a longer {' or '.join(kept)}"] if kept and Why.SLOW in whys else []
    if whys & {Why.SLOW, Why.FITS} and min(map(item_bytes, goal.weights)) > 1:
        ways.append("--type weights=fp8")
    return ", ".join([*ways, "or another -i"]) if ways else "another -i"


def _check_drawing(state: Session, drawing: Path, *, force: bool) -> None:
    """Raises `UsageError` for a name that is no drawing's, where it cannot be written, and where nobody can
    draw: before the search instead of after it."""
    check_writable(drawing, force=force, option="--chart", example="plan.svg")
    if drawing.suffix.lower() != ".svg":
        raise UsageError(
            f"{drawing} does not look like a drawing",
            cause="--chart writes SVG, whatever the name, and this one "
            + (f"ends in {drawing.suffix}" if drawing.suffix else "has no ending"),
            try_=f"--chart {drawing.with_suffix('.svg') if drawing.name else 'plan.svg'}",
        )
    find_page(state.registry, "plan")


_OF_TRAINING = ("tokens", "days", "sequence")
_OF_DECODING = ("tpot", "ttft", "prompt", "output_tokens", "requests_per_s", "kv")


def _wanted(options: dict[str, Any]) -> dict[str, Any]:
    """Fields of a goal, of what was typed. Raises `UsageError` for what says nothing of the task."""
    task = Task(options["task"] or (Task.TRAIN if options["tokens"] else Task.DECODE))
    for name in _OF_TRAINING if task is Task.DECODE else _OF_DECODING:
        if options[name] is not None:
            raise UsageError(
                f"--{name.replace('_', '-')} says nothing of --task {task}",
                cause="tokens are trained on in days, and decoded one after the other",
                try_="--task train --tokens 1T --days 30"
                if task is Task.DECODE
                else "--task decode --tpot 20ms",
            )
    batches = (kinds.SEQUENCES.counted(each, "--batches") for each in options["batches"].split(",") if each)
    types = types_from(options["types"])
    refuse_idle(task, {part: f"--type {part}" for part in types if types[part] != TYPES[part]})
    weights = tuple(each for each in types.pop("weights").split(",") if each)
    rate, _, share = (options["requests_per_s"] or "").partition("@")
    given = {
        "kv": options["kv"],
        "prompt": options["prompt"],
        "output": options["output_tokens"],
        "requests_per_s": kinds.REQUESTS.real(rate, "--requests-per-s") if rate else None,
        "utilisation": kinds.UTILISATION.real(share, "--requests-per-s N@SHARE") if share else None,
        "tpot_s": options["tpot"],
        "ttft_s": options["ttft"],
        "sequence": options["sequence"],
        "tokens": options["tokens"],
        "days": options["days"],
        "by": options["by"],
        "batches": tuple(batches) or None,
        "weights": weights,
        **types,
    }
    return {"task": task, **{name: value for name, value in given.items() if value is not None}}
