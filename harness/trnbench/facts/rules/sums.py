"""Figures of a whole against those of its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from trnbench.facts.assembly import Assembly
from trnbench.facts.book import FactBook
from trnbench.facts.disagreement import Claim, Disagreement, claim, disagreement
from trnbench.facts.fact import Fact, Provenance
from trnbench.facts.metric import METRICS, MetricKind
from trnbench.facts.rules.groups import merge_dtypes
from trnbench.facts.scope import Scope

_COMPUTED = (Provenance.DERIVED, Provenance.INFERRED)


def devices_sum(book: FactBook, assemblies: Sequence[Assembly]) -> list[Disagreement]:
    """trn1.32xlarge prints 3,360 TFLOPS, and 16 times its device's 190 is 3,040."""
    found: list[Disagreement] = []
    for each in assemblies:
        count = _count(book, each.subject, "device_count")
        if count is not None:
            parts = printed(book, each.device, Scope.DEVICE)
            wholes = printed(book, each.subject, each.scope)
            found += hold("devices-sum", wholes, parts, count, "devices", lambda kind: kind.additive)
    return merge_dtypes(found)


def cores_sum(book: FactBook, assemblies: Sequence[Assembly]) -> list[Disagreement]:
    """trainium2 prints 667 TFLOPS, and 8 times its core's 79 is 632."""
    found: list[Disagreement] = []
    for device, core in dict.fromkeys((each.device, each.core) for each in assemblies):
        count = _count(book, device, "core_count")
        if count is not None:
            parts, wholes = printed(book, core, Scope.CORE), printed(book, device, Scope.DEVICE)
            found += hold("cores-sum", wholes, parts, count, "cores", lambda kind: kind.additive)
    return merge_dtypes(found)


def hosts_sum(book: FactBook, assemblies: Sequence[Assembly]) -> list[Disagreement]:
    """u-trn2x64 prints 3,200 Gbps, and 4 times its instance's 3,200 is 12,800."""
    found: list[Disagreement] = []
    for each in assemblies:
        count = _count(book, each.subject, "host_count") if each.parent else None
        if count is not None:
            parts, wholes = (
                printed(book, each.parent, Scope.INSTANCE),
                printed(book, each.subject, each.scope),
            )
            found += hold("hosts-sum", wholes, parts, count, "instances", lambda kind: kind.by_host)
    return merge_dtypes(found)


def per_device(book: FactBook, assemblies: Sequence[Assembly]) -> list[Disagreement]:
    """The Trn3 table prints 2,048 GiB/s per device, the device's page 2.56 TB/s."""
    found: list[Disagreement] = []
    for each in assemblies:
        parts, wholes = printed(book, each.device, Scope.DEVICE), printed(book, each.subject, Scope.DEVICE)
        found += hold("per-device", wholes, parts, 1.0, "", lambda _: True)
    return merge_dtypes(found)


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
    for whole in wholes:
        if not applies(METRICS[whole.metric]):
            continue
        one = claim(whole)
        for dtype in whole.dtypes or ("",):
            alike = [part for part in parts if _alike(whole, part, dtype)]
            current = [part for part in alike if not part.superseded_by] or alike
            others = [claim(part).times(count, f"{count:,.0f} {noun}") for part in current]
            if not others or any(one.agrees(other) for other in others):
                continue
            about = msgspec.structs.replace(whole, dtypes=(dtype,) if dtype else ())
            key = (whole.metric, dtype, whole.sparse, whole.qualifier)
            odd.setdefault(key, (about, []))[1].extend((one, *others))
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


def _count(book: FactBook, subject: str, metric: str) -> float | None:
    return book.value(subject, metric, qualifier="") or None
