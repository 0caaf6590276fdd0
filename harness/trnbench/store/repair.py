"""Whether tables, documents, journals and digests of a store agree, and the repair where they do not."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from trnbench.errors import StoreError, TrnbenchError, UsageError, counted
from trnbench.results.digest import PARTS, empty_parts, is_edited
from trnbench.results.json import loads, loads_value
from trnbench.results.run import Run
from trnbench.store.damaged_journals import disagreements, mended
from trnbench.store.database import StoreFile, copy_whole, free_name
from trnbench.store.journal import journals, read_chain
from trnbench.store.journal_content import Journaled, journaled
from trnbench.store.layout import COLUMNS, attach, cells, change_run, write_environment
from trnbench.store.path import StoreBusy
from trnbench.store.recording import fill
from trnbench.store.soundness import damages, marked_as_ours
from trnbench.store.store import Store

if TYPE_CHECKING:
    import sqlite3


class Problem(NamedTuple):
    """What does not fit; `run` is "" where it is not one run's, `repair` whether `store repair` helps."""

    run: str
    what: str
    repair: bool


def check(store: StoreFile) -> tuple[Problem, ...]:
    """Everything that is wrong with a store, in its order. Raises `StoreError` where it cannot be opened."""
    with store.reading() as connection:
        damaged = damages(connection, store.path)
        problems = [Problem("", f"the database is damaged: {damage}", True) for damage in damaged]
        if not problems:
            rows = connection.execute("SELECT number, id FROM runs ORDER BY number").fetchall()
            for number, run_id in rows:
                problems += _of_a_run(connection, number, run_id, kept=store.journal(run_id).exists())
    return (*problems, *(Problem(each.run, each.what, each.repair) for each in disagreements(store)))


def said(error: Exception) -> str:
    """One line of an error, ours or not."""
    return error.what if isinstance(error, TrnbenchError) else str(error)


def documented(connection: sqlite3.Connection, number: int, run_id: str) -> tuple[dict[str, Any], Run]:
    """A run as plain JSON values, as its documents have it, and as they are read.

    Raises `BadInput` or `zlib.error` where a document cannot be read, `LookupError` for one that is another.
    """
    head, finished, interrupted, digest = connection.execute(
        "SELECT head, finished, interrupted, digest FROM runs WHERE number = ?", (number,)
    ).fetchone()
    document: dict[str, Any] = loads_value(head, dict, "its head")
    document |= {"finished": finished, "interrupted": bool(interrupted)}
    if digest:
        document["digest"] = digest
    document |= empty_parts(document)
    for kind, name, sha256, content in connection.execute(
        "SELECT kind, name, sha256, content FROM attachments JOIN documents USING (sha256) WHERE run = ?"
        " ORDER BY position",
        (number,),
    ):
        data = zlib.decompress(content)
        if hashlib.sha256(data).hexdigest() != sha256:
            raise LookupError(f"the document of {kind}.{name} is another one than its digest says")
        document[kind][name] = msgspec.json.decode(data)
    document["measurements"] = [
        msgspec.json.decode(zlib.decompress(row[0]))
        for row in connection.execute(
            "SELECT document FROM measurements WHERE run = ? ORDER BY position", (number,)
        )
    ]
    return document, loads(msgspec.json.encode(document), f"run {run_id}")


def _of_a_run(connection: sqlite3.Connection, number: int, run_id: str, *, kept: bool) -> Iterator[Problem]:
    try:
        document, run = documented(connection, number, run_id)
    except unreadable() as error:
        yield Problem(run_id, f"a document cannot be read: {said(error)}", kept)
        return
    if is_edited(document):
        yield Problem(run_id, "its digest belongs to another content: it was edited after it had ended", kept)
    for name, cell, means in differing_head(connection, number, run):
        yield Problem(run_id, f"column runs.{name} is {cell!r}, its document says {means!r}", True)
    if environment_differs(connection, number, run):
        yield Problem(run_id, "its row of environments says something else than its document", True)
    for _, case, name, cell, means in differing_cells(connection, number, run):
        yield Problem(run_id, f"column {name} of {case} is {cell!r}, its document says {means!r}", True)


def differing_head(
    connection: sqlite3.Connection, number: int, run: Run
) -> Iterator[tuple[str, object, object]]:
    """Columns of the run's own row that its document contradicts: name, what they say, what it says."""
    means = {
        "id": run.id,
        "created": run.created,
        "tool_version": run.tool_version,
        "backend": run.backend,
        "grade": str(run.grade),
        "policy": str(run.policy),
    }
    row = connection.execute(f"SELECT {', '.join(means)} FROM runs WHERE number = ?", (number,)).fetchone()
    for (name, meant), cell in zip(means.items(), row, strict=True):
        if cell != meant:
            yield name, cell, meant


