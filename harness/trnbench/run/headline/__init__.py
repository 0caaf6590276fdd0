"""What a run says first: one line for each question and machine, the same words wherever it is printed.

Here: what is asked of a run, which of its cases answer, and where these stand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from trnbench.bounded.kinds import is_number
from trnbench.case_key import Division, Value
from trnbench.facts.fact import Scope
from trnbench.facts.units import show
from trnbench.results.measurement import GOOD, Grade, Measurement, Metric
from trnbench.results.run import Run

DTYPES = ("bf16", "fp16", "fp32")
"""The type a line is about: the first of these that was run, else the first that was."""
KERNELS_SHOWN = 8
"""Lines of a run that holds none of the kernels below."""


OTHER = "kernel"
"""Names the question of a kernel that none of the questions asks for."""
PRODUCTS = ("gemm",)
"""Kernels whose line is read beside what the model makes of published products."""


class Question(NamedTuple):
    """`kernels`: the first that a generation has answers. `scope`: what its documents and the published
    points speak of; None for the whole system. `apart`: systems of one generation answer each for itself."""

    name: str
    kernels: tuple[str, ...]
    scope: Scope | None
    apart: bool = False


QUESTIONS = (
    Question("product", PRODUCTS, Scope.DEVICE),
    Question("stream", ("hbm_copy", "hbm_read", "hbm_write", "hbm_triad"), Scope.DEVICE),
    Question("all-reduce", ("all_reduce",), None, apart=True),
)

BESIDE = (
    Question("attention", ("attention",), Scope.DEVICE),
    Question("decode step", ("decode_step",), Scope.DEVICE),
)
"""Asked only of a run that answers one of `QUESTIONS`: what a device makes of its product and its memory."""


class Answer(NamedTuple):
    """The cases of one line, all of one kernel, type, scope, metric and grade; `cases` of the first system,
    `systems` all that gave the same numbers against the same figure."""

    question: Question
    systems: tuple[str, ...]
    cases: tuple[Measurement, ...]
    whole: bool


def primary(case: Measurement) -> Metric | None:
    """The judged metric, where it is a number that can be shown."""
    metric = case.metrics.get(case.primary)
    if metric is None or not 0 < metric.value < math.inf:
        return None
    return metric


def answers(run: Run) -> Iterator[Answer]:
    """Of every question, generation by generation; of every kernel where no question finds one."""
    good = [
        measurement
        for measurement in run.measurements
        if measurement.status in GOOD and primary(measurement) is not None
    ]
    asked = [answer for question in QUESTIONS for answer in _answers(run, question, good)]
    yield from asked
    kernels = list(dict.fromkeys(case.case.kernel for case in good))[:KERNELS_SHOWN]
    others = BESIDE if asked else [Question(OTHER, (kernel,), Scope.CORE) for kernel in kernels]
    for question in others:
        yield from _answers(run, question, good)


def _answers(run: Run, question: Question, good: Sequence[Measurement]) -> Iterator[Answer]:
    mine = [each for each in good if each.case.kernel in question.kernels]
    for generation in sorted(dict.fromkeys(each.case.generation for each in mine), key=order_of(run)):
        here = [each for each in mine if each.case.generation == generation]
        kernel = min((each.case.kernel for each in here), key=question.kernels.index)
        here = [each for each in here if each.case.kernel == kernel]
        dtype = _dtype(here)
        here = [each for each in here if each.case.dtype == dtype]
        # A bound by a formula is not set beside what was emulated: it speaks where nothing else does.
        better = {each.case.instance for each in here if each.evidence.grade is not Grade.DERIVED}
        for grade in Grade:
            cases = [each for each in here if each.evidence.grade is grade]
            if grade is Grade.DERIVED:
                cases = [case for case in cases if case.case.instance not in better]
            yield from _same(run, question, cases)


def _same(run: Run, question: Question, cases: Sequence[Measurement]) -> Iterator[Answer]:
    """Systems that gave the same numbers are one answer, unless the question asks for each. It asks for
    links then: ranks of one device, which need none, answer where nobody else does."""
    if question.apart:
        cases = [case for case in cases if case.judgement is not None] or cases
    else:
        cases = _one_scope(cases, question.scope)
    groups: list[tuple[list[str], tuple[Measurement, ...], frozenset[object]]] = []
    for system in sorted(sorted({case.case.instance for case in cases}), key=place_of(run)):
        own = [case for case in cases if case.case.instance == system]
        record = run.systems.get(system)
        if question.apart:
            own = _one_scope(own, record.scope if record else None)
        swept = tuple(group for group in own if _definition(group) == _definition(own[0]))
        marks = frozenset(map(_mark, swept))
        twin = next((group for group in groups if not question.apart and marks <= group[2]), None)
        if twin is not None:
            twin[0].append(system)
        else:
            groups.append(([system], swept, marks))
    for systems, swept, _ in groups:
        yield Answer(question, tuple(systems), swept, whole=len(groups) == 1)


def _mark(case: Measurement) -> object:
    """The case, its time and the figure it is held against."""
    chosen = case.judgement.peaks.chosen if case.judgement else None
    return case.case.fullname, case.time_s, chosen and (chosen.value, chosen.source)


def _one_scope(cases: Sequence[Measurement], wanted: Scope | None) -> list[Measurement]:
    """Of the wanted scope, else of the smallest that was run; there one problem of all cores rather than one
    of each."""
    scopes = {case.case.scope for case in cases}
    scope = wanted if wanted in scopes else min(scopes, key=lambda each: each.rank, default=None)
    here = [case for case in cases if case.case.scope is scope]
    return [case for case in here if case.case.division is Division.SHARDED] or here


def _definition(case: Measurement) -> object:
    """What two numbers must share to stand in one line: metric, unit, direction, what it speaks of."""
    metric = primary(case)
    return metric and (metric.name, metric.unit, metric.better, metric.scope, metric.direction)


def _dtype(cases: Sequence[Measurement]) -> str:
    present = dict.fromkeys(case.case.dtype for case in cases)
    return next((dtype for dtype in DTYPES if dtype in present), next(iter(present), ""))


def order_of(run: Run) -> Callable[[str], float]:
    """The place of a generation among those that the run shows; the last one where the run has none of it."""
    order = {system.generation: system.order for system in run.systems.values()}
    return lambda generation: order.get(generation, math.inf)


def place_of(run: Run) -> Callable[[str], int]:
    """The place of a system among those of the run; the last one where the run has no such system."""
    places = {name: position for position, name in enumerate(run.systems)}
    return lambda name: places.get(name, len(places))


def ranks_of(run: Run, case: Measurement) -> tuple[int, str] | None:
    """How many ranks a case has that all take part in, and what each is; None of other cases.

    Runs of before do not say how many: of collectives it follows from what one must send of the tensor,
    2·(n−1)/n of it in an all-reduce, (n−1)/n where ranks hold or send parts.
    """
    if isinstance(ranks := case.detail.get("rank_count"), int):
        return ranks, str(case.detail.get("rank", ""))
    record = run.systems.get(case.case.instance)
    payload, link = (case.work.get(name, 0.0) for name in ("payload_bytes", "link_bytes"))
    if record is None or case.case.family != "collective" or not payload > 0:
        return None
    kind, share = str(case.detail.get("rank", "logical-core")), link / payload
    if kind == "device":
        return record.devices, kind
    if case.case.kernel == "all_reduce" and 1.0 <= share < 2.0:
        return round(2 / (2 - share)), kind
    return (round(1 / (1 - share)), kind) if share < 1.0 else None


_BYTES = ("hbm", "dma", "copy", "link", "collective")
"""Families whose axis `size` counts bytes; elsewhere it is the side of a matrix."""


def axis_text(case: Measurement, name: str) -> str:
    """`1 GiB` or `4,096`: where the case stands on an axis, in words."""
    return value_text(case.case.point.get(name, ""), case, name)


def value_text(value: Value, case: Measurement, name: str) -> str:
    """The same of any value of that axis."""
    if not is_number(value):
        return str(value)
    if name == "size" and case.case.family in _BYTES and 0 <= value < 1e30:
        return show(float(value), "B")
    return f"{value:,}"
