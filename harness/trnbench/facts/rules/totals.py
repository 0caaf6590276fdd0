"""Totals that follow from a number of units: links, engines, adapters, stacks, partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from trnbench.facts.assembly import Assembly
from trnbench.facts.book import FactBook
from trnbench.facts.disagreement import Claim, Disagreement, claim, disagreement
from trnbench.facts.fact import Fact
from trnbench.facts.metric import LINK_LEVELS
from trnbench.facts.rules.sums import printed
from trnbench.facts.scope import Scope

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
    found: list[Disagreement] = []
    for subject, scope, below in _subjects(assemblies):
        facts = printed(book, subject, scope)
        for total, count, each, noun in PRODUCTS:
            numbers = [fact for fact in facts if fact.metric == count and not fact.qualifier]
            ones = [
                fact
                for place in (subject, *below)
                for fact in book.select(place, each)
                if fact in printed(book, place, fact.scope) and fact.qualifier in _ONE
            ]
            wholes = [fact for fact in facts if fact.metric == total and not fact.qualifier]
            found += _products(wholes, numbers, ones, noun)
    return found


def _products(
    wholes: Iterable[Fact], numbers: Sequence[Fact], ones: Sequence[Fact], noun: str
) -> Iterator[Disagreement]:
    odd: list[Claim] = []
    about: Fact | None = None
    for whole in wholes:
        for number in numbers:
            for one in ones:
                times = claim(one).times(number.value or 0.0, f"{number.printed} {noun}")
                if not claim(whole).agrees(times):
                    about = about or whole
                    odd += [claim(whole), times]
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
                if not claim(total).agrees(msgspec.structs.replace(summed, direction=total.direction)):
                    odd += [claim(total), summed]
        if odd:
            about = next(fact for fact in totals if fact.id == odd[0].fact)
            disagreements.append(
                disagreement("link-sum", msgspec.structs.replace(about, subject=assembly.subject), odd)
            )
    return disagreements


def _levels(facts: Sequence[Fact]) -> Iterator[Claim]:
    """The levels that one source lists for one subject, added up; a single level is no total."""
    groups: dict[tuple[str, str, str], list[Fact]] = {}
    for fact in facts:
        if fact.qualifier in LINK_LEVELS:
            groups.setdefault((fact.subject, fact.source, fact.part), []).append(fact)
    for members in groups.values():
        if len(members) > 1:
            claims = [claim(fact) for fact in members]
            yield msgspec.structs.replace(
                claims[0],
                text=" + ".join(each.text for each in claims),
                value=sum(each.value or 0.0 for each in claims),
                low=sum(each.low or 0.0 for each in claims),
                high=sum(each.high or 0.0 for each in claims),
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
    for device, core in dict.fromkeys((each.device, each.core) for each in assemblies):
        one = _clocked(book, core)
        if one is None:
            continue
        cores = book.value(device, "core_count", qualifier="")
        places = [(core, Scope.CORE, one)]
        if cores:
            places.append((device, Scope.DEVICE, one.times(cores, f"{cores:g} cores")))
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
                about = msgspec.structs.replace(odd[0], dtypes=("bf16",))
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
    for each in assemblies:
        listed.setdefault(each.subject, (each.scope, (each.device, each.core)))
        listed.setdefault(each.device, (Scope.DEVICE, (each.core,)))
        listed.setdefault(each.core, (Scope.CORE, ()))
    for subject, (scope, below) in listed.items():
        yield subject, scope, below
