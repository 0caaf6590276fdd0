"""All facts of one generation, and how to ask for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import msgspec

from trnbench.brief import brief, counted, listed
from trnbench.facts.fact import Assumption, Dispute, Fact, Source
from trnbench.facts.scope import Scope


class FactBook(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """Facts, their sources, assumptions and known disputes. Serialised whole into every run."""

    sources: dict[str, Source] = {}
    facts: tuple[Fact, ...] = ()
    assumptions: dict[str, Assumption] = {}
    disputes: tuple[Dispute, ...] = ()

    def __repr__(self) -> str:
        counts = ((self.facts, "fact"), (self.sources, "source"), (self.assumptions, "assumption"))
        told = [*(counted(len(each), noun) for each, noun in counts), counted(len(self.disputes), "dispute")]
        subjects = listed(dict.fromkeys(fact.subject for fact in self.facts), "subject")
        return brief(self, f"of {subjects or 'nothing'}: {', '.join(told)}")

    def select(
        self,
        subject: str | None = None,
        metric: str | None = None,
        *,
        dtype: str | None = None,
        sparse: bool | None = None,
        scope: Scope | None = None,
        qualifier: str | None = None,
        source: str | None = None,
    ) -> Iterator[Fact]:
        """Facts that match every given criterion, in file order."""
        for fact in self._facts_of(subject, metric):
            if dtype is not None and fact.dtypes and dtype not in fact.dtypes:
                continue
            if dtype is not None and not fact.dtypes and metric == "peak_flops":
                continue
            if sparse is not None and fact.sparse != sparse:
                continue
            if scope is not None and fact.scope != scope:
                continue
            if qualifier is not None and fact.qualifier != qualifier:
                continue
            if source is not None and fact.source != source:
                continue
            yield fact

    def _facts_of(self, subject: str | None, metric: str | None) -> Sequence[Fact]:
        if subject is None and metric is None:
            return self.facts
        return self._found.get((subject, metric), ())

    @cached_property
    def _found(self) -> dict[tuple[str | None, str | None], list[Fact]]:
        """The facts of a subject and metric, of a subject, and of a metric; each in file order."""
        found: dict[tuple[str | None, str | None], list[Fact]] = {}
        for fact in self.facts:
            for key in ((fact.subject, fact.metric), (fact.subject, None), (None, fact.metric)):
                found.setdefault(key, []).append(fact)
        return found

    def value(self, subject: str, metric: str, **criteria: object) -> float | None:
        """The first current (not superseded) numeric value that matches, else None."""
        if criteria:
            return self._value(subject, metric, **criteria)
        key = (subject, metric)
        if key not in self._values:
            self._values[key] = self._value(subject, metric)
        return self._values[key]

    @cached_property
    def _values(self) -> dict[tuple[str, str], float | None]:
        """What `value` has answered; it is asked for the same ones in every case of a plan."""
        return {}

    def _value(self, subject: str, metric: str, **criteria: object) -> float | None:
        matches = [f for f in self.select(subject, metric, **criteria) if f.value is not None]  # type: ignore[arg-type]
        current = [f for f in matches if not f.superseded_by] or matches
        return current[0].value if current else None

    def merged(self, other: FactBook) -> FactBook:
        """This book with `other`'s entries added; `other` wins where ids of sources coincide."""
        return FactBook(
            sources={**self.sources, **other.sources},
            facts=(*self.facts, *other.facts),
            assumptions={**self.assumptions, **other.assumptions},
            disputes=(*self.disputes, *other.disputes),
        )
