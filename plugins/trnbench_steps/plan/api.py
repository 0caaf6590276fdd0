"""A plan as it is asked for, by a command or in Python: a model, limits, a demand, prices, and systems."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from trnbench import System, UsageError, load_registry
from trnbench.run.selection import Selection, choose_instances
from trnbench_steps.job import Task, check_dtype
from trnbench_steps.model import Model
from trnbench_steps.plan.goal import COLUMNS, By, Goal, Price, check_prices, read_prices
from trnbench_steps.plan.search import Plan, search
from trnbench_steps.shipped_models import model_of

if TYPE_CHECKING:
    from trnbench.registry import Registry

SIZES = (4, 16, 64)
"""Instances of a cluster that a training is tried on where none are named."""


def plan(
    model: str | Model,
    *,
    instances: Iterable[str] = (),
    prices: Path | str | Iterable[Price] = (),
    facts: tuple[Path, ...] = (),
    registry: Registry | None = None,
    told: Callable[[str], None] = lambda _: None,
    **goal: Any,
) -> Plan:
    """The layouts of `model` on `instances` (every system of a run), ranked; `goal` has fields of `Goal`.

    `trnbench.plan("llama-3-70b", tpot_s=0.03, requests_per_s=4, prompt=1024, output=500)`. Seconds, dollars,
    tokens. `prices`: a CSV file, or rows. `told` hears of each system before it is looked at.

    Raises `UsageError` for a goal that contradicts itself, `UnknownName` for a model, a system or a type, and
    `BadInput` for prices that are none.
    """
    registry = registry or load_registry()
    wanted = goal_of(registry, model, **{"named_facts": facts, **goal})
    known = read_prices(Path(prices)) if isinstance(prices, Path | str) else tuple(prices)
    if known and "by" not in goal:
        wanted = replace(wanted, by=By.DOLLARS)
    if wanted.by is By.DOLLARS and not known:
        raise UsageError(
            "--by dollars has no prices to go by",
            cause="none is shipped, for public ones contradict each other",
            try_=f"--prices prices.csv, with the columns {','.join(COLUMNS)}",
        )
    named = (instances,) if isinstance(instances, str) else tuple(instances)
    systems = systems_of(registry, wanted, named, facts)
    if wanted.by is By.DOLLARS:
        check_prices(registry, known, systems)
    return search(registry, wanted, systems, known, told)


def goal_of(registry: Registry, model: str | Model, **fields: Any) -> Goal:
    """The goal of these fields: words become what they stand for, the cache holds prompt and output.

    Raises `UsageError` for a word that is none, `UnknownName` for a model or a type."""
    described = model if isinstance(model, Model) else model_of(registry, model)
    named = described.name if isinstance(model, Model) else model
    fields["task"] = Task(fields.get("task") or (Task.TRAIN if fields.get("tokens") else Task.DECODE))
    if "by" in fields:
        fields["by"] = By(fields["by"])
    for weights in fields.get("weights", ()):
        check_dtype(weights, "weights")
    if fields.get("output") and "kv" not in fields:
        fields["kv"] = fields.get("prompt", 0) + fields["output"]
    usual = {"kv": described.usual_length, "sequence": described.usual_length}
    return Goal(model=described, named=named, **(usual | fields))


def systems_of(
    registry: Registry, goal: Goal, instances: tuple[str, ...], facts: tuple[Path, ...] = ()
) -> tuple[System, ...]:
    """Those named, else all of a run that have cores of ours; a cluster only where training may fill it.

    Raises `UnknownName`, and `NothingSelected` for a glob that fits nothing."""
    if instances:
        names = choose_instances(registry, Selection.of(instances=instances))
        return registry.systems(names, facts)
    names = ()
    for name in registry.instance_names():
        generation, instance = registry.instance(name)
        if not instance.default or generation.costs is None:
            continue
        if not instance.sizable:
            names += (name,)
        elif goal.training:
            names += tuple(f"{name}:{size}" for size in SIZES)
    return registry.systems(registry.readable(names), facts)
