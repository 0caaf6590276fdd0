"""Whether the facts, topologies and kernels of a plugin say the same in all places."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from trnbench.errors import TrnbenchError
from trnbench.facts.check import check
from trnbench.facts.fact import FactBook, Scope
from trnbench.facts.load import load_costs
from trnbench.facts.metric import METRICS
from trnbench.facts.table import near
from trnbench.generation import Generation, System, assemblies
from trnbench.kernels.kernel import Kernel, Point
from trnbench.kernels.work import Extent, Work
from trnbench.registry.loader import described
from trnbench.run.metrics import unit_of
from trnbench.testing.subject import Finding, Subject
from trnbench.topology.checks import Verdict, check_topology, expected_of
from trnbench.topology.graph import LinkKind, Topology


def facts(subject: Subject) -> Iterator[Finding | str]:
    """Sources, counts, and the rules of `trnbench spec check`; units and ranges are held by loading."""
    for generation in subject.generations:
        try:
            book = subject.registry.book(generation.name)
            subject.registry.costs(generation.name)
        except TrnbenchError as error:
            yield Finding(f"generation {generation.name}", error.sentence, error.try_)
            continue
        for fact in book.facts:
            yield fact.id
        yield from _sources(book)
        yield from _costs(subject, generation, book)
        yield from _disagreements(book, generation)
        yield from _counts(subject, generation, book)
        yield from _memories(subject, generation, book)


def _sources(book: FactBook) -> Iterator[Finding]:
    used = {fact.source for fact in book.facts}
    for source in book.sources.values():
        if source.id in used and not source.version and not source.date:
            yield Finding(
                f"source {source.id}",
                "has neither version nor date",
                'version = "undated" where the document has none',
            )


def _costs(subject: Subject, generation: Generation, book: FactBook) -> Iterator[Finding]:
    """Sources of its own rows, and instructions named nearly as one of another generation."""
    own = _instructions(generation)
    for name, rows in own.items():
        for source in {row["source"] for row in rows if row.get("source", "") not in ("", *book.sources)}:
            yield Finding(
                f"costs of {name}",
                f"name the unknown source {source!r}: {near(source, book.sources)}",
                f'[sources.{source}] with document = "…" in the facts of {generation.name}',
            )
    others = {
        name
        for other in subject.registry.generations.values()
        if other.name != generation.name
        for name in _instructions(other)
    }
    for name in own.keys() - others:
        if meant := get_close_matches(name, others, n=1, cutoff=0.9):
            problem = f"no other generation has it: did you mean {meant[0]!r}?"
            yield Finding(f"costs of {name}", problem, f"[[instructions.{meant[0]}]]", warning=True)


def _instructions(generation: Generation) -> dict[str, list[dict[str, Any]]]:
    """The rows of its own cost file by instruction; none of a file that cannot be read."""
    try:
        costs = load_costs(generation.costs) if generation.costs else {}
    except TrnbenchError:
        return {}
    tables: dict[str, list[dict[str, Any]]] = costs.get("instructions", {})
    return tables


def _disagreements(book: FactBook, generation: Generation) -> Iterator[Finding | str]:
    try:
        findings = check(book, assemblies(generation))
    except TrnbenchError as error:
        yield Finding(f"generation {generation.name}", error.sentence, error.try_)
        return
    for each in findings.unnamed:
        claims = " against ".join(f"{claim.text} ({claim.source})" for claim in each.claims)
        yield Finding(
            f"{each.subject} {each.named}",
            f"documents disagree by rule {each.rule!r}: {claims}",
            f'correct the fact, or name it: [[disputes]] with rule = "{each.rule}"',
        )


def _counts(subject: Subject, generation: Generation, book: FactBook) -> Iterator[Finding]:
    """Without these a system silently has one device of one core."""
    for system in subject.systems:
        if system.generation is not generation:
            continue
        instance = system.instance
        needed = [(instance.device, "core_count")]
        needed.append((instance.parent if instance.sizable else instance.name, "device_count"))
        if instance.scope is not Scope.INSTANCE and not instance.sizable:
            needed.append((instance.name, "host_count"))
        for owner, metric in needed:
            if book.value(owner, metric) is None:
                yield Finding(
                    instance.name,
                    f"no fact gives {metric} of {owner}",
                    f'add {{ metric = "{metric}", … }} for subject "{owner}"',
                )


FAR = 30.0
"""A device's memory within so many times of other generations' is believed: they span a factor of 6."""


def _memories(subject: Subject, generation: Generation, book: FactBook) -> Iterator[Finding]:
    """Device memory against on-chip memory and other generations: levels that agree can be wrong alike."""
    if generation.identify:
        return  # figures of the machine in front of us, whatever it is
    for device, core in dict.fromkeys((instance.device, instance.core) for instance in generation.instances):
        for metric in ("hbm_capacity", "hbm_bandwidth"):
            own = _figure(book, device, metric)
            if own is None:
                continue
            about = f"{device} {metric}"
            if metric == "hbm_capacity" and (chip := _on_chip(book, device, core)) and own[0] <= chip[0]:
                yield _implausible(about, f"{own[1]}, no more than the on-chip memory: {chip[1]}")
            others = _others(subject, generation, metric)
            if not others:
                continue
            low, high = min(others), max(others)
            near = low if own[0] < low[0] else high
            if not low[0] / FAR <= own[0] <= high[0] * FAR:
                ratio = max(own[0] / near[0], near[0] / own[0])
                yield _implausible(about, f"{own[1]}, {ratio:,.0f} times off the nearest: {near[1]}")


def _implausible(about: str, problem: str) -> Finding:
    return Finding(about, f"is implausible: {problem}", "look at the unit of the figure, on every level")


def _figure(book: FactBook, subject: str, metric: str) -> tuple[float, str] | None:
    """The current figure, and how its document prints it."""
    facts = [each for each in book.select(subject, metric, qualifier="") if each.value]
    fact = next((each for each in facts if not each.superseded_by), None)
    if fact is None or fact.value is None:
        return None
    return fact.value, f"{fact.printed} {fact.printed_unit} of {subject} ({fact.source})"


def _on_chip(book: FactBook, device: str, core: str) -> tuple[float, str] | None:
    """The state buffers of all cores."""
    of_core, cores = _figure(book, core, "sbuf_capacity"), book.value(device, "core_count")
    if of_core is None or cores is None:
        return _figure(book, device, "sbuf_capacity")
    return of_core[0] * cores, f"{cores:,.0f} cores × {of_core[1]}"


def _others(subject: Subject, generation: Generation, metric: str) -> list[tuple[float, str]]:
    """The figures of other generations' devices; those read off a machine are left aside."""
    figures = []
    for other in subject.registry.generations.values():
        if other.name == generation.name or other.identify:
            continue
        try:
            book = subject.registry.book(other.name)
        except TrnbenchError:
            continue
        devices = dict.fromkeys(instance.device for instance in other.instances)
        figures += [found for device in devices if (found := _figure(book, device, metric))]
    return figures


