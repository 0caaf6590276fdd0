"""Facts load, every number has its source, and no disagreement goes unnamed."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench.errors import TrnbenchError
from trnbench.facts.assembly import Assembly
from trnbench.facts.book import FactBook
from trnbench.facts.check import check
from trnbench.facts.scope import Scope
from trnbench.generation import Generation
from trnbench.testing.finding import Finding
from trnbench.testing.subject import Subject


def facts(subject: Subject) -> Iterator[Finding | str]:
    """Sources, counts, and the rules of `trnbench spec check`; units and ranges are held by loading."""
    for generation in subject.generations:
        try:
            book = subject.registry.book(generation.name)
            subject.registry.costs(generation.name)
        except TrnbenchError as error:
            yield Finding(f"generation {generation.name}", f"{error.what}: {error.cause}", error.try_)
            continue
        for fact in book.facts:
            yield fact.id
        yield from _sources(book)
        yield from _disagreements(book, generation)
        yield from _counts(subject, generation, book)


def _sources(book: FactBook) -> Iterator[Finding]:
    used = {fact.source for fact in book.facts}
    for source in book.sources.values():
        if source.id in used and not source.version and not source.date:
            yield Finding(
                f"source {source.id}",
                "has neither version nor date",
                'version = "undated" where the document has none',
            )


def _disagreements(book: FactBook, generation: Generation) -> Iterator[Finding | str]:
    assemblies = [
        Assembly(subject=each.name, scope=each.scope, device=each.device, core=each.core, parent=each.parent)
        for each in generation.instances
    ]
    try:
        found = check(book, assemblies)
    except TrnbenchError as error:
        yield Finding(f"generation {generation.name}", f"{error.what}: {error.cause}", error.try_)
        return
    for each in found.unnamed:
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
