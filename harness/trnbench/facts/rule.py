"""The checker's rules: what different places print of one thing, and totals against sums of their parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations

from msgspec.structs import replace

from trnbench.facts.disagreement import (
    Claim,
    Disagreement,
    by_pairs,
    claim,
    counted,
    disagreement,
    merge_dtypes,
    same_words,
)
from trnbench.facts.fact import Assembly, Fact, FactBook, Provenance, Scope
from trnbench.facts.metric import LINK_LEVELS, METRICS, MetricKind
from trnbench.facts.units import parse_unit, read_number
from trnbench.record import grouped

NOTICED = 1.01
"""Values that agree by rounding alone are worth a word when they are more than 1 % apart."""


@by_pairs()
def value(one: Fact, other: Fact, a: Claim, b: Claim) -> bool:
    """Two documents, one subject, metric, scope, data type and qualifier, and values apart."""
    if counted(one) or one.source == other.source or another_base(one, other):
        return False
    return not a.agrees(b)


@by_pairs()
def count(one: Fact, other: Fact, a: Claim, b: Claim) -> bool:
    """Counts have no rounding: 16 and 20 collective cores, over 30,000 and over 100,000 devices."""
    return counted(one) and one.source != other.source and not a.agrees(b)


@by_pairs()
def prose(one: Fact, other: Fact, a: Claim, b: Claim) -> bool:
    """One document against itself: 20TB in the text, 20,736 GiB in the table."""
    return one.source == other.source and not a.agrees(b)


@by_pairs("the same digits, powers of 1024 against powers of 1000")
def unit_base(one: Fact, other: Fact, _a: Claim, _b: Claim) -> bool:
    """820 GiB/s here, 820 GB/s there: 7 % apart, and no digit differs."""
    return another_base(one, other)


@by_pairs("one document prints fewer digits")
def rounded(one: Fact, other: Fact, a: Claim, b: Claim) -> bool:
    """2.9 TB/s here, 3 TB/s there: both can be right, and a percentage of them differs by 3 %."""
    if one.limit or other.limit or another_base(one, other) or not a.agrees(b):
        return False
    small, large = sorted((a.value or 0.0, b.value or 0.0))
    return small > 0.0 and large / small > NOTICED


def another_base(one: Fact, other: Fact) -> bool:
    """The same printed digits with a decimal and with a binary unit."""
    a, b = parse_unit(one.printed_unit), parse_unit(other.printed_unit)
    if {a.base, b.base} != {"decimal", "binary"} or a.letter != b.letter:
        return False
    return read_number(one.printed).value == read_number(other.printed).value


_COMPUTED = (Provenance.DERIVED, Provenance.INFERRED)


def devices_sum(book: FactBook, assemblies: Sequence[Assembly]) -> list[Disagreement]:
    """trn1.32xlarge prints 3,360 TFLOPS, and 16 times its device's 190 is 3,040."""
    wholes = [(each.subject, each.scope, each.device) for each in assemblies]
    return _sums("devices-sum", book, wholes, Scope.DEVICE, "device_count", lambda kind: kind.additive)


def cores_sum(book: FactBook, assemblies: Sequence[Assembly]) -> list[Disagreement]:
    """trainium2 prints 667 TFLOPS, and 8 times its core's 79 is 632."""
    wholes = dict.fromkeys((each.device, Scope.DEVICE, each.core) for each in assemblies)
    return _sums("cores-sum", book, wholes, Scope.CORE, "core_count", lambda kind: kind.additive)


def hosts_sum(book: FactBook, assemblies: Sequence[Assembly]) -> list[Disagreement]:
    """u-trn2x64 prints 3,200 Gbps, and 4 times its instance's 3,200 is 12,800."""
    wholes = [(each.subject, each.scope, each.parent) for each in assemblies if each.parent]
    return _sums("hosts-sum", book, wholes, Scope.INSTANCE, "host_count", lambda kind: kind.by_host)


def _sums(
    rule: str,
    book: FactBook,
    wholes: Iterable[tuple[str, Scope, str]],
    below: Scope,
    metric: str,
    applies: Callable[[MetricKind], bool],
) -> list[Disagreement]:
    """Each whole (subject, scope, subject of its parts) against as many parts of scope `below` as its
    `metric` says."""
    disagreements: list[Disagreement] = []
    for whole, scope, part in wholes:
        if count := book.value(whole, metric, qualifier=""):
            parts = printed(book, part, below)
            disagreements += hold(rule, printed(book, whole, scope), parts, count, f"{below}s", applies)
    return merge_dtypes(disagreements)


