"""A published step put together as a step of ours: model, division, system."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from trnbench import System, TrnbenchError
from trnbench.record import Record
from trnbench_fidelity.point import NotEmulated
from trnbench_fidelity.steps.load import PublishedStep
from trnbench_steps.attention import AttentionKind
from trnbench_steps.division import Division, divide
from trnbench_steps.hbm import fit
from trnbench_steps.job import Task
from trnbench_steps.model import Model
from trnbench_steps.shipped_models import load_model

if TYPE_CHECKING:
    from trnbench.registry import Registry

HYBRID = "hybrid"
"""Kind of a model that has linear attention between its full layers."""


class Composed(Record, kw_only=True):
    """A point as a step of ours. `vote` is its model, `family` its class of error."""

    point: PublishedStep
    division: Division
    system: System
    vote: str
    family: str


def kind_of(model: Model) -> str:
    """ "dense", "expert", "encoder" or "hybrid": what classes of error are called by."""
    if any(kind.attention.kind is AttentionKind.LINEAR for kind in model.kinds):
        return HYBRID
    return model.kind


def class_of(task: Task, model: Model) -> str:
    """`decode, dense`: with the generation, the class that a step's error belongs to."""
    return f"{task}, {kind_of(model)}"


def shape_of(model: Model) -> str:
    """What a model is to its time, however it is spelt: its layers, their kinds and widths.

    Vocabularies and names do not tell models apart: Llama 2, 3 and 3.3 of 70B are one, and so are encoders of
    one shape. What an error is voted by, and what leaves together when a model is left out.
    """
    attention, network = model.kinds[-1].attention, model.kinds[-1].feed_forward
    words = [f"{model.layers} layers of {model.hidden}", f"{attention.heads}/{attention.kv_heads} heads"]
    if network.experts:
        words.append(f"{network.top_k} of {network.experts} experts of {network.expert_width}")
    else:
        words.append(f"network of {network.width}")
    return ", ".join((kind_of(model), *words))


def composed(point: PublishedStep, registry: Registry) -> Composed:
    """Raises `NotEmulated` with the reason for a point that is none, or does not lie on its system."""
    if point.job is None:
        raise NotEmulated(point.note)
    try:
        model = load_model(point.model)
        if not point.head:
            model = replace(model, head=False, head_bias=False)
        division = divide(model, point.layout, point.job)
        system = registry.system(point.system)
        lies = fit(division, system)
    except TrnbenchError as error:
        raise NotEmulated(f"{error.what}{f' ({error.cause})' if error.cause else ''}") from None
    if not lies.fits:
        raise NotEmulated(f"{point.model} {lies.verdict} of {system.name}")
    vote = f"{point.generation} / {shape_of(model)}"
    return Composed(
        point=point, division=division, system=system, vote=vote, family=class_of(point.task, model)
    )


def contradicted(registry: Registry, points: Iterable[PublishedStep]) -> dict[str, tuple[float, float]]:
    """Id → the least and the most seconds that is printed of the very same step, where one source says
    otherwise than another. Models that differ in their words alone are one."""
    groups: dict[object, list[PublishedStep]] = {}
    for point in points:
        try:
            step = composed(point, registry)
        except NotEmulated:
            continue
        model = step.division.model
        read = (model.embedding, model.shared_layers, model.head)
        same = (step.vote, *read, point.task, point.system, point.layout, point.job)
        groups.setdefault(same, []).append(point)
    return {
        each.id: (min(one.time_s for one in group), max(one.time_s for one in group))
        for group in groups.values()
        if len({one.source for one in group}) > 1
        for each in group
    }
