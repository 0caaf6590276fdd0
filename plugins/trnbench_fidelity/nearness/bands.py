"""Bands: ends beyond which one more vote lies with a probability of one in ten at most, by class.

Every point is judged without its own evidence. A snapshot is shipped with each generation, since public
kernels need their sources. No band is narrower than what the ranges of assumptions do to a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec.structs import replace

from trnbench import BadInput, Band, Case, Generation, Nearness
from trnbench.case_key import CaseKey, Division
from trnbench.record import Record
from trnbench.results.fidelity import Fidelity, Use
from trnbench.store.answers import answers_of
from trnbench_fidelity.nearness.evidence import Evidence, Known, same_size
from trnbench_fidelity.point import LINKED, PublishedPoint
from trnbench_fidelity.statistics import counted_error

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench_fidelity.bench import Bench


SECTION = "bands"
"""Of a generation's answers."""

BEYOND = 0.1
"""The probability that one more vote lies beyond an end."""

ENOUGH = 9
"""Votes from which a band stands on its own: of fewer and one more, one in ten is none."""

TINY = 1e-9
BANDED = tuple(kind for kind in Nearness if kind.banded)
"""Nearest first."""
GENERATIONS = "all generations"
"""Towards what the last class of a group is widened: the same family on every generation."""
EVERYTHING = "every family"
"""Towards what that is widened in its turn: all points of all generations."""

DIGITS = 4


class Bands(Record, kw_only=True, forbid_unknown_fields=True):
    """Of one generation, by a version of the model: group → class → band."""

    version: str
    groups: dict[str, dict[Nearness, Band]]


class BandRow(Band, frozen=True, array_like=True):
    """A band as a list."""


Groups: TypeAlias = dict[str, dict[Nearness, BandRow]]
"""The section of a generation's answers: group → class → band."""