def per_device(book: FactBook, assemblies: Sequence[Assembly]) -> list[Disagreement]:
    """The Trn3 table prints 2,048 GiB/s per device, the device's page 2.56 TB/s."""
    disagreements: list[Disagreement] = []
    for assembly in assemblies:
        parts, wholes = (
            printed(book, subject, Scope.DEVICE) for subject in (assembly.device, assembly.subject)
        )
        disagreements += hold("per-device", wholes, parts, 1.0, "", lambda _: True)
    return merge_dtypes(disagreements)


def hold(
    rule: str,
    wholes: Iterable[Fact],
    parts: Sequence[Fact],
    count: float,
    noun: str,
    applies: Callable[[MetricKind], bool],
) -> Iterator[Disagreement]:
    """Wholes that are `count` times no current part of the same metric, data type and qualifier.

    A whole that fits one of the current parts is left alone: that the parts' documents disagree
    among themselves is another rule's finding.
    """
    odd: dict[tuple[object, ...], tuple[Fact, list[Claim]]] = {}
    for total in wholes:
        if not applies(METRICS[total.metric]):
            continue
        total_claim = claim(total)
        for dtype in total.dtypes or ("",):
            alike = [unit for unit in parts if _alike(total, unit, dtype)]
            current = [unit for unit in alike if not unit.superseded_by] or alike
            others = [claim(unit).times(count, f"{count:,.0f} {noun}") for unit in current]
            if not others or any(total_claim.agrees(unit_claim) for unit_claim in others):
                continue
            about = replace(total, dtypes=(dtype,) if dtype else ())
            key = (total.metric, dtype, total.sparse, total.qualifier)
            odd.setdefault(key, (about, []))[1].extend((total_claim, *others))
    for about, claims in odd.values():
        yield disagreement(rule, about, claims)


def printed(book: FactBook, subject: str, scope: Scope) -> list[Fact]:
    """Numbers a document prints; what was derived would only be held against itself."""
    return [
        fact
        for fact in book.select(subject, scope=scope)
        if fact.value is not None and fact.provenance not in _COMPUTED
    ]


def _alike(whole: Fact, part: Fact, dtype: str) -> bool:
    if (whole.metric, whole.sparse, whole.qualifier) != (part.metric, part.sparse, part.qualifier):
        return False
    return dtype in part.dtypes if dtype else not part.dtypes


PRODUCTS = (
    ("device_count", "host_count", "devices_per_host", "servers"),
    ("dma_bandwidth", "dma_engine_count", "dma_engine_bandwidth", "engines"),
    ("efa_bandwidth", "efa_adapter_count", "efa_adapter_bandwidth", "adapters"),
    ("hbm_capacity", "hbm_stack_count", "hbm_stack_capacity", "stacks"),
    ("sbuf_capacity", "partition_count", "sbuf_partition_capacity", "partitions"),
    ("psum_capacity", "partition_count", "psum_partition_capacity", "partitions"),
    ("psum_partition_capacity", "psum_bank_count", "psum_bank_partition_capacity", "banks"),
)
"""(total, number of units, figure of one unit, what the units are)."""

_ONE = ("", "theoretical")
"""Qualifiers under which documents give the figure of one unit."""


def product(book: FactBook, assemblies: Sequence[Assembly]) -> list[Disagreement]:
    """A core prints 272 GB/s of DMA, and its 16 engines 27.2 GB/s each."""
    disagreements: list[Disagreement] = []
    for subject, scope, below in _subjects(assemblies):
        facts = printed(book, subject, scope)
        for total, count, unit_metric, noun in PRODUCTS:
            numbers = [fact for fact in facts if fact.metric == count and not fact.qualifier]
            ones = [
                fact
                for subject_below in (subject, *below)
                for fact in book.select(subject_below, unit_metric)
                if fact in printed(book, subject_below, fact.scope) and fact.qualifier in _ONE
            ]
            wholes = [fact for fact in facts if fact.metric == total and not fact.qualifier]
            disagreements += _products(wholes, numbers, ones, noun)
    return disagreements


def _products(
    wholes: Iterable[Fact], numbers: Sequence[Fact], ones: Sequence[Fact], noun: str
) -> Iterator[Disagreement]:
    odd: list[Claim] = []
    about: Fact | None = None
    for total in wholes:
        for number in numbers:
            for unit in ones:
                times = claim(unit).times(number.value or 0.0, f"{number.printed} {noun}")
                if not claim(total).agrees(times):
                    about = about or total
                    odd += [claim(total), times]
    if about is not None:
        yield disagreement("product", about, odd)


