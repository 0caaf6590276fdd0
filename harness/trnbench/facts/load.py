"""Fact and cost files: TOML in, checked values out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from trnbench.facts.book import FactBook
from trnbench.facts.entry import FACT_KEYS, merge, read_assumption, read_fact
from trnbench.facts.fact import Dispute, Fact, Source
from trnbench.facts.metric import METRICS
from trnbench.facts.rulebook import RULES
from trnbench.facts.table import Place, near, read_toml

SCHEMA = 1
# History: 1 first version.

_TOP = {
    "schema": int,
    "override": bool,
    "sources": dict,
    "group": list,
    "assumptions": list,
    "disputes": list,
}
_SOURCE = {"document": str, "version": str, "date": str, "path": str, "seed": bool, "note": str}
_DISPUTE = {
    "id": str,
    "topic": str,
    "values": list,
    "sources": list,
    "subjects": list,
    "rule": str,
    "metric": str,
    "note": str,
}


def load_book(paths: Iterable[Path]) -> FactBook:
    """The facts of all files as one book, in the order of the files.

    A file that states `override = true` is someone's own: its facts, and its assumptions, come
    first and replace those of the same id.

    Raises `MissingFile`, `BadInput` (no TOML) and `FactError` or `UnitError`, each naming file,
    entry, key and cause.
    """
    documents = []
    sources: dict[str, Source] = {}
    for path in map(Path, paths):
        document, place = read_toml(path), Place(path)
        _check_top(place, document)
        documents.append((place, document))
        for identifier, source in _sources(place, document):
            if sources.get(identifier, source) != source:
                raise place.at(f"[sources.{identifier}]").error(
                    "this id names another source in another file"
                )
            sources[identifier] = source
    own, common = _Entries(), _Entries()
    for place, document in documents:
        entries = own if document.get("override") else common
        for where, fact in _facts(place, document, sources):
            entries.add("fact", where, fact.id, fact)
        for where, row in place.tables(document, "assumptions"):
            assumption = read_assumption(where, row)
            entries.add("assumption", where, assumption.id, assumption)
        for where, dispute in _disputes(place, document, sources):
            entries.add("dispute", where, dispute.id, dispute)
    return FactBook(
        sources=sources,
        facts=tuple((own.of("fact") | common.of("fact", but=own)).values()),
        assumptions=own.of("assumption") | common.of("assumption", but=own),
        disputes=tuple((common.of("dispute", but=own) | own.of("dispute")).values()),
    )


class _Entries:
    """What files of one standing hold; an id stands once."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, Any]] = {}
        self._places: dict[tuple[str, str], Place] = {}

    def add(self, kind: str, place: Place, identifier: str, value: Any) -> None:
        first = self._places.setdefault((kind, identifier), place)
        if first is not place:
            parts = (
                'part = "prose" where one document prints it in two places, a qualifier where two '
                "things are meant; " * (kind == "fact")
            )
            raise place.error(
                f"the same {kind} twice: {identifier}",
                cause=f"it is also {first.entry} of {first.file.name}",
                try_=f"{parts}override = true at the top of a file of one's own that replaces it",
            )
        self._kept.setdefault(kind, {})[identifier] = value

    def of(self, kind: str, but: _Entries | None = None) -> dict[str, Any]:
        taken = but.of(kind) if but is not None else {}
        return {key: value for key, value in self._kept.get(kind, {}).items() if key not in taken}


def load_costs(path: Path) -> dict[str, Any]:
    """A cost table as it stands in the file.

    Raises `MissingFile`, `BadInput` (no TOML, NaN), `FactError` for an unknown schema, or a number
    below zero or beyond all costs anywhere in it.
    """
    document, place = read_toml(Path(path)), Place(Path(path))
    if "schema" in document:
        _check_schema(place, document)
    place.numbers(document)
    return document


def _check_top(place: Place, document: Mapping[str, Any]) -> None:
    for key in document:
        if key not in _TOP:
            raise place.error(f"unknown table {key!r}", cause=near(key, _TOP))
    _check_schema(place, document)
    for key in ("sources", "override"):
        if key in document:
            place.check({key: document[key]}, {key: _TOP[key]})


def _check_schema(place: Place, document: Mapping[str, Any]) -> None:
    schema = document.get("schema")
    if schema is None:
        raise place.error("the schema is not stated", try_=f"schema = {SCHEMA} as the first line")
    if schema != SCHEMA or isinstance(schema, bool):
        raise place.error(
            f"schema {schema!r} is not known here",
            cause=f"this version reads schema {SCHEMA}",
            try_="a newer trnbench, if a newer one wrote the file",
        )


def _sources(place: Place, document: Mapping[str, Any]) -> Iterable[tuple[str, Source]]:
    for identifier, row in document.get("sources", {}).items():
        where = place.at(f"[sources.{identifier}]")
        where.check(where.table(row), _SOURCE, ("document",))
        yield identifier, Source(id=identifier, **row)


def _facts(
    place: Place, document: Mapping[str, Any], known: Mapping[str, Source]
) -> Iterable[tuple[Place, Fact]]:
    for where, group in place.tables(document, "group"):
        shared = {key: value for key, value in group.items() if key != "facts"}
        for key in shared:
            if key not in FACT_KEYS:
                raise where.error(f"unknown key {key!r}", cause=near(key, (*FACT_KEYS, "facts")))
        where.check(shared, FACT_KEYS)
        rows = group.get("facts")
        if not isinstance(rows, list) or not rows:
            raise where.error(
                "a group without a list of facts", try_="facts = [ {metric = …, printed = …}, … ]"
            )
        for number, row in enumerate(rows, 1):
            entry = where.at(f"fact {number}")
            fact = read_fact(entry, merge(shared, entry.table(row)))
            _check_source(entry, "source", fact.source, known)
            if fact.superseded_by:
                _check_source(entry, "superseded_by", fact.superseded_by, known)
            yield entry, fact


def _disputes(
    place: Place, document: Mapping[str, Any], known: Mapping[str, Source]
) -> Iterable[tuple[Place, Dispute]]:
    for where, row in place.tables(document, "disputes"):
        where.check(row, _DISPUTE, ("id", "topic", "values", "sources"))
        for source in row["sources"]:
            _check_source(where, "sources", source, known)
        for rule in row.get("rule", "").split(","):
            if rule.strip():
                where.word({"rule": rule.strip()}, "rule", RULES)
        if row.get("metric"):
            where.word(row, "metric", METRICS)
        lists: dict[str, Any] = {
            key: tuple(row[key]) for key in ("values", "sources", "subjects") if key in row
        }
        yield where, Dispute(**(row | lists))


def _check_source(place: Place, key: str, source: str, known: Mapping[str, Source]) -> None:
    if source not in known:
        raise place.error(
            f"{key!r} names the unknown source {source!r}",
            cause=near(source, known),
            try_=f'[sources.{source}] with document = "…"',
        )