def bands_of(version: str, groups: Groups) -> Bands:
    """The bands that `groups` were kept of."""
    return Bands(
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
    return bands_of(answers.version, groups)


def errors(fidelity: Fidelity) -> dict[str, float]:
    """Id → e = ln(model time / published time) of every point that counts, cross-validated where it can be.

    Contradicted points count against the interval of their sources. Raises `BadInput` where public kernels
    were run by another model than the rest.
    """
    for public in fidelity.public:
        if (public.by, public.version) != (fidelity.by, fidelity.version):
            raise BadInput(
                f"public kernels were run by {public.by} {public.version}, the rest by {fidelity.by} "
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


def bands(evidence: Evidence, errors: Mapping[str, float], version: str) -> dict[str, Bands]:
    """Generation → its bands, for every group of which a point has an error."""
    by_generation: dict[str, dict[str, dict[Nearness, Band]]] = {}
    for point in evidence.points:
        generation, group = point.subject.generation, point.subject.group
        if point.id in errors and group not in by_generation.setdefault(generation, {}):
            by_generation[generation][group] = class_bands(evidence, errors, generation, group)
    return {name: Bands(version=version, groups=groups) for name, groups in by_generation.items()}


def class_bands(
    evidence: Evidence, errors: Mapping[str, float], generation: str, group: str
) -> dict[Nearness, Band]:
    """Class → band of one group, each around those of all nearer classes; empty where no point has an error.

    A class with too few votes is widened towards the next one, the last towards the group on all generations,
    and that towards everything.
    """
    rated = [point for point in evidence.points if point.id in errors]
    if not any((point.subject.generation, point.subject.group) == (generation, group) for point in rated):
        return {}
    own_ends: dict[Nearness, Band | None] = {}
    inner: Band | None = None
    for kind in BANDED:
        own_ends[kind] = _around(_band(landing(evidence, generation, group, kind, errors), errors), inner)
        inner = own_ends[kind] or inner
    of_group = _around(_band([point for point in rated if point.subject.group == group], errors), inner)
    everything = _around(_band(rated, errors), of_group)
    assert everything is not None
    outer, name = widened(of_group, everything, EVERYTHING), GENERATIONS
    classes: dict[Nearness, Band] = {}
    for kind in reversed(BANDED):
        outer = widened(own_ends[kind], outer, name)
        classes[kind], name = _rounded(outer), str(kind)
    return dict(reversed(classes.items()))


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


def _band(points: Sequence[Known], errors: Mapping[str, float]) -> Band | None:
    """Of these points; every vote weighs the same, however many points it has here."""
    if not points:
        return None
    sizes: dict[str, int] = {}
    for point in points:
        sizes[point.vote] = sizes.get(point.vote, 0) + 1
    weighed = [(errors[point.id], 1.0 / sizes[point.vote]) for point in points]
    return Band(low=end(weighed), high=end(weighed, upper=True), votes=len(sizes), points=len(points))


def end(weighed: Iterable[tuple[float, float]], *, upper: bool = False) -> float:
    """Of (value, weight), weights adding up to n votes: the innermost end that one more vote, if it is like
    the others, lies beyond with a probability of `BEYOND` at most: of n + 1 votes, the further one among
    them. The outermost value where n is too small for that.

    Split conformal prediction over groups: Dunn, Wasserman and Ramdas 2023. Raises `ValueError` for none.
    """
    inwards = sorted(weighed, reverse=upper)
    if not inwards:
        raise ValueError("no values")
    allowed = BEYOND * (math.fsum(weight for _, weight in inwards) + 1.0) - 1.0 + TINY
    beyond = 0.0
    for value, weight in inwards:
        beyond += weight
        if beyond > allowed:
            return value
    return inwards[-1][0]


def _around(band: Band | None, inner: Band | None) -> Band | None:
    """`band` with no end inside those of `inner`."""
    if band is None or inner is None:
        return band
    return replace(band, low=min(band.low, inner.low), high=max(band.high, inner.high))


def widened(band: Band | None, towards: Band, name: str) -> Band:
    """`band` with each end moved outwards to that of `towards`, by the share of `ENOUGH` votes that it lacks;
    `towards` itself where no point is in the class. An end never moves inwards."""
    if band is None:
        return Band(low=towards.low, high=towards.high, votes=0, points=0, widened=name)
    lacking = max(0.0, 1.0 - band.votes / ENOUGH)
    if not lacking:
        return band
    return replace(
        band,
        low=band.low + lacking * min(0.0, towards.low - band.low),
        high=band.high + lacking * max(0.0, towards.high - band.high),
        widened=name,
    )


def _rounded(band: Band) -> Band:
    return replace(band, low=round(band.low, DIGITS), high=round(band.high, DIGITS))


RANGES = "ranges"
"""Of a generation's answers."""

ASSUMED = "the ranges of its assumptions"
"""Towards what a band is widened that was narrower than they are."""

LEAST = 0.01
"""Ends that are nearer to 0 are not kept: no band is as narrow."""
END_DIGITS = 3

Ends: TypeAlias = tuple[float, float]
"""Least and most of e = ln(model time / time of the machine), were one assumption at an end of its range."""

CORE = ("semaphore-latency", "dma-trigger", "core-signal-latency")
HOST = ("host-link-bandwidth", "host-link-latency")
LINKS = (
    *("on-chip-latency", "on-chip-bandwidth", "neuronlink-hop-latency", "neuronswitch-latency"),
    *("efa-latency", "adapter-latency"),
)
FAMILIES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("hbm", "dma", "instruction"), CORE),
    "host-copy": HOST,
    **dict.fromkeys(LINKED, LINKS),
}
"""Families of points that are asked again, and the assumptions that are moved where the facts have them."""


class Ranges(Record, kw_only=True, forbid_unknown_fields=True):
    """The section of a generation's answers: ends by published point, and by kernel of ours on cores."""

    points: dict[str, Ends] = {}
    kernels: dict[str, Ends] = {}


def shipped_ranges(generation: Generation) -> Ranges:
    """What the generation ships; empty where it ships none. Raises `BadInput`."""
    answers = answers_of(generation)
    return (answers.section(RANGES, Ranges) if answers is not None else None) or Ranges()


