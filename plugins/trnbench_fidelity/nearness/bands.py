"""Bands: what the model's error was on published points of each class, every point judged without its own
evidence. A snapshot of them is shipped with each generation, since public kernels need their sources."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from trnbench.errors import BadInput
from trnbench.results.fidelity import Fidelity, Use
from trnbench.results.nearness import Band, Nearness
from trnbench.store.answers import answers_of
from trnbench_fidelity.nearness.evidence import Evidence, same_size
from trnbench_fidelity.nearness.subject import Known
from trnbench_fidelity.statistics import counted_error

if TYPE_CHECKING:
    from trnbench.generation import Generation

SECTION = "bands"
"""Of a generation's answers."""

ENOUGH = 8
"""Votes from which a band stands on its own."""

LOW, MIDDLE, HIGH = 0.1, 0.5, 0.9
TINY = 1e-9
BANDED = tuple(kind for kind in Nearness if kind.banded)
GENERATIONS = "all generations"
"""Towards what the last class of a group is widened: the same family on every generation."""
EVERYTHING = "every family"
"""Towards what that is widened in its turn: all points of all generations."""

DIGITS = 4


class Bands(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of one generation, by the model named: group → class → band."""

    generation: str
    by: str
    version: str
    groups: dict[str, dict[Nearness, Band]]


class _Row(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A band as a list: low, high, votes, points, widened."""

    low: float
    high: float
    votes: int
    points: int
    widened: str


Groups: TypeAlias = dict[str, dict[Nearness, _Row]]
"""The section of a generation's answers: group → class → band."""


def groups_of(bands: Bands) -> Groups:
    """What is kept of them."""
    return {
        group: {
            kind: _Row(band.low, band.high, band.votes, band.points, band.widened)
            for kind, band in classes.items()
        }
        for group, classes in bands.groups.items()
    }


def bands_of(generation: str, by: str, version: str, groups: Groups) -> Bands:
    """The bands that `groups` were kept of."""
    return Bands(
        generation=generation,
        by=by,
        version=version,
        groups={
            group: {kind: Band(**msgspec.structs.asdict(row)) for kind, row in classes.items()}
            for group, classes in groups.items()
        },
    )


def shipped_bands(generation: Generation) -> Bands | None:
    """What the generation ships of points; None where it ships none. Raises `BadInput`."""
    answers = answers_of(generation)
    groups = answers.section(SECTION, Groups) if answers is not None else None
    if answers is None or groups is None:
        return None
    return bands_of(generation.name, answers.by, answers.version, groups)


def errors(fidelity: Fidelity) -> dict[str, float]:
    """Id → e = ln(model time / published time) of every point that counts, cross-validated where it can be.

    Contradicted points count against the interval of their sources. Raises `BadInput` where public kernels
    were run by another model than the rest.
    """
    for each in fidelity.public:
        if (each.by, each.version) != (fidelity.by, fidelity.version):
            raise BadInput(
                f"public kernels were run by {each.by} {each.version}, the rest by {fidelity.by} "
                f"{fidelity.version}",
                cause="bands are of one model",
                try_="run the public kernels again: docs/fidelity.md",
            )
    by_point = {}
    for point in fidelity.points:
        e = point.e_cross if point.use is Use.EMULATED else None
        e = counted_error(point) if e is None else e
        if point.counted and e is not None:
            by_point[point.id] = e
    return by_point


class Rule(NamedTuple):
    """How a class's errors become its band: which of them are its ends, by share, and the votes from which
    these stand on their own."""

    quantile: Callable[[Iterable[tuple[float, float]], float], float]
    enough: int


def bands(
    evidence: Evidence, errors: Mapping[str, float], by: str, version: str, rule: Rule | None = None
) -> dict[str, Bands]:
    """Generation → its bands, for every group of which a point has an error.

    Each class is widened towards the next where fewer votes than are enough stand behind it; the last class
    of a group towards the group on all generations, and that towards everything.
    """
    rule = rule or AS_MEASURED
    rated = [each for each in evidence.points if each.id in errors]
    everything = _band(rated, errors, rule) if rated else None
    by_generation: dict[str, dict[str, dict[Nearness, Band]]] = {}
    for generation, group in dict.fromkeys((e.subject.generation, e.subject.group) for e in rated):
        assert everything is not None
        pooled = _band([each for each in rated if each.subject.group == group], errors, rule)
        beyond, name = widened(pooled, everything, EVERYTHING, rule.enough), GENERATIONS
        classes: dict[Nearness, Band] = {}
        for kind in reversed(BANDED):
            mine = landing(evidence, generation, group, kind, errors)
            beyond = widened(_band(mine, errors, rule), beyond, name, rule.enough)
            classes[kind], name = _rounded(beyond), str(kind)
        by_generation.setdefault(generation, {})[group] = dict(reversed(classes.items()))
    return {
        generation: Bands(generation=generation, by=by, version=version, groups=groups)
        for generation, groups in by_generation.items()
    }


def landing(
    evidence: Evidence, generation: str, group: str, kind: Nearness, errors: Mapping[str, float]
) -> list[Known]:
    """Points that land in class `kind` once their own evidence is removed: for `same` the point itself, for
    `kernel` all of that kernel of its size, for `operation` and `family` the whole kernel."""
    return [
        each
        for each in evidence.of_group(generation, group)
        if each.id in errors and evidence.classify(each.subject, own(each, kind))[0] is kind
    ]


def own(of: Known, kind: Nearness) -> Callable[[Known], bool]:
    """Whether a point is part of the evidence that `of` itself is, where class `kind` is asked for."""
    if kind is Nearness.SAME:
        return lambda each: each.id == of.id
    if kind is Nearness.KERNEL:
        return lambda each: (
            each.id == of.id
            or (each.subject.program == of.subject.program and same_size(each.subject, of.subject))
        )
    return lambda each: each.subject.program == of.subject.program or each.vote == of.vote


def _band(points: Sequence[Known], errors: Mapping[str, float], rule: Rule) -> Band | None:
    """p10 to p90; every vote weighs the same, however many points it has here."""
    if not points:
        return None
    sizes: dict[str, int] = {}
    for each in points:
        sizes[each.vote] = sizes.get(each.vote, 0) + 1
    weighed = [(errors[each.id], 1.0 / sizes[each.vote]) for each in points]
    return Band(
        low=rule.quantile(weighed, LOW),
        high=rule.quantile(weighed, HIGH),
        votes=len(sizes),
        points=len(points),
    )


def weighted_quantile(weighed: Iterable[tuple[float, float]], q: float) -> float:
    """Of (value, weight): linear between neighbours, the least value at 0 and the largest at 1.

    With equal weights it is type 7 of Hyndman and Fan, as `results.statistics.quantile`. Raises `ValueError`
    for no value.
    """
    ordered = sorted(weighed)
    if not ordered:
        raise ValueError("no values")
    last = len(ordered) - 1
    places, before = [], 0.0
    for k, (_, weight) in enumerate(ordered):
        places.append(k * weight + last * before)
        before += weight
    wanted = q * places[-1]
    for k in range(last):
        if wanted <= places[k + 1]:
            low, high = ordered[k][0], ordered[k + 1][0]
            return low + (high - low) * (wanted - places[k]) / (places[k + 1] - places[k])
    return ordered[-1][0]


def conformal_quantile(weighed: Iterable[tuple[float, float]], q: float) -> float:
    """Of (value, weight), weights adding up to the votes n: the innermost end that a further vote, if it is
    one like the others, lies beyond with a probability of no more than p = min(q, 1 - q): the votes beyond
    it, and the further one, are at most p of n + 1. The outermost value where n is too small for that.

    Split conformal prediction, its votes groups of points (Dunn, Wasserman and Ramdas 2023). Raises
    `ValueError` for no value.
    """
    inwards = sorted(weighed, reverse=q > MIDDLE)
    if not inwards:
        raise ValueError("no values")
    room = min(q, 1.0 - q) * (math.fsum(weight for _, weight in inwards) + 1.0) - 1.0 + TINY
    beyond = 0.0
    for value, weight in inwards:
        beyond += weight
        if beyond > room:
            return value
    return inwards[-1][0]


AS_MEASURED = Rule(weighted_quantile, ENOUGH)
"""Quantiles of what was measured."""

CONFORMAL = Rule(conformal_quantile, 9)
"""Ends that hold for one more vote: with fewer than 9, one in ten of votes and one more is none."""


def widened(band: Band | None, towards: Band, name: str, enough: int = ENOUGH) -> Band:
    """`band` with each end moved outwards to that of `towards`, by the share of `enough` votes that it lacks;
    `towards` itself where no point is in the class. An end never moves inwards."""
    if band is None:
        return Band(low=towards.low, high=towards.high, votes=0, points=0, widened=name)
    lacking = max(0.0, 1.0 - band.votes / enough)
    if not lacking:
        return band
    return msgspec.structs.replace(
        band,
        low=band.low + lacking * min(0.0, towards.low - band.low),
        high=band.high + lacking * max(0.0, towards.high - band.high),
        widened=name,
    )


def _rounded(band: Band) -> Band:
    return msgspec.structs.replace(band, low=round(band.low, DIGITS), high=round(band.high, DIGITS))
