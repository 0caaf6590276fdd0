"""Holds composed steps against every published step, and fits their constants to these."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import permutations
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from trnbench import System, TrnbenchError, item_bytes
from trnbench.digest import digest_of
from trnbench.record import Record
from trnbench.store.cache import Cache
from trnbench_emulator.fabric.ask import ask, published_question
from trnbench_fidelity.bench import Bench, inputs_digest, remembered
from trnbench_fidelity.nearness.coverage import UNSEEN, Judged, judged
from trnbench_fidelity.nearness.evidence import Evidence, Known
from trnbench_fidelity.point import NotEmulated
from trnbench_fidelity.steps.archive import NAMES, StepAnswer, StepArchive, step_archives
from trnbench_fidelity.steps.compose import Composed, composed, contradicted
from trnbench_fidelity.steps.errors import StepError, StepFidelity, rows, step_errors
from trnbench_fidelity.steps.load import PublishedStep, published_steps
from trnbench_fidelity.steps.nearness import known_steps
from trnbench_steps.division import Division
from trnbench_steps.flops import floor_s
from trnbench_steps.job import Task
from trnbench_steps.step import StepModel
from trnbench_steps.step_constants import NONE, Constant, StepConstants, read_constants
from trnbench_steps.step_parts import COLLECTIVES, STARTS, StepParts

if TYPE_CHECKING:
    import numpy as np

    from trnbench.registry import Registry


def answers(registry: Registry, points: Iterable[PublishedStep]) -> Iterator[StepAnswer]:
    """One for each point, in their order; kernels of a shape are timed once for all."""
    model, every = StepModel(), tuple(points)
    spans = contradicted(registry, every)
    for point in every:
        try:
            answer = _answer(composed(point, registry), model, registry)
            yield replace(answer, span_s=spans.get(point.id))
        except (NotEmulated, TrnbenchError) as error:  # a layout that cannot be timed costs its own point
            why = error.why if isinstance(error, NotEmulated) else error.what
            yield StepAnswer(id=point.id, generation=point.generation, why=why)


def _answer(step: Composed, model: StepModel, registry: Registry) -> StepAnswer:
    parts = model.parts(step.division, step.system)
    without = parts.time(NONE)
    return StepAnswer(
        id=step.point.id,
        generation=step.point.generation,
        family=step.family,
        vote=step.vote,
        published_s=step.point.time_s,
        floor_s=floor_s(step.division, step.system),
        naive_s=naive_s(step.division, step.system, registry),
        rows=tuple(_row(parts, number) for number in range(len(parts.stages))),
        moving_s=without.parts.get(COLLECTIVES, 0.0),
        starts_s=without.parts.get(STARTS, 0.0),
        roofline_share=without.roofline_share,
    )


def _row(parts: StepParts, stage: int) -> tuple[float, ...]:
    """A stage alone is linear in the constants."""
    one = replace(parts, stages=(parts.stages[stage],))
    base = one.time(NONE).time_s
    return (base, *(one.time(replace(NONE, **{name: 1.0})).time_s - base for name in NAMES))


A_LAYER = 2
"""All-reduces of a layer over the tensor ranks: after attention and after the network."""


def naive_s(division: Division, system: System, registry: Registry) -> float:
    """Seconds: the larger of what is read over the documented HBM and multiplied over the clocks, and two
    all-reduces a layer as alone, of each micro-batch and forwards and backwards in training.

    Raises `UsageError` where the tensor ranks do not lie in an instance.
    """
    job, layout, model = division.job, division.layout, division.model
    seconds = floor_s(division, system)
    if layout.tp == 1:
        return seconds
    inside = system.instance.parent if system.instance.sizable else system.name
    size = float(division.tokens * model.hidden * item_bytes(job.activations))
    question = published_question(
        registry.system(inside), "all_reduce", size, layout.tp, nodes=1, lnc=layout.lnc
    )
    passes = division.micro_batches * (2 if job.task is Task.TRAIN else 1)
    return seconds + A_LAYER * model.layers // layout.pp * passes * ask(question).time_s


def answered(
    registry: Registry, generations: Collection[str] = (), cache: Cache | None = None
) -> dict[str, StepArchive]:
    """Generation → the installed model's answers to its published steps, without bands.

    From `cache` where nothing has changed; made anew they take a minute or two of a processor.
    """
    return {
        name: _archive(registry, name, steps.points, cache)
        for name, steps in published_steps(registry, generations).items()
    }


def _archive(
    registry: Registry, name: str, points: Iterable[PublishedStep], cache: Cache | None
) -> StepArchive:
    def key() -> bytes:
        return digest_of("published steps", inputs_digest(registry, [name]))

    def made() -> StepArchive:
        by, version = Bench(registry).model()
        return StepArchive(generation=name, by=by, version=version, answers=tuple(answers(registry, points)))

    return remembered(cache, key, StepArchive, made)


def named_constants(registry: Registry, generation: str) -> dict[str, Constant]:
    """Those of the generation's file; none where it brings none."""
    path = registry.generations[generation].workloads
    return read_constants(path) if path is not None else {}


