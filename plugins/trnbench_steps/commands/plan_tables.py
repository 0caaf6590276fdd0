"""What `trnbench plan` prints: a row for each layout, the first one in a sentence, and what it rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trnbench.errors import listed
from trnbench.facts.units import percent, show
from trnbench.results.json import plain
from trnbench.terminal.cell import Column
from trnbench.terminal.output import emit, emit_json, paragraph, write
from trnbench_steps.commands.workload.tables import seconds
from trnbench_steps.plan import search
from trnbench_steps.plan.demand import Way
from trnbench_steps.plan.goal import OLD_DAYS, Expected, Goal, Within
from trnbench_steps.plan.pareto import Flip, Option, command, flips, front, label
from trnbench_steps.plan.search import Plan

if TYPE_CHECKING:
    from trnbench.registry import Registry


Row = dict[str, object]


def show_plan(registry: Registry, plan: Plan, *, top: int, any_evidence: bool, format: str) -> None:
    """The best of each layout, `top` of them, for people; JSON and CSV have every option."""
    ranked = plan.options if any_evidence else plan.banded
    turning = flips(registry, plan.goal, [*ranked, *(row for row in plan.options if row not in ranked)])
    rows = [row_of(plan.goal, option) for option in plan.options]
    if format == "json":
        emit_json(
            {
                "model": plan.goal.model.name,
                "task": str(plan.goal.task),
                "by": str(plan.goal.by),
                "answer": answer(plan.goal, ranked[0]) if ranked else None,
                "options": rows[: len(ranked)],
                "without_evidence": rows[len(ranked) :],
                "front": [label(each) for each in front(ranked)],
                "flips": [{**plain(each), "sentence": each.sentence} for each in turning],
                "refused": plan.refused,
                "without_price": plan.without_price,
                "unused_prices": plan.unused,
                "steps": plan.steps,
                "beaten": plan.beaten,
            }
        )
        return
    if format == "csv":
        if rows:
            emit(rows, tuple(rows[0]), "csv")
        return
    shown = _best_of_each(plan.options)[:top]
    if shown:
        paragraph(answer(plan.goal, ranked[0]) if ranked else "No option has a band.")
        table = [{"#": n, **row_of(plan.goal, each)} for n, each in enumerate(shown, 1)]
        emit(table, _columns(plan), format, ruled=False)
        write("\n" + "".join(f"{n}  {command(plan.goal, each)}\n" for n, each in enumerate(shown, 1)))
    else:
        emit(list(map(plain, plan.refused)), ("system", "layout", "batches", "why", "reason"), format)
    write("\n")
    for line in _remarks(plan, turning if ranked else []):
        paragraph(line)


def _best_of_each(options: Sequence[Option]) -> list[Option]:
    """The first of each layout and way of serving, in their order."""
    best: dict[tuple[object, ...], Option] = {}
    for option in options:
        best.setdefault((option.system, option.layout, option.service and option.service.way), option)
    return list(best.values())


def answer(goal: Goal, option: Option) -> str:
    """What to take, in one sentence of at most two lines."""
    count = f"{option.systems} × " if goal.serves else ""
    sentence = f"{count}{label(option)}"
    if option.service is not None and option.service.prompting:
        sentence = f"{sentence.removesuffix(')')}; {option.service.prompting} for prompts)"
    kinds = ((goal.tpot_s, "a token"), (goal.ttft_s, "to the first token"))
    limits = [f"{show(limit, 's')} {of}" for limit, of in kinds if limit]
    if goal.training and goal.days:
        limits = [f"{goal.days:g} days"]
    if limits:
        sentence += f", {option.within} within {' and '.join(limits)}"
    if goal.training:
        days = option.step.times(option.days / option.step.time_s)
        band = f"{days.low_s:,.1f}–{days.high_s:,.1f}" if days.banded else "no band"
        sentence += f": {option.days:,.1f} days ({band})"
    else:
        sentence += f": {show(option.token.time_s, 's')} a token ({_span(option.token) or 'no band'})"
        if goal.ttft_s and option.first is not None:
            first = option.first
            sentence += f", {show(first.time_s, 's')} to the first ({_span(first) or 'no band'})"
    sentence += f", {_count(option.tokens_per_s)} token/s"
    if option.dollars is not None and option.dollars_per_hour is not None:
        of = "in all" if goal.training else "per M tokens"
        sentence += f", ${_dollars(option.dollars_per_hour)} an hour, ${_dollars(option.dollars)} {of}"
    return sentence + "."


def _columns(plan: Plan) -> list[Column | str]:
    goal = plan.goal
    priced = any(option.dollars is not None for option in plan.options)
    columns: list[Column | str] = [Column("#", "#", "right", keep=9)]
    if goal.serves:
        columns.append(Column("instances", "n", "right", keep=7))
        columns.append(Column("between", "of", "right", keep=1))
    columns += [Column("system", keep=8), Column("layout", keep=8), Column("batch", align="right", keep=5)]
    if goal.serves:
        columns.append(Column("prompts", keep=6))
    if goal.training:
        columns.append(Column("days", "days", "right", lambda value: f"{value:,.1f}", keep=7))
    columns.append(Column("time_s", "a step" if goal.training else "a token", "right", seconds, keep=7))
    columns.append(Column("expected", "expect", "right", keep=4))
    if goal.prompt:
        columns.append(Column("first_s", "first", "right", seconds, keep=3))
    if goal.tpot_s or goal.ttft_s or goal.days:
        columns.append(Column("within", keep=7))
    if priced:
        columns.append(Column("dollars_per_hour", "$/h", "right", _dollars, keep=6))
        columns.append(Column("dollars", "$" if goal.training else "$/M", "right", _dollars, keep=6))
    columns += [
        Column("tokens_per_s", "token/s", "right", _count, keep=3),
        Column("tokens_per_s_device", "a device", "right", _count, keep=5 if not priced else 1),
        Column("limit", "limited by"),
        Column("of_documents", "of documents' best", "right", percent),
        Column("used", "of HBM", "right", percent),
        Column("evidence"),
    ]
    return columns


def row_of(goal: Goal, option: Option) -> Row:
    """An option as data: seconds, dollars, shares."""
    service, first = option.service, option.first
    return {
        "system": option.system,
        "layout": option.layout_words,
        "batch": option.batch,
        "devices": option.devices,
        "instances": option.systems,
        "least_instances": service.least or None if service else None,
        "most_instances": service.most or None if service else None,
        "between": f"{service.least}–{service.most}" if service and service.most else None,
        "prompts": _prompts(option),
        "prompts_on": service.prompts_on or None if service else None,
        "within": str(option.within),
        "time_s": option.token.time_s,
        "low_s": option.token.low_s or None,
        "high_s": option.token.high_s or None,
        "expected": _span(option.token) or "no band",
        "step_s": option.step.time_s,
        "first_s": first.time_s if first else None,
        "first_low_s": first.low_s or None if first else None,
        "first_high_s": first.high_s or None if first else None,
        "days": option.days or None,
        "tokens_per_s": option.tokens_per_s,
        "tokens_per_s_device": option.tokens_per_s_device,
        "dollars": option.dollars,
        "dollars_per_hour": option.dollars_per_hour,
        "limit": f"{option.limit} ({percent(option.limit_share)})",
        "of_documents": option.of_documents,
        "used": option.used,
        "evidence": str(option.nearest.kind),
        "points": ", ".join(option.nearest.points),
        "notes": "; ".join(option.notes),
        "command": command(goal, option),
    }


def _prompts(option: Option) -> str | None:
    """Where prompts are taken: by the same replicas, or by how many instances of their own."""
    service = option.service
    if service is None:
        return None
    if service.way is Way.SHARED:
        return str(Way.SHARED)
    return f"{service.prompting} apart"


def _remarks(plan: Plan, turning: Sequence[Flip]) -> list[str]:
    goal = plan.goal
    lines = [each.sentence for each in turning]
    if goal.serves:
        lines.append(
            "Assumed: requests come evenly, without bursts, and replicas work "
            f"{goal.utilisation:.0%} of the time; each token of {goal.output:,} takes as long as the last."
        )
    if any(option.within is Within.HARDLY for option in plan.options[:1]):
        lines.append("The modelled time breaks the limit: only the lower end of its band keeps it.")
    prices = {option.price for option in plan.options if option.price is not None}
    day = search.today()
    for price in sorted(prices, key=lambda each: each.line):
        age = price.age(day)
        old = f", {age} days old: look whether it still holds" if age > OLD_DAYS else ""
        lines.append(
            f"Price: {price.instance}, {price.region}, {price.kind}, {price.dollars_per_hour:g} dollars an "
            f"hour on {price.date.isoformat()}{old}."
        )
    if plan.without_price:
        lines.append(f"No price is given for {', '.join(plan.without_price)}.")
    if plan.unused:
        rows = listed([f"{each.instance} (line {each.line})" for each in plan.unused], "row")
        lines.append(f"No system has the name of these prices: {rows}. `trnbench list instances` names all.")
    whys = Counter(str(each.why) for each in plan.refused)
    refused = "; refused: " + ", ".join(f"{count} {why}" for why, count in whys.items()) if whys else ""
    beaten = f"; {plan.beaten:,} more are beaten without their exchange" if plan.beaten else ""
    lines.append(f"{plan.steps:,} steps were put together{beaten}{refused}. --format json has all.")
    return lines


def _span(time: Expected) -> str:
    """ "22.2–135 ms"; empty without a band."""
    if not time.banded:
        return ""
    low, high = show(time.low_s, "s"), show(time.high_s, "s")
    number, _, unit = low.partition(" ")
    return f"{number}–{high}" if high.endswith(f" {unit}") else f"{low}–{high}"


def _count(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _dollars(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
