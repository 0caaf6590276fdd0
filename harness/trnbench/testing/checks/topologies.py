"""Topologies: both directions of every cable, one graph, links that add up to documented figures."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench.errors import TrnbenchError
from trnbench.generation import System
from trnbench.testing.finding import Finding
from trnbench.testing.subject import Subject
from trnbench.topology.checks import Verdict, check
from trnbench.topology.expected import expected_of
from trnbench.topology.graph import LinkKind, Topology


def topologies(subject: Subject) -> Iterator[Finding | str]:
    """What `trnbench topology check` checks, and that each figure has an origin."""
    for system in subject.systems:
        yield system.name
        try:
            topology = system.topology()
            again = system.topology()
        except TrnbenchError as error:
            yield Finding(system.name, f"{error.what}: {error.cause}", error.try_)
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
    for each in check(topology, expected):
        if each.verdict is Verdict.FAILED:
            yield Finding(
                system.name, f"{each.name}: {each.detail}", f"trnbench topology check {system.name}"
            )


def _origins(system: System, topology: Topology) -> Iterator[Finding]:
    facts = {fact.id for fact in system.book.facts}
    for link_class in topology.classes.values():
        for what, figure in (("bandwidth", link_class.bandwidth), ("latency", link_class.latency)):
            if not figure.value >= 0 or figure.value == float("inf"):
                yield Finding(
                    f"{system.name}, links {link_class.name}",
                    f"{what} is {figure.value}",
                    "give a plain number",
                )
            for origin in figure.origin.split(" + "):
                known = system.book.assumptions if figure.assumed else facts
                if origin not in facts and origin not in system.book.assumptions:
                    kind = "assumption" if figure.assumed else "fact"
                    yield Finding(
                        f"{system.name}, links {link_class.name}",
                        f"{what} stands on {origin!r}, which is no {kind} of the book ({len(known)} known)",
                        "take Figure.origin from Fact.id or Assumption.id",
                    )
            # A sum of several origins has the ranges of its parts.
            if figure.origin in system.book.assumptions and (figure.low is None or figure.high is None):
                yield Finding(
                    f"{system.name}, links {link_class.name}",
                    f"{what} is assumed without a range",
                    "give low and high, as the assumption does",
                )


def _budgets(system: System, topology: Topology) -> Iterator[Finding]:
    """Where a document gives a device's NeuronLink figure, something has to be held against it."""
    joined = [
        each for each in topology.classes.values() if each.kind in (LinkKind.NEURONLINK, LinkKind.SWITCH)
    ]
    used = {link.cls for link in topology.links}
    covered = {name for budget in topology.budgets for name in budget.classes}
    for each in joined:
        if each.name in used and each.name not in covered:
            yield Finding(
                f"{system.name}, links {each.name}",
                "no Budget says what they add up to",
                "add a trnbench.topology.graph.Budget with the device's documented figure",
            )
