"""What `trnbench plan` prints: options, those without evidence, refusals, the front, what decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trnbench.cli.cell import Column
from trnbench.cli.output import emit, emit_json, paragraph, write
from trnbench.facts.units import percent, show
from trnbench_steps.plan import search
from trnbench_steps.plan.front import chart, front, priced
from trnbench_steps.plan.layouts import words
from trnbench_steps.plan.option import sensitivity
from trnbench_steps.plan.pareto import label
from trnbench_steps.plan.price import OLD_DAYS
from trnbench_steps.step_constants import named_constants

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench_steps.plan.option import Option, Sensitivity
    from trnbench_steps.plan.search import Plan


Row = dict[str, object]


def show_plan(registry: Registry, plan: Plan, *, top: int, any_evidence: bool, format: str) -> None:
    """Options in their order, the first `top` of them for people; JSON has all."""
    ranked = plan.options if any_evidence else plan.banded
    decided = _decided(registry, ranked)
    if format == "json":
        emit_json(
            {
                "model": plan.goal.model.name,
                "task": str(plan.goal.task),
                "by": str(plan.goal.by),
                "options": [_row(each) for each in ranked],
                "without_evidence": [_row(each) for each in plan.options if each not in ranked],
                "front": [label(each) for each in front(ranked)],
                "decided_by": decided,
                "refused": plan.refused,
                "without_price": plan.without_price,
            }
        )
        return
    if format == "csv":
        rows = [_row(each) for each in plan.options]
        if rows:
            emit(rows, tuple(rows[0]), "csv")
        return
    _tables(plan, ranked, top, format)
    for line in _remarks(plan, ranked, decided):
        paragraph(line)
    if format == "table":
        _chart(plan, ranked)


def _tables(plan: Plan, ranked: Sequence[Option], top: int, format: str) -> None:
    training = bool(plan.goal.tokens)
    if ranked:
        shown = [_row(each) for each in ranked[:top]]
        emit(shown, _columns(training, plan), format, title=f"By {plan.goal.by}")
        write("\n")
    others = [each for each in plan.options if each not in ranked]
    if others:
        shown = [_row(each) for each in others[:top]]
        emit(shown, _columns(training, plan), format, title="Without evidence, not ranked")
        write("\n")
    if plan.refused:
        rows: list[Row] = [
            {
                "system": each.system,
                "layout": each.layout,
                "batches": _batches(each.batches),
                "refused": str(each.why),
                "reason": each.reason,
            }
            for each in plan.refused
        ]
        emit(rows, ("system", "layout", "batches", "refused", "reason"), format, title="Refused")
        write("\n")


def _batches(batches: tuple[int, ...]) -> str:
    return str(batches[0]) if len(batches) == 1 else f"{batches[0]} to {batches[-1]}"


def _columns(training: bool, plan: Plan) -> list[Column | str]:
    time = "a step" if training else "a token"
    columns: list[Column | str] = [
        Column("system", keep=3),
        Column("layout", keep=3),
        Column("batch", align="right", keep=2),
        Column("time_s", time, "right", _seconds, keep=3),
        Column("expected", "expect", "right", keep=2),
    ]
    if plan.goal.prompt:
        columns.append(Column("first_s", "to the first", "right", _seconds))
    if training:
        columns.append(Column("days", "days", "right", lambda value: f"{value:,.1f}", keep=3))
    columns += [
        Column("tokens_per_s", "tokens/s", "right", _count, keep=2),
        Column("tokens_per_s_device", "a device", "right", _count, keep=1),
    ]
    if any(each.dollars is not None for each in plan.options):
        columns.append(
            Column("dollars", "dollars" if training else "dollars/M tokens", "right", _dollars, keep=3)
        )
    columns += [
        Column("limit", "limited by", keep=1),
        Column("of_documents", "of documents' best", "right", _percent),
        Column("used", "of HBM", "right", _percent),
        Column("evidence"),
    ]
    return columns


def _row(option: Option) -> Row:
    return {
        "system": option.system,
        "layout": words(option.layout),
        "batch": option.batch,
        "devices": option.devices,
        "time_s": option.time_s,
        "low_s": option.low_s or None,
        "high_s": option.high_s or None,
        "expected": f"{_seconds(option.low_s)} to {_seconds(option.high_s)}" if option.banded else "no band",
        "first_s": option.first_s or None,
        "days": option.days or None,
        "tokens_per_s": option.tokens_per_s,
        "tokens_per_s_device": option.tokens_per_s_device,
        "dollars": option.dollars,
        "limit": f"{option.limit} ({percent(option.limit_share)})",
        "of_documents": option.of_documents,
        "used": option.used,
        "evidence": str(option.nearest.kind),
        "points": ", ".join(option.nearest.points),
        "notes": "; ".join(option.notes),
    }


def _remarks(plan: Plan, ranked: Sequence[Option], decided: Sensitivity | None) -> list[str]:
    lines: list[str] = []
    if decided is not None and ranked:
        lines.append(
            f"Decided by: {decided.name}, which no document prints, of {decided.low:g} to {decided.high:g} "
            f"{decided.unit.replace('1', '').strip() or 'times'}: the first option's step takes "
            f"{_seconds(decided.low_s)} to {_seconds(decided.high_s)}"
            + (f", and {decided.turns} comes before it at one end." if decided.turns else "; it stays first.")
        )
    priced = {each.price for each in plan.options if each.price is not None}
    day = search.today()
    for each in sorted(priced, key=lambda price: price.line):
        age = each.age(day)
        old = f", {age} days old: look whether it still holds" if age > OLD_DAYS else ""
        lines.append(
            f"Price: {each.instance}, {each.region}, {each.kind}, {each.dollars_per_hour:g} dollars an hour "
            f"on {each.date.isoformat()}{old}."
        )
    if plan.without_price:
        lines.append(f"No price is given for {', '.join(plan.without_price)}.")
    return lines


def _decided(registry: Registry, ranked: Sequence[Option]) -> Sensitivity | None:
    if not ranked:
        return None
    first = ranked[0]
    system = registry.system(first.system)
    mine = [
        each
        for each in ranked[1:6]
        if registry.instance(each.system.partition(":")[0])[0].name == system.generation.name
    ]
    return sensitivity(first, mine, named_constants(system), {id(each): label(each) for each in mine})


def _chart(plan: Plan, ranked: Sequence[Option]) -> None:
    in_dollars = priced(ranked)
    down = "dollars" if in_dollars else "device seconds a token"
    lines = chart(
        ranked,
        _dollars if in_dollars else _seconds,
        f"time of a {'step' if plan.goal.tokens else 'token'}; ●: nothing is both faster and cheaper",
        down,
    )
    if lines:
        write("\n" + "\n".join(lines) + "\n")
        write("\n")
        paragraph(f"On the front: {'; '.join(label(each) for each in front(ranked))}.")


def _seconds(value: float) -> str:
    return show(value, "s")


def _count(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _dollars(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _percent(value: float) -> str:
    return percent(value)
