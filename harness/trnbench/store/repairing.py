"""A store made whole again out of its own rows and its journals, and a copy of one at rest."""

from __future__ import annotations

import os
import zlib
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trnbench.errors import StoreError, TrnbenchError, UsageError
from trnbench.results.digest import is_edited
from trnbench.results.json import loads
from trnbench.results.run import Run
from trnbench.store.checking import (
    differing_cells,
    differing_head,
    document_of,
    environment_differs,
    said,
)
from trnbench.store.database import StoreBusy, explained
from trnbench.store.filling import fill
from trnbench.store.journal import journals, read_chain
from trnbench.store.journaled import Journaled, journaled
from trnbench.store.rows import change_run, write_environment
from trnbench.store.store import Store

if TYPE_CHECKING:
    import sqlite3


def repair(store: Store) -> list[str]:
    """What was done, in a sentence each; nothing where nothing was wrong.

    Journals fill the store; columns are written again from their documents; a database that is
    damaged is put aside and made anew from every run that can still be read. Never removes a file.
    Raises `StoreError` for a store that cannot be written, or is another program's.
    """
    with closing(store):
        try:
            damaged = _is_damaged(store)
        except StoreBusy:
            raise
        except StoreError as error:
            # A store whose first page is gone looks like another program's file; its journals tell.
            ours = "is no SQLite database" in error.what and any(journals(store.path))
            if "is damaged" not in error.what and not ours:
                raise
            damaged = True
        done = _made_anew(store) if damaged else []
        done += [f"{path.name}: {error.what}" for path, error in store.catch_up().items()]
        if store.path.exists():
            done += _runs_renewed(store)
    return done


def backup(store: Store, target: Path) -> None:
    """A whole copy of the store in one file, its owner's alone, made while others may write.

    Raises `UsageError` where the file exists or cannot be written, `StoreError` for what is wrong
    with the store.
    """
    import sqlite3

    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise UsageError(
            f"cannot write {target}: {error.strerror or error}",
            cause="a backup goes into a new file, in a folder that can be written to",
            try_="trnbench store backup NEW.db",
        ) from error
    try:
        with store.reading() as connection, explained(target), closing(sqlite3.connect(target)) as copy:
            connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE").fetchone()
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _is_damaged(store: Store) -> bool:
    with store.reading() as connection:
        found = connection.execute("PRAGMA integrity_check").fetchall()
        return found != [("ok",)] or bool(connection.execute("PRAGMA foreign_key_check").fetchall())


def _made_anew(store: Store) -> list[str]:
    aside = _free_name(store.path)
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
        run = loads(msgspec.json.encode(document_of(old, number)), f"run {run_id}")
        planned = old.execute("SELECT planned FROM runs WHERE number = ?", (number,)).fetchone()[0]
        fresh.save(run, tags=_tags(old, number))
    except _unreadable():
        return False
    with fresh.writing() as connection:
        connection.execute("UPDATE runs SET planned = ? WHERE id = ?", (planned, run_id))
    return True


def _from_journal(store: Store, run_id: str, fresh: Store) -> bool:
    try:
        found = _journal(store, run_id)
        with fresh.writing() as connection:
            fill(connection, fresh.path, found)
    except _unreadable():
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
                document = document_of(connection, number)
                run = loads(msgspec.json.encode(document), f"run {run_id}")
                if is_edited(document):
                    raise LookupError("its digest belongs to another content")
            except _unreadable() as error:
                done.append(_renewed_from_journal(connection, number, run_id, store, error))
                continue
            if count := _renewed(connection, number, run):
                done.append(f"run {run_id}: {count} columns were written again from its documents")
    return done


def _renewed_from_journal(
    connection: sqlite3.Connection, number: int, run_id: str, store: Store, why: Exception
) -> str:
    try:
        journal = _journal(store, run_id)
    except _unreadable():
        return f"run {run_id} stays as it is, without a journal to renew it from: {said(why)}"
    for part in journal.parts:
        connection.execute("UPDATE documents SET content = ? WHERE sha256 = ?", (part.content, part.sha256))
    change_run(connection, number, {"indexed": 0})
    fill(connection, store.path, journal)
    return f"run {run_id} was written again from its journal: {said(why)}"


def _renewed(connection: sqlite3.Connection, number: int, run: Run) -> int:
    head = {name: means for name, _, means in differing_head(connection, number, run)}
    if head:
        change_run(connection, number, head)
    environment = environment_differs(connection, number, run)
    if environment:
        write_environment(connection, number, run)
    cells = list(differing_cells(connection, number, run))
    positions = [
        row[0]
        for row in connection.execute(
            "SELECT position FROM measurements WHERE run = ? ORDER BY position", (number,)
        )
    ]
    for index, name, _, means in cells:
        connection.execute(
            f"UPDATE measurements SET {name} = ? WHERE run = ? AND position = ?",
            (means, number, positions[index]),
        )
    return len(head) + environment + len(cells)


def _runs(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    with suppress(*_unreadable()):
        return connection.execute("SELECT number, id FROM runs ORDER BY number").fetchall()
    return []


def _tags(connection: sqlite3.Connection, number: int) -> list[str]:
    with suppress(*_unreadable()):
        return [row[0] for row in connection.execute("SELECT tag FROM tags WHERE run = ?", (number,))]
    return []


def _files(path: Path) -> tuple[Path, Path, Path]:
    return path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")


def _free_name(path: Path) -> Path:
    number = 1
    while (found := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    return found


def _unreadable() -> tuple[type[Exception], ...]:
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
