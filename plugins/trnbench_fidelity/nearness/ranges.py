"""What the ranges of assumptions do to a number: no band is narrower than that."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from trnbench.case_key import CaseKey, Division
from trnbench.results.nearness import Band
from trnbench.store.answers import answers_of
from trnbench_fidelity.point import LINKED

if TYPE_CHECKING:
    from trnbench.generation import Generation
    from trnbench.kernels.kernel import Case
    from trnbench.registry import Registry
    from trnbench_fidelity.bench import Bench
    from trnbench_fidelity.point import PublishedPoint

SECTION = "ranges"
"""Of a generation's answers."""

ASSUMED = "the ranges of its assumptions"
"""Towards what a band is widened that was narrower than they are."""

LEAST = 0.01
"""Ends that are nearer to 0 are not kept: no band is as narrow."""
DIGITS = 3

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


class Ranges(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The section of a generation's answers: ends by published point, and by kernel of ours on cores."""

    points: dict[str, Ends] = {}
    kernels: dict[str, Ends] = {}


def shipped_ranges(generation: Generation) -> Ranges:
    """What the generation ships; empty where it ships none. Raises `BadInput`."""
    answers = answers_of(generation)
    return (answers.section(SECTION, Ranges) if answers is not None else None) or Ranges()


def over(band: Band, ends: Ends | None) -> Band:
    """The band, no narrower than `ends`."""
    if ends is None or (band.low <= ends[0] and ends[1] <= band.high):
        return band
    low, high = min(band.low, ends[0]), max(band.high, ends[1])
    return msgspec.structs.replace(band, low=low, high=high, widened=ASSUMED if band.votes else band.widened)


def ends_of(times: Iterable[float], usual: float) -> Ends | None:
    """Of times with an assumption at an end of its range; None where none is `LEAST` away from the usual."""
    moved = [math.log(usual / time) for time in times if time > 0.0] + [0.0]
    ends = (round(min(moved), DIGITS), round(max(moved), DIGITS))
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
    answers: dict[object, Ends | None] = {}
    for point in points:
        asked = point.usable is Usable.DIRECT and point.kind is Kind.MEASURED and point.family in FAMILIES
        if not asked:
            continue
        same = (
            point.system,
            point.operation,
            tuple(map(repr, point.shape.items())),
            point.dtype,
            point.family,
        )
        if same not in answers:
            answers[same] = _of_point(point, usual, moved)
        ends = answers[same]
        if ends is not None:
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
