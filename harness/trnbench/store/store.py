"""The result store: runs kept whole, so that they open when the plugins that made them are gone."""

from __future__ import annotations

import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from trnbench.errors import StoreError, TrnbenchError, UnknownName, UsageError
from trnbench.record import Record
from trnbench.results.digest import empty_parts
from trnbench.results.json import dumps_measurement, loads, loads_value
from trnbench.results.measurement import Grade, Status
from trnbench.results.run import CaseMark, Run, chosen, noted, state_of
from trnbench.store.compression import compressed
from trnbench.store.database import NoRuns, StoreFile, no_runs
from trnbench.store.journal import JournalInUse, is_in_use
from trnbench.store.journal_content import Opening
from trnbench.store.layout import (
    Attached,
    attached,
    insert_measurements,
    insert_run,
    insert_tags,
    measurement_row,
)
from trnbench.store.path import damaged
from trnbench.store.tag import LATEST, checked_tags, steps_back, too_far_back

if TYPE_CHECKING:
    import sqlite3

    from trnbench.store.recording import Recording


class Store(StoreFile):
    """Runs in one SQLite file, and what can be asked of them.

    Every method raises `StoreError` when the file cannot be used as asked; nothing that is
    already in it is ever lost by that. Use as a context manager, or call `close`.
    """

    _caught_up = False

    def save(self, *runs: Run, tags: Iterable[str] = ()) -> None:
        """Keep finished runs; all of it or, on an error, none of it."""
        tags = checked_tags(tags)
        kept = []
        for run in runs:
            documents = [dumps_measurement(measurement) for measurement in run.measurements]
            rows = [
                measurement_row(at, each, compressed(document))
                for at, (each, document) in enumerate(zip(run.measurements, documents, strict=True))
            ]
            kept.append((run, attached(run), rows))
        with self.writing() as connection:
            for run, parts, rows in kept:
                number = insert_run(connection, self.path, run, parts, planned=len(rows) + run.missing)
                insert_measurements(connection, number, rows)
                insert_tags(connection, number, tags)

    def record(
        self,
        run: Run,
        *,
        planned: int,
        tags: Iterable[str] = (),
        parts: Iterable[Attached] | None = None,
        **opening: Any,
    ) -> Recording:
        """Begin a run whose measurements arrive one by one; each is safe as soon as it is added.

        `opening` as in `Opening`, `parts` what is attached to the run where the caller has it already.
        A store that is locked or full for now is filled later; one that is none, damaged or closed
        to this user is refused here.
        """
        from trnbench.store.recording import begun

        told = Opening(planned=planned, tags=checked_tags(tags), **opening)
        return begun(self, run, told, attached(run) if parts is None else tuple(parts))

    def delete(self, ids: Sequence[str]) -> None:
        """Remove runs (full ids) with their journals, all or none.

        Raises `UnknownName` for an id that is not there, `JournalInUse` for a run under way.
        """
        with self.writing() as connection:
            for run_id in ids:
                if not connection.execute("DELETE FROM runs WHERE id = ?", (run_id,)).rowcount:
                    raise self._unknown(connection, run_id)
                if is_in_use(self.journal(run_id)):
                    raise JournalInUse(
                        f"run {run_id} is under way",
                        cause="another trnbench is carrying it out",
                        try_="end it first: Ctrl-C there",
                    )
            connection.execute("DELETE FROM documents WHERE sha256 NOT IN (SELECT sha256 FROM attachments)")
            for run_id in ids:  # before the commit: a journal that stays would bring the run back
                self.journal(run_id).unlink(missing_ok=True)
        with self.reading() as connection:
            # `execute` would step once, which frees one page.
            connection.executescript("PRAGMA incremental_vacuum")

    def tag(self, run_id: str, add: Iterable[str] = (), remove: Iterable[str] = ()) -> tuple[str, ...]:
        """Change the tags of a run (full id) and return them sorted."""
        add = checked_tags(add)
        with self.writing() as connection:
            found = connection.execute("SELECT number FROM runs WHERE id = ?", (run_id,)).fetchone()
            if found is None:
                raise self._unknown(connection, run_id)
            (number,) = found
            connection.executemany(
                "DELETE FROM tags WHERE run = ? AND tag = ?", ((number, tag) for tag in remove)
            )
            insert_tags(connection, number, add)
            rows = connection.execute("SELECT tag FROM tags WHERE run = ? ORDER BY tag", (number,))
            return tuple(row[0] for row in rows)

    def load(self, ref: str = LATEST, *, sample: int = 0) -> Run:
        """A run, whole, or a sample of so many of its cases, of which alone is read what stands in them.
        `ref` as for `resolve`. Raises `UnknownName`, `BadInput` for a newer schema."""
        with self.reading() as connection:
            run_id = self.resolve(ref)
            where = f"run {run_id} in {self.path}"
            row = connection.execute(
                "SELECT number, head, finished, interrupted, digest,"
                " planned - (SELECT count(*) FROM measurements WHERE run = number) FROM runs WHERE id = ?",
                (run_id,),
            ).fetchone()
            if row is None:  # found by an index, or in another column, alone
                raise damaged(self.path, f"run {run_id} has no row")
            number, head, finished, interrupted, digest, missing = row
            document: dict[str, Any] = loads_value(head, dict, where)
            # The columns change last, when a run ends; a run that was killed never got so far.
            document |= {"finished": finished, "interrupted": bool(interrupted)}
            if digest:  # results of old have no such field
                document["digest"] = digest
            else:  # of one that did not end the row alone tells
                document["missing"] = missing
            document |= empty_parts(document)
            for kind, name, content in connection.execute(
                "SELECT kind, name, content FROM attachments JOIN documents USING (sha256) WHERE run = ?"
                " ORDER BY position",
                (number,),
            ):
                if kind not in document:
                    raise damaged(self.path, f"the head of run {run_id} does not name its {kind}")
                document[kind][name] = msgspec.Raw(self._inflated(content))
            marks, positions = _marks(connection, number) if sample else ([], [])
            kept = chosen(marks, sample)
            if sample:
                query = "SELECT document FROM measurements WHERE run = ? AND position = ?"
                rows = [connection.execute(query, (number, positions[at])).fetchone() for at in kept]
            else:
                query = "SELECT document FROM measurements WHERE run = ? ORDER BY position"
                rows = connection.execute(query, (number,)).fetchall()
            document["measurements"] = [msgspec.Raw(self._inflated(content)) for (content,) in rows]
        run = loads(msgspec.json.encode(document), where, missing=missing)
        return run if len(kept) == len(marks) else noted(run, marks)

    def list(self) -> tuple[RunSummary, ...]:
        """Every run, oldest first; an empty tuple where there is no store yet."""
        try:
            with self.reading() as connection:
                return summaries(connection)
        except NoRuns:
            return ()
        except ValueError as error:  # a word that is no status or grade
            raise damaged(self.path, str(error)) from error

    def resolve(self, ref: str) -> str:
        """The full id that `ref` names: an id, the beginning of one, a tag, "latest", or "latest~3", the
        third before that.

        A tag means the newest run that bears it. Raises `UnknownName` with the nearest names, and
        `UsageError` when a beginning fits several runs.
        """
        ref = ref.encode("utf-8", "backslashreplace").decode()  # half a character names no run
        with self.reading() as connection:
            if connection.execute("SELECT 1 FROM runs WHERE id = ?", (ref,)).fetchone():
                return ref
            tagged = connection.execute(
                "SELECT id FROM runs JOIN tags ON run = number WHERE tag = ?"
                " ORDER BY created DESC, number DESC LIMIT 1",
                (ref,),
            ).fetchone()
            if tagged:
                return str(tagged[0])
            back = steps_back(ref)
            if back is not None:
                newest = connection.execute(
                    "SELECT id FROM runs ORDER BY created DESC, number DESC LIMIT 1 OFFSET ?", (back,)
                ).fetchone()
                if newest:
                    return str(newest[0])
                raise no_runs(self.path) if not back else too_far_back(connection, ref)
            begins = [
                row[0]
                for row in connection.execute(
                    "SELECT id FROM runs WHERE substr(id, 1, ?) = ? ORDER BY created, number", (len(ref), ref)
                )
            ]
            if len(begins) == 1 and ref:
                return str(begins[0])
            if len(begins) > 1 and ref:
                raise UsageError(
                    f"{ref!r} is the beginning of {len(begins)} runs",
                    cause=", ".join(begins[-5:]),
                    try_="write more of the id",
                )
            raise self._unknown(connection, ref)

    def catch_up(self) -> dict[Path, TrnbenchError]:
        """Put into the tables what journals hold and they do not; see `recording.catch_up`.

        Every command does so when it first looks into the store.
        """
        from trnbench.store.recording import catch_up

        self._caught_up = True
        return catch_up(self)

    def _open(self, *, write: bool, busy_s: float | None = None) -> sqlite3.Connection:
        if not self._caught_up and (write or self._connection is None):
            with suppress(StoreError):  # what is wrong with the store, the caller is about to hear
                self._look_at_journals(write=write)
        return super()._open(write=write, busy_s=busy_s)

    def _look_at_journals(self, *, write: bool) -> None:
        from trnbench.store.recording import look_ahead

        self._caught_up = True  # both look into the store
        older = not write and self.is_older()
        if older or (self.catch_up() and not write):  # a store that takes nothing, or is not to be changed
            look_ahead(self)
            self._caught_up = not older

    def _unknown(self, connection: sqlite3.Connection, ref: str) -> UnknownName:
        newest = connection.execute("SELECT id FROM runs ORDER BY created DESC, number DESC").fetchall()
        tags = connection.execute("SELECT DISTINCT tag FROM tags ORDER BY tag").fetchall()
        known = [row[0] for row in (*newest, *tags)]
        return UnknownName("run", ref, known, try_="trnbench runs list", ordered=True)

    def _inflated(self, content: bytes) -> bytes:
        try:
            return zlib.decompress(content)
        except zlib.error as error:
            raise damaged(self.path, str(error)) from error


