"""The content of a journal: how a run began, its cases, and how it ended."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from trnbench.errors import BadInput, StoreError
from trnbench.record import Record
from trnbench.results.digest import empty_parts
from trnbench.results.json import loads, loads_value
from trnbench.results.measurement import Measurement
from trnbench.results.run import Run
from trnbench.store.compression import SMALL, compressed
from trnbench.store.journal import Chain, Journal, JournalRecord
from trnbench.store.layout import Attached


class Opening(Record, kw_only=True):
    """What a journal says first: all that going on with the run takes, beside the run itself.

    `plan` is the digest of the plan, `sources` that of each file its kernels are written in, `executor`
    who carries out the cases, `facts` the files of the user's own (`--facts`), without the name of the
    home folder, `parts` how many records of parts follow (0 in journals of earlier versions).
    """

    planned: int
    plan: str = ""
    executor: str = "process"
    tags: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    sources: dict[str, str] = {}
    parts: int = 0


class Journaled(NamedTuple):
    """`run` has neither measurements nor what is attached; `finished` is empty while the run is not ended.
    `cases` are the last record of each, by position; their documents are zlib of the measurement's JSON.
    `rounds` are documents of cases that have not all of theirs, by position and round. `ends` says when the
    run ended, before it was taken up again too.
    """

    opening: Opening
    run: Run
    parts: tuple[Attached, ...]
    cases: dict[int, JournalRecord]
    head: bytes
    end: int
    rounds: dict[int, dict[int, bytes]]
    ends: tuple[str, ...] = ()

    def lacks(self, finished: str) -> bool:
        """Whether the store has a later end of the run (its `finished`) than the journal."""
        return finished > max(self.ends, default="")

    @property
    def ended(self) -> bool:
        return bool(self.run.finished)

    @property
    def schema(self) -> int:
        """The version of its documents, before they are brought up to date."""
        return int(self._told("schema_version", 0))

    @property
    def digest(self) -> str:
        """That of its documents as they are, "" where the run is not ended."""
        return str(self._told("digest", ""))

    def _told(self, name: str, otherwise: object) -> Any:
        return loads_value(self.head, dict, "its head").get(name, otherwise)

    def measurements(self, after: int = 0) -> dict[int, Measurement]:
        """Those whose records begin behind a byte of the journal, by position, brought up to date."""
        chosen = {at: case for at, case in sorted(self.cases.items()) if case.end > after}
        return dict(zip(chosen, self._loaded(chosen, ()).measurements, strict=True))

    def begun(self) -> dict[int, dict[int, Measurement]]:
        """The rounds of cases that have not all of theirs, by position; of this version's schema."""
        where = f"the journal of run {self.run.id}"
        return {
            position: {
                number: loads_value(zlib.decompress(document), Measurement, where)
                for number, document in found.items()
            }
            for position, found in self.rounds.items()
        }

    def whole(self) -> Run:
        """The run with all its journal holds; marked as interrupted where it was not ended."""
        run = self._loaded(dict(sorted(self.cases.items())), self.parts)
        missing = self.opening.planned - len(self.cases)
        return run if self.ended else replace(run, interrupted=True, missing=missing, digest="")

    def _loaded(self, cases: dict[int, JournalRecord], parts: tuple[Attached, ...]) -> Run:
        where = f"the journal of run {self.run.id}"
        document: dict[str, Any] = loads_value(self.head, dict, where)
        document |= empty_parts(document)
        for part in parts:
            document[part.kind][part.name] = msgspec.Raw(zlib.decompress(part.content))
        document["measurements"] = [msgspec.Raw(zlib.decompress(case.document)) for case in cases.values()]
        return loads(msgspec.json.encode(document), where)


def begin(journal: Journal, head: bytes, opening: Opening, parts: Sequence[Attached]) -> None:
    """The first records of a new journal. Raises `JournalFull`."""
    opening = replace(opening, parts=len(parts))
    journal.append("begin", msgspec.to_builtins(opening), compressed(head, SMALL))
    for part in parts:
        journal.append("part", {"kind": part.kind, "name": part.name, "sha256": part.sha256}, part.content)


def journaled(chain: Chain, where: str) -> Journaled:
    """What the records of a journal, at least one, say together. `where` names it in errors.

    Raises `StoreError` for records that this version does not write.
    """
    try:
        return _told(chain)
    except (zlib.error, msgspec.ValidationError, LookupError, TypeError, ValueError, BadInput) as error:
        raise StoreError(
            f"{where} cannot be read: {error}",
            cause="another version of trnbench wrote it; it was left as it is",
            try_="open it with the trnbench that wrote it",
        ) from error


def _told(chain: Chain) -> Journaled:
    first = chain.records[0]
    if first.kind != "begin":
        raise LookupError(f"its first record is {first.kind!r}")
    opening = msgspec.convert(first.meta, Opening)
    begun = first.inflated()
    last, cases, parts = begun, {}, []
    ends: list[str] = []
    rounds: dict[int, dict[int, bytes]] = {}
    for record in chain.records[1:]:
        if record.kind == "case":
            position = int(record.meta["position"])
            cases[position] = record
            rounds.pop(position, None)
        elif record.kind == "round":
            rounds.setdefault(int(record.meta["position"]), {})[int(record.meta["round"])] = record.document
        elif record.kind == "part":
            parts.append(_part(record))
        elif record.kind == "end":
            last = record.inflated()
            ends.append(str(loads_value(last, dict, "its end")["finished"]))
        elif record.kind == "resumed":
            last = begun
    run = loads(last, "its head")
    return Journaled(opening, run, tuple(parts), cases, last, chain.end, rounds, tuple(ends))


def _part(record: JournalRecord) -> Attached:
    meta = record.meta
    return Attached(str(meta["kind"]), str(meta["name"]), str(meta["sha256"]), record.document)
