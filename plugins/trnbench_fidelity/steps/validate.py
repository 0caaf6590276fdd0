"""Holds composed steps against every published step of the installed generations."""

from __future__ import annotations

from collections.abc import Collection, Set
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from trnbench.digest import digest_of
from trnbench.store.cache import Cache
from trnbench_fidelity.bench import Bench
from trnbench_fidelity.inputs import inputs_digest
from trnbench_fidelity.steps.answer import answers
from trnbench_fidelity.steps.coverage import inside
from trnbench_fidelity.steps.errors import StepError, StepFidelity, rows, step_errors
from trnbench_fidelity.steps.kept import KeptSteps, kept_steps
from trnbench_fidelity.steps.nearness import known_steps
from trnbench_fidelity.steps.published import published_steps
from trnbench_steps.step_constants import Constant, read_constants

if TYPE_CHECKING:
    from trnbench.registry import Registry


def answered(
    registry: Registry, generations: Collection[str] = (), cache: Cache | None = None
) -> dict[str, KeptSteps]:
    """Generation → the installed model's answers to its published steps, without bands.

    From `cache` where nothing has changed; made anew they take a minute or two of a processor.
    """
    by, version = Bench(registry).model()
    by_generation: dict[str, KeptSteps] = {}
    for name, steps in published_steps(registry, generations).items():
        key = digest_of("published steps", inputs_digest(registry, [name])) if cache is not None else b""
        content = cache.get(key) if cache is not None else None
        if content is not None:
            with suppress(msgspec.MsgspecError):  # else it is made anew
                by_generation[name] = msgspec.msgpack.decode(content, type=KeptSteps)
                continue
        made = tuple(answers(registry, steps.points))
        by_generation[name] = KeptSteps(generation=name, by=by, version=version, answers=made)
        if cache is not None:
            cache.put(key, msgspec.msgpack.encode(by_generation[name]))
    return by_generation


def named_constants(registry: Registry, generation: str) -> dict[str, Constant]:
    """Those of the generation's file; none where it brings none."""
    path = registry.generations[generation].workloads
    return read_constants(path) if path is not None else {}


def compared(registry: Registry, kept: dict[str, KeptSteps], systems: Set[str] = frozenset()) -> StepFidelity:
    """The answers as errors, with the constants of the generations' files.

    `systems`: only points of these, a name without a size meaning every size. Coverage of the bands is that
    of all points, whatever is selected.
    """
    points = errors_of(registry, kept)
    lies = _lying_inside(registry, kept, points)
    points = [msgspec.structs.replace(each, inside=lies.get(each.id)) for each in points]
    if systems:
        wanted = {
            point.id
            for steps in published_steps(registry).values()
            for point in steps.points
            if systems & {point.system, point.system.partition(":")[0]}
        }
        points = [each for each in points if each.id in wanted]
    first = next(iter(kept.values()), None)
    return StepFidelity(
        by=first.by if first else "",
        version=first.version if first else "",
        rows=rows(points),
        points=tuple(points),
    )


def _lying_inside(registry: Registry, kept: dict[str, KeptSteps], points: list[StepError]) -> dict[str, bool]:
    """As the plugins keep it, where all answers are theirs; else found anew, which takes some seconds."""
    shipped = kept_steps(registry)
    if all(name in shipped and shipped[name].answers == each.answers for name, each in kept.items()):
        return {id: lies for name in kept for id, lies in shipped[name].inside.items()}
    return inside(known_steps(registry), points, kept)


def errors_of(registry: Registry, kept: dict[str, KeptSteps]) -> list[StepError]:
    """Of every answer, with the constants of its generation's file."""
    return [
        point for name, each in kept.items() for point in step_errors(each, named_constants(registry, name))
    ]