def compared(
    registry: Registry, kept: dict[str, StepArchive], systems: Set[str] = frozenset()
) -> StepFidelity:
    """The answers as errors, with the constants of the generations' files.

    `systems`: only points of these, a name without a size meaning every size. Coverage of the bands is that
    of all points, whatever is selected.
    """
    points = errors_of(registry, kept)
    lies = _lying_inside(registry, kept, points)
    then = frozen_errors(registry)
    points = [replace(p, inside=lies.get(p.id), e_frozen=then.get(p.id)) for p in points]
    if systems:
        wanted = {
            point.id
            for steps in published_steps(registry).values()
            for point in steps.points
            if systems & {point.system, point.system.partition(":")[0]}
        }
        points = [point for point in points if point.id in wanted]
    first = next(iter(kept.values()), None)
    return StepFidelity(
        by=first.by if first else "",
        version=first.version if first else "",
        rows=rows(points),
        points=tuple(points),
    )


def frozen_errors(registry: Registry) -> dict[str, float]:
    """By id the errors of points that were kept apart, before the rules changed."""
    lists = [step.frozen for step in published_steps(registry).values()]
    return {name: e for each in lists if each is not None for name, e in each.errors.items()}


def _lying_inside(
    registry: Registry, kept: dict[str, StepArchive], points: list[StepError]
) -> dict[str, bool]:
    """As the plugins keep it, where all answers are theirs; else found anew, which takes some seconds."""
    shipped = step_archives(registry)
    if all(name in shipped and shipped[name].answers == each.answers for name, each in kept.items()):
        return {id: lies for name in kept for id, lies in shipped[name].inside.items()}
    return inside(known_steps(registry), points, kept)


def errors_of(registry: Registry, kept: dict[str, StepArchive]) -> list[StepError]:
    """Of every answer, with the constants of its generation's file."""
    return [
        point for name, each in kept.items() for point in step_errors(each, named_constants(registry, name))
    ]


def inside(
    known: Iterable[Known], points: Iterable[StepError], kept: Mapping[str, StepArchive]
) -> dict[str, bool]:
    """Id → whether its e lies in the band it would be given, had nothing of its model been published."""
    return {
        step.id: step.inside
        for step in judged_steps(known, points, kept)
        if step.kind == UNSEEN and step.inside is not None
    }


def judged_steps(
    known: Iterable[Known], points: Iterable[StepError], kept: Mapping[str, StepArchive]
) -> Iterator[Judged]:
    """Each step in the bands that know nothing of its model.

    Each model whose errors make a band is judged by constants that were fitted without both. Fits them anew
    for every two models of a generation, which takes some seconds.
    """
    places = {each.id: each for each in known}
    own = {point.id: point.e_cross for point in points if point.e_cross is not None and point.id in places}
    usable = {
        generation: [answer for answer in each.answers if not answer.why and answer.id in own]
        for generation, each in kept.items()
    }

    def others(vote: str) -> dict[str, float]:
        errors = dict(own)
        for generation, of_generation in usable.items():
            if any(answer.vote == vote for answer in of_generation):
                errors = {id: e for id, e in own.items() if places[id].subject.generation != generation}
                errors |= _errors([answer for answer in of_generation if answer.vote != vote])
        return errors

    ranges = {id: ends for each in kept.values() for id, ends in each.ends.items()}
    tasks = {id: places[id].asked.partition(",")[0] for id in own}
    return judged(Evidence(places.values()), own, tasks, ranges, others)


def _errors(answers: list[StepAnswer]) -> dict[str, float]:
    """e of each, with constants fitted on these alone and without its own model; nothing of no answer."""
    held_out = fit(answers).held_out if answers else {}
    return {
        answer.id: answer.error(answer.time_s(StepConstants(**held_out[answer.vote]))) for answer in answers
    }