def _marks(connection: sqlite3.Connection, number: int) -> tuple[list[CaseMark], list[int]]:
    """By what the cases of a run are chosen, and where they stand, without what else they hold."""
    marks, positions = [], []
    for position, fraction, *names in connection.execute(
        "SELECT position, fraction, kernel, dtype, scope, instance, status FROM measurements"
        " WHERE run = ? ORDER BY position",
        (number,),
    ):
        # The same few names again and again: each is kept once.
        kernel, dtype, scope, instance, status = map(sys.intern, names)
        marks.append(CaseMark(kernel, dtype, scope, instance, status, fraction))
        positions.append(position)
    return marks, positions


class RunSummary(Record, kw_only=True):
    """What `runs list` shows, read from columns alone."""

    id: str
    created: str
    finished: str
    interrupted: bool
    tool_version: str
    backend: str
    grade: Grade
    policy: str
    planned: int
    cases: int
    counts: dict[Status, int]
    instances: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """As `state_of` says it."""
        return state_of(self.finished, self.interrupted, self.planned - self.cases)


def summaries(connection: sqlite3.Connection) -> tuple[RunSummary, ...]:
    """Every run, oldest first; no document is read."""
    counts: dict[int, Counter[Status]] = defaultdict(Counter)
    first: dict[int, dict[str, int]] = defaultdict(dict)
    for number, status, instance, cases, position in connection.execute(
        "SELECT run, status, instance, count(*), min(position) FROM measurements"
        " GROUP BY run, status, instance"
    ):
        counts[number][Status(status)] += cases
        first[number][instance] = min(position, first[number].get(instance, position))
    tags: dict[int, list[str]] = defaultdict(list)
    for number, tag in connection.execute("SELECT run, tag FROM tags ORDER BY tag"):
        tags[number].append(tag)
    names = ("id", "created", "finished", "tool_version", "backend", "policy", "planned")
    return tuple(
        RunSummary(
            **dict(zip(names, row, strict=True)),
            interrupted=bool(interrupted),
            grade=Grade(grade),
            cases=counts[number].total(),
            counts={status: counts[number][status] for status in Status},
            instances=tuple(sorted(first[number], key=first[number].__getitem__)),
            tags=tuple(tags[number]),
        )
        for number, interrupted, grade, *row in connection.execute(
            f"SELECT number, interrupted, grade, {', '.join(names)} FROM runs ORDER BY created, number"
        )
    )