def link_sum(book: FactBook, assemblies: Sequence[Assembly]) -> list[Disagreement]:
    """Trn3 Gen2 lists 256 + 320 + 128 GB/s per device, and 2,048 GiB/s as the total."""
    disagreements = []
    for assembly in assemblies:
        facts = [
            fact
            for subject in (assembly.subject, assembly.device)
            for fact in printed(book, subject, Scope.DEVICE)
            if fact.metric == "neuronlink_bandwidth"
        ]
        totals = [fact for fact in facts if not fact.qualifier]
        parts = [*_levels(facts), *_neighbours(book, assembly, facts)]
        odd: list[Claim] = []
        for total in totals:
            for summed in parts:
                if not claim(total).agrees(replace(summed, direction=total.direction)):
                    odd += [claim(total), summed]
        if odd:
            about = next(fact for fact in totals if fact.id == odd[0].fact)
            disagreements.append(disagreement("link-sum", replace(about, subject=assembly.subject), odd))
    return disagreements


def _levels(facts: Sequence[Fact]) -> Iterator[Claim]:
    """The levels that one source lists for one subject, added up; a single level is no total."""
    levels = (fact for fact in facts if fact.qualifier in LINK_LEVELS)
    for members in grouped(levels, lambda fact: (fact.subject, fact.source, fact.part)).values():
        if len(members) > 1:
            claims = [claim(fact) for fact in members]
            yield replace(
                claims[0],
                text=" + ".join(claim_.text for claim_ in claims),
                value=sum(claim_.value or 0.0 for claim_ in claims),
                low=sum(claim_.low or 0.0 for claim_ in claims),
                high=sum(claim_.high or 0.0 for claim_ in claims),
                computed=True,
            )


def _neighbours(book: FactBook, assembly: Assembly, facts: Sequence[Fact]) -> Iterator[Claim]:
    ports = book.value(assembly.device, "neuronlink_port_count", qualifier="")
    for fact in facts:
        if fact.qualifier == "per-neighbour" and ports:
            yield claim(fact).times(ports, f"{ports:g} neighbours")


def clock(book: FactBook, assemblies: Sequence[Assembly]) -> list[Disagreement]:
    """128 rows × 128 columns × 2 × 2.4 GHz × 8 cores is 629 TFLOPS of BF16, the page prints 667."""
    disagreements = []
    for device, core in dict.fromkeys((assembly.device, assembly.core) for assembly in assemblies):
        core_bound = _clocked(book, core)
        if core_bound is None:
            continue
        cores = book.value(device, "core_count", qualifier="")
        places = [(core, Scope.CORE, core_bound)]
        if cores:
            places.append((device, Scope.DEVICE, core_bound.times(cores, f"{cores:g} cores")))
        for subject, scope, bound in places:
            peaks = [
                fact
                for fact in printed(book, subject, scope)
                if fact.metric == "peak_flops"
                and "bf16" in fact.dtypes
                and not fact.sparse
                and fact.qualifier in ("", "tensor")
            ]
            odd = [fact for fact in peaks if not claim(fact).agrees(bound)]
            if odd:
                about = replace(odd[0], dtypes=("bf16",))
                disagreements.append(disagreement("clock", about, [*(claim(fact) for fact in odd), bound]))
    return disagreements


def _clocked(book: FactBook, core: str) -> Claim | None:
    """What one core does in BF16 by its clock, with the clock's printed digits as the slack."""
    rows = next(book.select(core, "array_rows"), None)
    columns = next(book.select(core, "array_columns"), None)
    ticks = next(book.select(core, "clock", qualifier="tensor"), None)
    if rows is None or columns is None or ticks is None:
        return None
    count = 2 * (rows.value or 0.0) * (columns.value or 0.0)
    return claim(ticks).times(count, f"{rows.printed} rows × {columns.printed} columns × 2")


def _subjects(assemblies: Sequence[Assembly]) -> Iterator[tuple[str, Scope, tuple[str, ...]]]:
    """(subject, scope, subjects below it), each once."""
    listed: dict[str, tuple[Scope, tuple[str, ...]]] = {}
    for assembly in assemblies:
        listed.setdefault(assembly.subject, (assembly.scope, (assembly.device, assembly.core)))
        listed.setdefault(assembly.device, (Scope.DEVICE, (assembly.core,)))
        listed.setdefault(assembly.core, (Scope.CORE, ()))
    for subject, (scope, below) in listed.items():
        yield subject, scope, below


def words(book: FactBook, _: Sequence[Assembly]) -> list[Disagreement]:
    """Text metrics with one right answer: "4D-HyperCube" and "2D Torus" for one graph."""
    texts = (fact for fact in book.facts if fact.value is None and METRICS[fact.metric].single)
    disagreements = []
    # A qualifier says where the word stands (caption, text), not that another thing is meant.
    for members in grouped(texts, lambda fact: (fact.subject, fact.metric)).values():
        odd: list[Claim] = []
        for first, second in combinations(members, 2):
            if not same_words(first.printed, second.printed):
                odd += [claim(first), claim(second)]
        if odd:
            disagreements.append(disagreement("words", replace(members[0], qualifier=""), odd))
    return disagreements