def environment_differs(connection: sqlite3.Connection, number: int, run: Run) -> bool:
    """Whether what is kept apart of the run's environment is not what its document has."""
    row = connection.execute("SELECT content FROM environments WHERE run = ?", (number,)).fetchone()
    try:
        return row is None or msgspec.json.decode(row[0]) != run.environment
    except msgspec.DecodeError:
        return True


def differing_cells(
    connection: sqlite3.Connection, number: int, run: Run
) -> Iterator[tuple[int, str, str, object, object]]:
    """Columns of measurements that their documents contradict: position, case, name, what they say, what it
    says."""
    rows = connection.execute(
        f"SELECT position, {', '.join(COLUMNS)} FROM measurements WHERE run = ? ORDER BY position", (number,)
    )
    for (position, *row), measurement in zip(rows, run.measurements, strict=True):
        for name, meant, cell in zip(COLUMNS, cells(measurement), row, strict=True):
            if cell != meant:
                yield position, measurement.id, name, cell, meant


def _is_whole(store: Store, run_id: str) -> bool:
    """Whether the store has a run as it ended: its documents can be read, and its digest is theirs."""
    with store.reading() as connection:
        row = connection.execute("SELECT number, finished FROM runs WHERE id = ?", (run_id,)).fetchone()
        try:
            return bool(row and row[1]) and not is_edited(documented(connection, row[0], run_id)[0])
        except unreadable():
            return False


def repair(store: Store) -> list[str]:
    """What was done, in a sentence each; nothing where nothing was wrong.

    A store of an older version is copied and brought up to date; damaged journals are put aside or cut off,
    and the others fill it; columns are written again from their documents; a database that is damaged is put
    aside and made anew from every run that can still be read. Never removes a file.
    Raises `StoreError` for a store that cannot be written, or is another program's.
    """
    done: list[str] = []
    store.on_change = done.append
    if marked_as_ours(store.path):
        done.append(f"{store.path} has the mark of a store of trnbench again")
    with closing(store):
        try:
            damaged = _is_damaged(store)
        except StoreBusy:
            raise
        except StoreError as error:
            # A store whose first page is damaged looks like another program's file; its journals tell.
            another = "is no SQLite database" in error.what or "but not a store of trnbench" in error.what
            ours = another and any(journals(store.path))
            if "is damaged" not in error.what and not ours:
                raise
            damaged = True
        if damaged:
            done += _made_anew(store)
        done += mended(store, partial(_is_whole, store))
        done += [f"{path.name}: {error.what}" for path, error in store.catch_up().items()]
        if store.path.exists():
            done += _runs_renewed(store)
    return done


def backup(store: Store, target: Path) -> None:
    """A whole copy of the store in one file, its owner's alone, made while others may write.

    Raises `UsageError` where the file exists or cannot be written, `StoreError` for what is wrong
    with the store.
    """
    with store.reading() as connection:
        try:
            copy_whole(connection, target)
        except OSError as error:
            raise UsageError(
                f"cannot write {target}: {error.strerror or error}",
                cause="a backup goes into a new file, in a folder that can be written to",
                try_="trnbench store backup NEW.db",
            ) from error


def _is_damaged(store: Store) -> bool:
    with store.reading() as connection:
        return any(damages(connection, store.path))


def _made_anew(store: Store) -> list[str]:
    aside = free_name(store.path, "damaged")
    anew = store.path.with_name(f"{store.path.name}.anew")
    for path in _files(anew):
        path.unlink(missing_ok=True)
    done = []
    with Store(anew) as fresh:
        with suppress(StoreError), store.reading() as old:
            for number, run_id in _runs(old):
                if not (_copied(old, number, run_id, fresh) or _from_journal(store, run_id, fresh)):
                    done.append(f"run {run_id} is lost: its documents are damaged, and it has no journal")
        with fresh.writing():
            pass  # a store without any run is a store
    store.close()
    for path, name in zip(_files(store.path), _files(aside), strict=True):
        with suppress(FileNotFoundError):
            path.rename(name)
    anew.rename(store.path)
    return [*done, f"the damaged database is now {aside}", f"{store.path} was made anew"]


def _copied(old: sqlite3.Connection, number: int, run_id: str, fresh: Store) -> bool:
    try:
        _, run = documented(old, number, run_id)
        planned = old.execute("SELECT planned FROM runs WHERE number = ?", (number,)).fetchone()[0]
        fresh.save(run, tags=_tags(old, number))
    except unreadable():
        return False
    with fresh.writing() as connection:
        connection.execute("UPDATE runs SET planned = ? WHERE id = ?", (planned, run_id))
    return True