def over(band: Band, ends: Ends | None) -> Band:
    """The band, no narrower than `ends`."""
    if ends is None or (band.low <= ends[0] and ends[1] <= band.high):
        return band
    low, high = min(band.low, ends[0]), max(band.high, ends[1])
    return replace(band, low=low, high=high, widened=ASSUMED if band.votes else band.widened)


def ends_of(times: Iterable[float], usual: float) -> Ends | None:
    """Of times with an assumption at an end of its range; None where none is `LEAST` away from the usual."""
    moved = [math.log(usual / time) for time in times if time > 0.0] + [0.0]
    ends = (round(min(moved), END_DIGITS), round(max(moved), END_DIGITS))
    return ends if max(map(abs, ends)) >= LEAST else None


def ranges(registry: Registry, generation: str) -> Ranges:
    """Of its published points that the model answers as stated, and of its kernels by the default cases.

    Takes some seconds. Raises what `published_points` raises.
    """
    from trnbench_fidelity.published_points import published_points

    points = published_points(registry, (generation,)).get(generation, ())
    return Ranges(points=dict(_of_points(registry, points)), kernels=dict(_of_kernels(registry, generation)))


def _of_points(registry: Registry, points: Iterable[PublishedPoint]) -> Iterator[tuple[str, Ends]]:
    from trnbench_fidelity.bench import Bench
    from trnbench_fidelity.point import Kind, Usable

    usual, moved = Bench(registry), dict[tuple[str, float], Bench]()
    for point in points:
        asked = point.usable is Usable.DIRECT and point.kind is Kind.MEASURED and point.family in FAMILIES
        if asked and (ends := _of_point(point, usual, moved)):
            yield point.id, ends


def _of_point(point: PublishedPoint, usual: Bench, moved: dict[tuple[str, float], Bench]) -> Ends | None:
    """None as well where the model has no answer."""
    from trnbench.reference import resolve
    from trnbench_fidelity.bench import Bench
    from trnbench_fidelity.point import FAMILIES as ADAPTERS
    from trnbench_fidelity.point import NotEmulated

    predict = resolve(ADAPTERS[point.family].adapter)
    sign = 1.0 if point.quantity.lower_is_better else -1.0
    try:
        book = usual.system(point.system).book
        base = predict(point, usual).value ** sign
        times = []
        for name in FAMILIES[point.family]:
            assumption = book.assumptions.get(name)
            for value in {assumption.low, assumption.high} - {assumption.value} if assumption else ():
                bench = moved.setdefault((name, value), Bench(usual.registry, assumption=(name, value)))
                times.append(predict(point, bench).value ** sign)
    except NotEmulated:
        return None
    return ends_of(times, base)


def title(key: CaseKey) -> str:
    """Of a case among the ranges: `gemm`, and `gemm:sharded`, whose short times lean on other assumptions."""
    return f"{key.kernel}:{key.division}" if key.division is Division.SHARDED else key.kernel


def _of_kernels(registry: Registry, generation: str) -> Iterator[tuple[str, Ends]]:
    """Of each kernel on cores by `title`: of the first and the last of its default cases in each scope."""
    from trnbench.errors import TrnbenchError
    from trnbench.run.plan import plan
    from trnbench.run.selection import Selection
    from trnbench_emulator.stored_case import times_at_ends

    instances = registry.generations[generation].instances
    cases: dict[str, dict[object, list[Case]]] = {}
    for case in plan(registry, Selection(instances=(instances[0].name,))).cases if instances else ():
        if not case.kernel.spread.linked and case.kernel.subject is None:
            cases.setdefault(title(case.key), {}).setdefault(case.key.scope, []).append(case)
    for name, scopes in cases.items():
        ends: list[Ends] = []
        for case in (each for of_scope in scopes.values() for each in (of_scope[0], of_scope[-1])):
            system = registry.system(case.key.instance)
            try:
                usual, times = times_at_ends(case, system)
            except TrnbenchError:  # the generation cannot carry it out
                continue
            if found := ends_of((time for _, _, time in times), usual):
                ends.append(found)
        if ends:
            yield name, (min(low for low, _ in ends), max(high for _, high in ends))
