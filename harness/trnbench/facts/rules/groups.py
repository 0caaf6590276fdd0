"""Facts that speak of one thing, data type by data type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations

import msgspec

from trnbench.facts.disagreement import Claim, Disagreement, claim, disagreement
from trnbench.facts.fact import Fact
from trnbench.facts.metric import METRICS
from trnbench.facts.scope import Scope

Test = Callable[[Fact, Fact, Claim, Claim], bool]


def same_thing(facts: Iterable[Fact]) -> Iterator[tuple[Fact, list[Fact]]]:
    """(what it is, facts) of one subject, metric, scope, data type, sparsity and qualifier."""
    groups: dict[tuple[str, str, Scope, str, bool, str], list[Fact]] = {}
    for fact in facts:
        if fact.value is None:
            continue
        for dtype in fact.dtypes or ("",):
            key = (fact.subject, fact.metric, fact.scope, dtype, fact.sparse, fact.qualifier)
            groups.setdefault(key, []).append(fact)
    for key, members in groups.items():
        if len(members) > 1:
            dtypes = (key[3],) if key[3] else ()
            yield msgspec.structs.replace(members[0], dtypes=dtypes), members


def by_pairs(rule: str, facts: Iterable[Fact], differs: Test, note: str = "") -> list[Disagreement]:
    """One disagreement for each group with a pair that `differs`, naming all facts of such pairs."""
    disagreements = []
    for what, members in same_thing(facts):
        claims = {fact.id: claim(fact) for fact in members}
        odd: list[Claim] = []
        for one, other in combinations(members, 2):
            if one.id != other.id and differs(one, other, claims[one.id], claims[other.id]):
                odd += [claims[one.id], claims[other.id]]
        if odd:
            disagreements.append(disagreement(rule, what, odd, note))
    return merge_dtypes(disagreements)


def merge_dtypes(found: Sequence[Disagreement]) -> list[Disagreement]:
    """Findings that differ in nothing but the data type are one finding about several."""
    merged: dict[tuple[object, ...], Disagreement] = {}
    for each in found:
        key = (each.rule, each.subject, each.metric, each.sparse, each.qualifier, each.claims, each.note)
        known = merged.get(key)
        dtypes = each.dtypes if known is None else (*known.dtypes, *each.dtypes)
        merged[key] = msgspec.structs.replace(each, dtypes=tuple(dict.fromkeys(dtypes)))
    return list(merged.values())


def counted(fact: Fact) -> bool:
    return METRICS[fact.metric].dimension == "count"
