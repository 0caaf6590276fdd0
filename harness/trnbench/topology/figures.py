"""Link figures out of a fact book: every number keeps its origin and the arithmetic done to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trnbench.errors import TopologyError
from trnbench.facts.book import FactBook
from trnbench.facts.fact import Assumption, Fact
from trnbench.facts.scope import Direction, Scope
from trnbench.topology.graph import Figure

ONE_WAY = "one-way"
BOTH_WAYS = "both-ways"

DIRECTION_REASON = {
    ONE_WAY: (
        "NeuronLink figures are read as bytes per second in one direction, the other direction has as"
        " much again: no document says which is meant, but the page on Trn3 gives 256 GB/s to four PCIe"
        " Gen6 x8 links, and 64 GB/s is the raw rate of such a link in one direction"
    ),
    BOTH_WAYS: (
        "NeuronLink figures are read as the sum of both directions, so each direction has half: no"
        " document says which is meant"
    ),
}


def check_direction(reading: str) -> str:
    """`reading` itself. Raises `TopologyError` unless it is "one-way" or "both-ways"."""
    if reading not in DIRECTION_REASON:
        raise TopologyError(
            f"neuronlink_direction {reading!r} is no reading of a link figure",
            cause=f"it is {ONE_WAY} or {BOTH_WAYS}",
            try_=f"--neuronlink-direction {ONE_WAY}",
        )
    return reading


class Figures:
    """Looks numbers up for `subjects`, the most specific first: instance, its parent, the device."""

    def __init__(self, book: FactBook, subjects: Iterable[str]) -> None:
        self.book = book
        self.subjects = tuple(dict.fromkeys(each for each in subjects if each))

    def fact(
        self, metric: str, qualifiers: Sequence[str] = ("",), *, scope: Scope | None = None
    ) -> Fact | None:
        """The best current number: exact before "up to", then the first of the book.

        One's own facts stand first in a book, then the seed documents.
        """
        for subject in self.subjects:
            for qualifier in qualifiers:
                facts = [
                    fact
                    for fact in self.book.select(subject, metric, qualifier=qualifier, scope=scope)
                    if fact.value is not None
                ]
                if facts:
                    return min(facts, key=lambda fact: (bool(fact.superseded_by), bool(fact.limit)))
        return None

    def current(self, subject: str, metric: str, qualifiers: Sequence[str] = ("",)) -> list[Fact]:
        """Every exact number of today's documents, and of those among the seed that none replaced."""
        return [
            fact
            for qualifier in qualifiers
            for fact in self.book.select(subject, metric, qualifier=qualifier)
            if fact.value is not None and not fact.superseded_by and not fact.limit
        ]

    def assumption(self, metric: str, *ids: str) -> Assumption | None:
        """A named assumption: by id, else the first for this metric and one of the subjects."""
        for name in ids:
            for known, found in self.book.assumptions.items():
                if known == name and found.metric == metric and found.subject in (*self.subjects, ""):
                    return found
        if ids:
            return None
        for subject in (*self.subjects, ""):
            for found in self.book.assumptions.values():
                if found.metric == metric and found.subject == subject:
                    return found
        return None

    def require(
        self,
        metric: str,
        purpose: str,
        *,
        qualifiers: Sequence[str] = ("",),
        scope: Scope | None = None,
        assumptions: Sequence[str] = (),
        divide: float = 1.0,
        by: str = "",
    ) -> Figure:
        """A figure for `purpose`: a fact, else one of the named assumptions, divided by `divide`.

        `by` names the divisor in the formula ("4 neighbours"). Raises `TopologyError` with the metric,
        the subject and what to add when neither is known.
        """
        fact = self.fact(metric, qualifiers, scope=scope)
        if fact is not None:
            return of_fact(fact, divide=divide, by=by)
        found = self.assumption(metric, *assumptions) if assumptions else None
        if found is not None:
            return of_assumption(found, divide=divide, by=by)
        raise self.missing(metric, purpose, qualifiers)

    def count(self, metric: str, purpose: str) -> int:
        """A whole number; raises `TopologyError` when no document gives it."""
        fact = self.fact(metric)
        if fact is None or fact.value is None:
            raise self.missing(metric, purpose, ("",))
        return round(fact.value)

    def missing(self, metric: str, purpose: str, qualifiers: Sequence[str]) -> TopologyError:
        wanted = f", qualifier {qualifiers[0]!r}" if qualifiers and qualifiers[0] else ""
        return TopologyError(
            f"{self.subjects[0]}: no {metric} for {purpose}",
            cause=f"neither a fact nor an assumption has metric {metric!r}{wanted} for subject "
            + " or ".join(map(repr, self.subjects)),
            try_=f"add it for {self.subjects[0]!r} to a fact file and pass that with --facts FILE.toml",
        )


def of_fact(fact: Fact, *, divide: float = 1.0, by: str = "") -> Figure:
    """The fact's value divided by `divide`; the formula shows the printed number."""
    assert fact.value is not None
    return Figure(value=fact.value / divide, origin=fact.id, formula=_formula(fact, divide, by))


def of_assumption(found: Assumption, *, divide: float = 1.0, by: str = "") -> Figure:
    return Figure(
        value=found.value / divide,
        origin=found.id,
        formula=_formula(found, divide, by),
        assumed=True,
        low=found.low / divide,
        high=found.high / divide,
    )


def _formula(found: Fact | Assumption, divide: float, by: str) -> str:
    printed = f"{found.printed} {found.printed_unit}".strip()
    if divide == 1.0 and not by:
        return printed
    return f"{printed} / {by or f'{divide:g}'}"


def per_direction(figure: Figure, reading: str) -> Figure:
    """The share of one direction, in the reading chosen."""
    if check_direction(reading) == ONE_WAY:
        return figure
    return scaled(figure, 0.5, " / 2 directions")


def in_one_direction(fact: Fact, reading: str) -> Figure:
    """What the fact gives one direction: as its document states, else in the reading chosen."""
    stated = fact.direction in (Direction.ONE_WAY, Direction.BOTH_WAYS)
    return per_direction(of_fact(fact), fact.direction.value if stated else reading)


def scaled(figure: Figure, factor: float, text: str, **changes: object) -> Figure:
    """`figure` times `factor`; `text` is appended to its formula."""
    fields: dict[str, object] = {
        "value": figure.value * factor,
        "origin": figure.origin,
        "formula": figure.formula + text,
        "assumed": figure.assumed,
        "low": None if figure.low is None else figure.low * factor,
        "high": None if figure.high is None else figure.high * factor,
        **changes,
    }
    return Figure(**fields)  # type: ignore[arg-type]


def total(figures: Sequence[Figure]) -> Figure:
    """The sum; its origin names every part."""
    return Figure(
        value=sum(each.value for each in figures),
        origin=" + ".join(dict.fromkeys(each.origin for each in figures)),
        formula=" + ".join(each.formula for each in figures),
        assumed=any(each.assumed for each in figures),
    )