LIMITS: dict[str, float] = {"operator_s": 20e-6, "collective_residue": 2.0, "engine_share": 1.0}
"""The largest value that each is searched to, in seconds or as a share; the least is 0.

So long for an operator that a published token of 405 of them would hold little else; collectives three times
as long as alone, beyond which the other constants move by more than a factor of 2 when a model leaves; twice
as long as the engines.
"""

FIT_STARTS = (0.05, 0.1, 0.3)
"""Shares of the limits that the search begins at; the better end is taken."""

STEPS = (0.2, 0.1, 0.05)
"""Of the limits, one after the other: each until nothing is better. Finer ones follow single points."""


class FittedStep(Record, kw_only=True):
    """`values` by name, in seconds and shares; `held_out[vote]`: the same, that model not published."""

    values: dict[str, float]
    held_out: dict[str, dict[str, float]]


def fit(found: Sequence[StepAnswer]) -> FittedStep:
    """Of the answers of one generation."""
    usable = [each for each in found if not each.why]
    values = _fitted(usable)
    votes = dict.fromkeys(each.vote for each in usable)
    return FittedStep(
        values=values,
        held_out={vote: _fitted([each for each in usable if each.vote != vote], values) for vote in votes},
    )


def most_residue(found: Sequence[StepAnswer]) -> float:
    """The share that collectives can take at most beyond start and links: what every published step leaves,
    as if nothing else took any time; weights may stream in meanwhile. 0 where one leaves nothing."""
    left = [
        (each.published_s - each.starts_s - each.moving_s) / each.moving_s
        for each in found
        if not each.why and each.moving_s
    ]
    return max(0.0, min(left, default=LIMITS["collective_residue"]))


def _fitted(found: Sequence[StepAnswer], warm: Mapping[str, float] | None = None) -> dict[str, float]:
    import numpy as np

    if not found:
        return dict.fromkeys(NAMES, 0.0)
    objective = _Objective(found)
    limits = np.array([LIMITS[name] for name in NAMES])
    residue = NAMES.index("collective_residue")
    limits[residue] = min(limits[residue], most_residue(found))
    starts = [np.full(len(NAMES), share) for share in FIT_STARTS]
    if warm is not None:
        safe = np.where(limits > 0, limits, 1.0)
        starts = [np.minimum(1.0, np.array([warm[name] for name in NAMES]) / safe)]
    ends = [_search(objective, limits, start) for start in starts]
    best = min(ends, key=lambda end: (round(objective(end * limits), 12), tuple(end)))
    return {name: round(float(value), 9) for name, value in zip(NAMES, best * limits, strict=True)}


class _Objective:
    """Mean over models and tasks of the mean |ln(model / published)| of their points, published being the
    nearest that sources print."""

    def __init__(self, found: Sequence[StepAnswer]) -> None:
        import numpy as np

        self.rows = np.array([row for each in found for row in each.rows])
        self.first = np.cumsum([0, *(len(each.rows) for each in found[:-1])])
        self.least, self.most = np.array([each.printed_s for each in found]).T
        groups: dict[tuple[str, str], int] = {}
        for each in found:
            groups[each.vote, each.family] = groups.get((each.vote, each.family), 0) + 1
        weights = [1.0 / groups[each.vote, each.family] for each in found]
        self.weights = np.array(weights) / len(groups)

    def __call__(self, values: np.ndarray[Any, Any]) -> float:
        import numpy as np

        times = np.maximum.reduceat(self.rows[:, 0] + self.rows[:, 1:] @ values, self.first)
        return float(self.weights @ np.abs(np.log(times / np.clip(times, self.least, self.most))))


def _search(
    objective: _Objective, limits: np.ndarray[Any, Any], start: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Pattern search on shares of the limits: one constant at a time, then one against another."""
    import numpy as np

    free = [number for number, limit in enumerate(limits) if limit > 0]
    now = np.where(limits > 0, start, 0.0)
    least = objective(now * limits)
    for step in STEPS:
        moves = [{number: sign * step} for number in free for sign in (1, -1)]
        moves += [{one: step, other: -step} for one, other in permutations(free, 2)]
        better = True
        while better:
            better = False
            for move in moves:
                tried = now.copy()
                for number, by in move.items():
                    tried[number] = min(1.0, max(0.0, tried[number] + by))
                value = objective(tried * limits)
                if value < least - 1e-9:
                    now, least, better = tried, value, True
    return now