MEMORIES = ("hbm", "sbuf", "psum", "host")
"""Of which a footprint speaks; on-chip ones are those with a metric of their own, `…_capacity`."""

ASKS = ("dtype", "instruction", "link", "hosts", "devices", "cores", "ranks", "memory", "feature")

COUNTED = ("hosts", "devices", "cores", "ranks")
"""Of which so many are needed."""


def kernels(subject: Subject) -> Iterator[Finding | str]:
    """Each kernel at the first and the last value of its axes."""
    for kernel in subject.kernels:
        for point in corners(kernel):
            yield f"{kernel.name} {dict(point)}"
            inner = ",".join(f"{name}={value}" for name, value in point.items())
            about = f"kernel {kernel.name}[{inner}]"
            try:
                yield from _point(about, kernel, point)
            except Exception as error:  # a formula of the plugin's
                yield Finding(about, described(error), "")
        yield from _units(kernel)
        yield from _statements(subject, kernel)


def _units(kernel: Kernel) -> Iterator[Finding]:
    """Numbers are kept in base units: by another one, every number would be off by a power of ten."""
    for primary in dict.fromkeys((kernel.primary, *kernel.primary_at.values())):
        if primary.peak and primary.peak not in METRICS:
            problem = f"is held against {primary.peak!r}, which is no metric: {near(primary.peak, METRICS)}"
            yield Finding(f"kernel {kernel.name}", problem, 'peak="" where no document gives a figure')
        unit = unit_of(primary.count)
        if unit and primary.unit != unit:
            told = f"what it counts in {primary.count!r}, per second," if primary.count else "its time"
            yield Finding(
                f"kernel {kernel.name}",
                f"its primary metric {primary.name} is in {primary.unit!r}; {told} is in {unit!r}",
                f'unit="{unit}": pages and tables find the prefix themselves',
            )


def _statements(subject: Subject, kernel: Kernel) -> Iterator[Finding]:
    """What it puts to the test stands in a source that some generation knows."""
    if not kernel.tests:
        return
    registry = subject.registry
    own = {generation.name for generation in subject.generations}
    names = [name for name in registry.generations if name in own or registry.reads(name)]
    cited = {source for name in names for source in registry.book(name).sources}
    for test in kernel.tests:
        if test.source not in cited:
            yield Finding(
                f"kernel {kernel.name}",
                f"tests what source {test.source!r} says, which no fact file describes",
                f"[sources.{test.source}] with its document, version and date in a file of facts",
            )


def corners(kernel: Kernel) -> Iterator[Point]:
    """All axes at their first value, then all at their last, where the kernel calls that valid."""
    for index in (0, -1):
        point = {axis.name: axis.values[index] for axis in kernel.axes}
        if not kernel.valid(point):
            yield point


