"""Two or more documents that cannot all be right, with both sources, and the rules that find them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, wraps
from itertools import combinations

from msgspec.structs import replace

from trnbench.facts.fact import Assembly, Direction, Fact, FactBook, Provenance, Scope, marked, show_printed
from trnbench.facts.metric import METRICS
from trnbench.facts.units import parse_unit, read_number
from trnbench.record import Record

WIDEST = Fraction(1, 20)
"""Printed digits excuse half of the last one, and never more than 5 %."""

INHERITED = Fraction(1, 100)
"""A derived figure carries the rounding of what it was derived from: 1 %."""


class Claim(Record, kw_only=True):
    """What one document says, or what follows from it: "16 × 190 TFLOPS".

    `low` to `high` in the base unit is what the printed digits can stand for. For words, `text` only.
    """

    text: str
    fact: str  # Fact.id
    source: str
    locator: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    limit: str = ""
    direction: Direction = Direction.NONE
    superseded_by: str = ""
    computed: bool = False  # follows from what the document prints, by a count or a sum

    def agrees(self, other: Claim) -> bool:
        """Whether both can be right: their intervals overlap, or a bound allows the other's value."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return same_words(self.text, other.text)
        stated = {self.direction, other.direction}
        if stated == {Direction.ONE_WAY, Direction.BOTH_WAYS}:
            return True  # not the same quantity: nothing to disagree about
        if self.value == other.value:
            return True
        if self.limit != other.limit:
            return _within(self, other) and _within(other, self)  # counts have no slack: equal above
        return max(self.low, other.low) < min(self.high, other.high)

    def times(self, count: float, words: str) -> Claim:
        """The claim `count` times over, its text saying so."""
        return replace(
            self,
            text=f"{words} × {self.text}" if count != 1.0 else self.text,
            value=(self.value or 0.0) * count,
            low=(self.low or 0.0) * count,
            high=(self.high or 0.0) * count,
            computed=self.computed or count != 1.0,
        )


class Disagreement(Record, kw_only=True):
    """`ratio` is the largest value over the smallest, None for words.

    `disputes` name it; `strangers` are claims that none of those disputes mentions.
    """

    rule: str
    subject: str
    metric: str
    claims: tuple[Claim, ...]
    ratio: float | None = None
    dtypes: tuple[str, ...] = ()
    sparse: bool = False
    qualifier: str = ""
    note: str = ""
    disputes: tuple[str, ...] = ()
    strangers: tuple[str, ...] = ()

    @property
    def named(self) -> str:
        """metric[dtypes,sparse,qualifier]"""
        return marked(self.metric, self.dtypes, self.sparse, self.qualifier)


@lru_cache(maxsize=4096)
def claim(fact: Fact) -> Claim:
    """What `fact` claims, with the interval its printed digits allow."""
    base = Claim(
        text=show_printed(fact),
        fact=fact.id,
        source=fact.source,
        locator=fact.locator,
        limit=fact.limit,
        direction=fact.direction,
        superseded_by=fact.superseded_by,
    )
    if fact.value is None:
        return base
    number, factor = read_number(fact.printed), parse_unit(fact.printed_unit).factor
    widest = number.value * (INHERITED if fact.provenance is Provenance.DERIVED else WIDEST)
    slack = number.high - number.value
    if fact.provenance is Provenance.DERIVED:
        slack = max(slack, widest)
    elif METRICS[fact.metric].dimension == "count":
        slack = Fraction(0)  # counts are exact
    slack = min(slack, widest)
    return replace(
        base,
        value=fact.value,
        low=float((number.value - slack) * factor),
        high=float((number.value + slack) * factor),
    )


def disagreement(rule: str, fact: Fact, claims: Iterable[Claim], note: str = "") -> Disagreement:
    """Of `rule`, about what `fact` speaks of."""
    listed = tuple(dict.fromkeys(claims))
    values = [claimed.value for claimed in listed if claimed.value]
    return Disagreement(
        rule=rule,
        subject=fact.subject,
        metric=fact.metric,
        dtypes=fact.dtypes,
        sparse=fact.sparse,
        qualifier=fact.qualifier,
        claims=listed,
        ratio=max(values) / min(values) if len(values) > 1 else None,
        note=note,
    )


def same_words(one: str, other: str) -> bool:
    """Equal but for case and punctuation, or one more explicit than the other."""
    a, b = (
        " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split()) for text in (one, other)
    )
    return a == b or f" {a} " in f" {b} " or f" {b} " in f" {a} "


def _within(bound: Claim, other: Claim) -> bool:
    """Whether a "up to" or "over" leaves room for the other value."""
    low, high = other.low or 0.0, other.high or 0.0
    if bound.limit == "up-to":
        return low < (bound.high or 0.0)
    if bound.limit == "over":
        return high > (bound.low or 0.0)
    return True


RULES: dict[str, str] = {
    "value": "documents print different values for one thing",
    "count": "documents count one thing differently",
    "prose": "one document prints two values for one thing, in table and text",
    "unit-base": "the same digits with a decimal unit in one document and a binary one in another",
    "rounded": "values agree only because one document prints few digits: more than 1 % apart",
    "words": "documents call one thing by different names",
    "per-device": "an instance table's figure per device is not that of the device's own page",
    "devices-sum": "the figure of a system is not its devices times the device's figure",
    "cores-sum": "the figure of a device is not its cores times the core's figure",
    "hosts-sum": "the figure of an UltraServer is not its instances times the instance's figure",
    "link-sum": "the levels or neighbours of the links do not add up to the printed total",
    "product": "a total is not the number of units times the figure of one",
    "clock": "a printed peak is not rows × columns × 2 × clock × cores",
}


Test = Callable[[Fact, Fact, Claim, Claim], bool]
Rule = Callable[[FactBook, Sequence[Assembly]], list[Disagreement]]


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
            yield replace(members[0], dtypes=dtypes), members


def by_pairs(note: str = "") -> Callable[[Test], Rule]:
    """The rule that a test of two facts makes: one disagreement for each group with a pair that differs,
    naming all facts of such pairs."""

    def decorator(differs: Test) -> Rule:
        @wraps(differs)
        def rule(book: FactBook, _: Sequence[Assembly]) -> list[Disagreement]:
            disagreements = []
            for about, members in same_thing(book.facts):
                claims = {fact.id: claim(fact) for fact in members}
                odd: list[Claim] = []
                for one, other in combinations(members, 2):
                    if differs(one, other, claims[one.id], claims[other.id]):
                        odd += [claims[one.id], claims[other.id]]
                if odd:
                    name = differs.__name__.replace("_", "-")
                    disagreements.append(disagreement(name, about, odd, note))
            return merge_dtypes(disagreements)

        return rule

    return decorator


def merge_dtypes(found: Sequence[Disagreement]) -> list[Disagreement]:
    """Findings that differ in nothing but the data type are one finding about several."""
    merged: dict[tuple[object, ...], Disagreement] = {}
    for each in found:
        key = (each.rule, each.subject, each.metric, each.sparse, each.qualifier, each.claims, each.note)
        earlier = merged.get(key)
        dtypes = each.dtypes if earlier is None else (*earlier.dtypes, *each.dtypes)
        merged[key] = replace(each, dtypes=tuple(dict.fromkeys(dtypes)))
    return list(merged.values())


def counted(fact: Fact) -> bool:
    return METRICS[fact.metric].dimension == "count"
