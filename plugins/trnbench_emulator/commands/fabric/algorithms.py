"""`trnbench fabric algorithms`: what is possible where, and what the runtime was observed to take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trnbench import Session
from trnbench.terminal.cell import Column
from trnbench.terminal.output import emit, say
from trnbench_emulator.commands.fabric.cells import say_about
from trnbench_emulator.commands.fabric.options import fabric_of
from trnbench_emulator.fabric.algorithms.algorithm import COLLECTIVES, NotPossible
from trnbench_emulator.fabric.planner import Planner, algorithms_of, rules_on

if TYPE_CHECKING:
    from trnbench_emulator.fabric.constants import Rule
    from trnbench_emulator.fabric.systems import Fabric


PROBE = float(2**20)


def algorithms(state: Session, /, *, format: str, **options: Any) -> None:
    """Which algorithms this system allows, for which collectives, and why not."""
    fabric = fabric_of(state, options)
    rows = [_row(fabric, name) for name in algorithms_of(fabric)]
    say_about(fabric)
    for rule in rules(fabric):
        ranks = " or ".join(map(str, rule.ranks))
        say(f"auto, {' and '.join(rule.collectives)} of {ranks} ranks: {rule.sentence}", level=0)
    say("auto elsewhere: no rule observed, the best of all that is possible", level=0)
    emit(
        rows,
        ["algorithm", "auto", "collectives", Column("not", "not possible")],
        format,
    )


def _row(fabric: Fabric, name: str) -> dict[str, object]:
    """Plans every collective; nothing is carried out."""
    does: list[str] = []
    why: dict[str, None] = {}
    for collective in COLLECTIVES:
        try:
            planner = Planner(fabric, fabric.question(collective, PROBE))
            if name not in planner.able:
                continue
            planner.schedule(name)
        except NotPossible as error:
            why[error.what + (f" ({error.cause})" if error.cause else "")] = None
        else:
            does.append(collective)
    return {
        "algorithm": name,
        "auto": _threshold(fabric, name),
        "collectives": ", ".join(does) or "–",
        "not": "; ".join(why),
    }


def _threshold(fabric: Fabric, name: str) -> str:
    """For which ranks and sizes the runtime was observed to take it."""
    clauses = []
    for rule in rules(fabric):
        low = 0.0
        for each in rule.take:
            if each.algorithm == name:
                clauses.append(f"{', '.join(map(str, rule.ranks))} ranks{_between(low, each.below_bytes)}")
            low = each.below_bytes
    return "; ".join(dict.fromkeys(clauses))


def _between(low: float, high: float) -> str:
    if high == float("inf"):
        return f" from {low / 1e6:g} MB" if low else ""
    return f" {low / 1e6:g} to {high / 1e6:g} MB" if low else f" below {high / 1e6:g} MB"


def rules(fabric: Fabric) -> list[Rule]:
    """What was observed of this generation on as many instances, in this context."""
    return rules_on(fabric, fabric.system.size if fabric.clustered else fabric.system.hosts)