def _point(about: str, kernel: Kernel, point: Point) -> Iterator[Finding]:
    scope = kernel.scopes[0]
    extent = (
        Extent(scope=scope, cores=16, devices=8, hosts=4, ranks=8)
        if scope.rank > Scope.CORE.rank
        else Extent(scope=scope)
    )
    work = kernel.work(point, extent)
    if not isinstance(work, Work):
        yield Finding(about, f"work returns {type(work).__name__}, no Work", "return trnbench.Work(...)")
        return
    counts = work.as_counts()
    for name, value in counts.items():
        if not 0 <= value < math.inf:
            yield Finding(
                about, f"work counts {name} = {value}", "count FLOP and bytes with finite numbers >= 0"
            )
    if kernel.primary.count and not counts.get(kernel.primary.count):
        yield Finding(
            about,
            f"is judged by {kernel.primary.count!r}, which its work does not count: "
            f"{', '.join(sorted(counts)) or 'nothing'}",
            "name in primary.count an entry of Work.as_counts()",
        )
    if counts and not work.formula:
        yield Finding(
            about, "its counts have no formula", "say in Work.formula how they follow from the axes"
        )
    if kernel.work(point, extent) != work:
        yield Finding(about, "work counts something else the second time", "use nothing but point and extent")
    for level, size in kernel.footprint(point, extent).items():
        if not 0 <= size < math.inf:
            yield Finding(about, f"needs {size} bytes of {level}", "footprint gives finite numbers >= 0")
        if level != "host" and f"{level}_capacity" not in METRICS:
            yield Finding(
                about,
                f"needs memory {level!r}, of which no fact gives a size",
                f"write {', '.join(MEMORIES)}",
            )
    for need in kernel.requires(point):
        kind, _, name = need.partition(":")
        if kind not in ASKS or not name or (kind in COUNTED and not re.fullmatch("[1-9][0-9]{0,8}", name)):
            yield Finding(
                about,
                f"requires {need!r}, which nothing answers",
                f"write KIND:NAME, KIND one of {', '.join(ASKS)}; a number for {', '.join(COUNTED)}",
            )


def topologies(subject: Subject) -> Iterator[Finding | str]:
    """What `trnbench topology check` checks, and that each figure has an origin."""
    for system in subject.systems:
        yield system.name
        try:
            topology = system.topology()
            again = system.topology()
        except TrnbenchError as error:
            yield Finding(system.name, error.sentence, error.try_)
            continue
        if topology != again:
            yield Finding(
                system.name, "is another graph the second time", "build nodes and links in a fixed order"
            )
        yield from _documented(system, topology)
        yield from _origins(system, topology)
        yield from _budgets(system, topology)


def _documented(system: System, topology: Topology) -> Iterator[Finding]:
    instance = system.instance
    parent = instance.parent if instance.sizable else ""
    expected = expected_of(system.book, instance.name, instance.device, parent=parent, size=system.size)
    for verdict in check_topology(topology, expected):
        if verdict.verdict is Verdict.FAILED:
            yield Finding(
                system.name, f"{verdict.name}: {verdict.detail}", f"trnbench topology check {system.name}"
            )


def _origins(system: System, topology: Topology) -> Iterator[Finding]:
    facts = {fact.id for fact in system.book.facts}
    for link_class in topology.classes.values():
        about = f"{system.name}, links {link_class.name}"
        for what, figure in (("bandwidth", link_class.bandwidth), ("latency", link_class.latency)):
            if not 0 <= figure.value < math.inf:
                yield Finding(about, f"{what} is {figure.value}", "give a plain number")
            for origin in figure.origin.split(" + "):
                origins = system.book.assumptions if figure.assumed else facts
                if origin not in facts and origin not in system.book.assumptions:
                    kind = "assumption" if figure.assumed else "fact"
                    yield Finding(
                        about,
                        f"{what} stands on {origin!r}, which is no {kind} of the book ({len(origins)} known)",
                        "take Figure.origin from Fact.id or Assumption.id",
                    )
            # A sum of several origins has the ranges of its parts.
            if figure.origin in system.book.assumptions and (figure.low is None or figure.high is None):
                yield Finding(
                    about, f"{what} is assumed without a range", "give low and high, as the assumption does"
                )


def _budgets(system: System, topology: Topology) -> Iterator[Finding]:
    """Where a document gives a device's NeuronLink figure, something has to be held against it."""
    used = {link.cls for link in topology.links}
    covered = {name for budget in topology.budgets for name in budget.classes}
    for link_class in topology.classes.values():
        joins = link_class.kind in (LinkKind.NEURONLINK, LinkKind.SWITCH)
        if joins and link_class.name in used - covered:
            yield Finding(
                f"{system.name}, links {link_class.name}",
                "no Budget says what they add up to",
                "add a trnbench.topology.graph.Budget with the device's documented figure",
            )