def _from_journal(store: Store, run_id: str, fresh: Store) -> bool:
    try:
        journal = _journal(store, run_id)
        with fresh.writing() as connection:
            fill(connection, fresh.path, journal)
    except unreadable():
        return False
    return True


def _journal(store: Store, run_id: str) -> Journaled:
    chain = read_chain(store.journal(run_id).read_bytes())
    if not chain.records:
        raise LookupError("it holds no run")
    return journaled(chain, str(store.journal(run_id)))


def _runs_renewed(store: Store) -> list[str]:
    done = []
    with store.writing() as connection:
        for number, run_id in _runs(connection):
            try:
                document, run = documented(connection, number, run_id)
                if is_edited(document):
                    raise LookupError("its digest belongs to another content")
            except unreadable() as error:
                done.append(_renewed_from_journal(connection, number, run_id, store, error))
                continue
            if count := _renewed(connection, number, run):
                done.append(f"run {run_id}: wrote {counted(count, 'column')} again from its documents")
    return done


def _renewed_from_journal(
    connection: sqlite3.Connection, number: int, run_id: str, store: Store, why: Exception
) -> str:
    try:
        journal = _journal(store, run_id)
    except unreadable():
        return f"run {run_id} stays as it is, without a journal to renew it from: {said(why)}"
    for attached in journal.parts:
        connection.execute(
            "UPDATE documents SET content = ? WHERE sha256 = ?", (attached.content, attached.sha256)
        )
    _detach(connection, number, {part.sha256 for part in journal.parts})
    attach(connection, number, journal.parts)
    change_run(connection, number, {"indexed": 0, "finished": ""})  # the journal says what it was
    lost = _dropped(connection, number)
    fill(connection, store.path, journal)
    left = f"; {', '.join(lost)} could be read nowhere" if lost else ""
    return f"run {run_id} was written again from its journal: {said(why)}{left}"


def _detach(connection: sqlite3.Connection, number: int, documents: Collection[str]) -> None:
    """Removes what is attached to a run by a kind or name that it never had, and what is of `documents`."""
    rows = connection.execute(
        "SELECT position, CAST(kind AS BLOB), CAST(name AS BLOB), CAST(sha256 AS BLOB) FROM attachments"
        " WHERE run = ?",
        (number,),
    ).fetchall()
    for position, *texts in rows:
        kind, name, sha256 = (text.decode("utf-8", "replace") for text in texts)
        if kind not in PARTS or "\ufffd" in name or sha256 in documents:
            connection.execute("DELETE FROM attachments WHERE run = ? AND position = ?", (number, position))


def _dropped(connection: sqlite3.Connection, number: int) -> list[str]:
    """Removes rows whose documents are none, so that the rest of the run opens, and says which they were.
    Those that its journal has are put in again behind this."""
    lost = []
    for table, what, rows in (
        ("measurements", "case ", "SELECT position, case_id, document FROM measurements"),
        ("attachments", "", "SELECT position, name, content FROM attachments JOIN documents USING (sha256)"),
    ):
        for position, name, content in connection.execute(f"{rows} WHERE run = ?", (number,)).fetchall():
            try:
                msgspec.json.decode(zlib.decompress(content))
            except unreadable():
                condition = "run = ? AND position = ?"
                connection.execute(f"DELETE FROM {table} WHERE {condition}", (number, position))
                lost.append(f"{what}{name}")
    return lost


def _renewed(connection: sqlite3.Connection, number: int, run: Run) -> int:
    head = {name: means for name, _, means in differing_head(connection, number, run)}
    if head:
        change_run(connection, number, head)
    environment = environment_differs(connection, number, run)
    if environment:
        write_environment(connection, number, run)
    cells = list(differing_cells(connection, number, run))
    for position, _, name, _, means in cells:
        connection.execute(
            f"UPDATE measurements SET {name} = ? WHERE run = ? AND position = ?", (means, number, position)
        )
    return len(head) + environment + len(cells)


def _runs(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    with suppress(*unreadable()):
        return connection.execute("SELECT number, id FROM runs ORDER BY number").fetchall()
    return []


def _tags(connection: sqlite3.Connection, number: int) -> list[str]:
    with suppress(*unreadable()):
        return [row[0] for row in connection.execute("SELECT tag FROM tags WHERE run = ?", (number,))]
    return []


def _files(path: Path) -> tuple[Path, Path, Path]:
    return path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")


def unreadable() -> tuple[type[Exception], ...]:
    """What reading a damaged run may raise."""
    import sqlite3

    return (
        sqlite3.Error,
        zlib.error,
        msgspec.DecodeError,
        LookupError,
        TrnbenchError,
        TypeError,
        ValueError,
        OSError,
    )
