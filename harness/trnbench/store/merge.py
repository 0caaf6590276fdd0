"""Runs of other stores put into this one: all of them, or on an error none."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from trnbench.errors import StoreError, UsageError
from trnbench.results.run import Run
from trnbench.store.database import NoRuns, StoreFile
from trnbench.store.journal import is_in_use
from trnbench.store.layout import Row, change_run, insert_tags
from trnbench.store.path import ENVIRONMENT
from trnbench.store.repair import check, documented, unreadable
from trnbench.store.store import Store

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator


class Merged(NamedTuple):
    """Ids by what became of them: `renewed` were there as less of the same run, `under_way` are not
    taken before they have ended."""

    added: tuple[str, ...]
    renewed: tuple[str, ...]
    known: tuple[str, ...]
    under_way: tuple[str, ...]


def merge(store: Store, others: Iterable[Path]) -> Merged:
    """Every run of `others`, with tags and all; the others are only read, and again changes nothing.

    Raises `StoreError` for another store that is none, damaged, edited or behind its journals, and for a run
    that is here with another content; `UsageError` for the store itself.
    """
    outcomes: dict[str, list[str]] = {name: [] for name in Merged._fields}
    with ExitStack() as stack:
        opened = []
        for path in others:
            if path.exists() and store.path.exists() and path.samefile(store.path):
                raise UsageError(
                    f"{path} is the store itself",
                    cause="another store is to be put into the one of --store or TRNBENCH_STORE",
                    try_="trnbench --store INTO.db store merge OTHER.db",
                )
            with _blamed(path):
                other = stack.enter_context(StoreFile(path))
                connection = stack.enter_context(_at_rest(other))
                _check(other)
            opened.append((other, connection))
        with store.writing() as into:
            for other, connection in opened:
                for number, run_id in connection.execute("SELECT number, id FROM runs ORDER BY number"):
                    if is_in_use(other.journal(run_id)):
                        outcomes["under_way"].append(run_id)
                    else:
                        outcomes[_merged(store, into, other, connection, number, run_id)].append(run_id)
    return Merged(**{name: tuple(dict.fromkeys(ids)) for name, ids in outcomes.items()})


@contextmanager
def _blamed(path: Path) -> Iterator[None]:
    """Errors of another store: it was named behind `merge`, not by --store."""
    try:
        yield
    except StoreError as error:
        cause, try_ = error.cause, error.try_
        if isinstance(error, NoRuns) or ENVIRONMENT in cause:
            cause = "OTHER is to be the file of another store that holds runs; nothing was merged"
            try_ = "trnbench --store OTHER.db runs list  shows whether a file is one"
        if "store repair" in error.try_:
            try_ = f"trnbench --store {quote(str(path))} store repair"
        raise StoreError(error.what, cause=cause, try_=try_) from error


@contextmanager
def _at_rest(other: StoreFile) -> Iterator[sqlite3.Connection]:
    """As it is at this moment, whoever writes to it meanwhile."""
    with other.reading() as connection:
        connection.execute("BEGIN")
        try:
            yield connection
        finally:
            connection.execute("ROLLBACK")


def _check(other: StoreFile) -> None:
    problems = check(other)
    if problems:
        first = problems[0]
        of = f"run {first.run}: " if first.run else ""
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise StoreError(
            f"{other.path} cannot be merged: {of}{first.what}{more}",
            cause="it was damaged or edited, or a run in it was cut off; nothing was merged",
            try_="trnbench store repair",
        )


def _merged(
    store: Store,
    into: sqlite3.Connection,
    other: StoreFile,
    source: sqlite3.Connection,
    number: int,
    run_id: str,
) -> str:
    """Under which field of `Merged` the run comes."""
    here = into.execute("SELECT number FROM runs WHERE id = ?", (run_id,)).fetchone()
    if here is None:
        _copy(into, source, number)
        return "added"
    (mine,) = here
    had, has = _extent(into, mine), _extent(source, number)
    if had > has:  # this store has more of it
        return "known"
    if had == has and (
        _seal(into, mine) == _seal(source, number) or _content(into, mine) == _content(source, number)
    ):
        _copy_rows(into, source, "tags", number, mine)
        return "known"
    if had < has and not store.journal(run_id).exists():
        _renew(into, source, number, mine)
        return "renewed"
    raise StoreError(
        f"run {run_id} of {other.path} is in {store.path} with another content",
        cause="it was gone on with in both stores, or one of them was edited; nothing was merged",
        try_=f"trnbench runs delete {run_id}  in one of them",
    )


def _extent(connection: sqlite3.Connection, number: int) -> tuple[str, int]:
    """Of two copies of a run the later ended one has more of it; of two that did not end, the one of more
    cases."""
    finished, cases = connection.execute(
        "SELECT finished, (SELECT count(*) FROM measurements WHERE run = number) FROM runs WHERE number = ?",
        (number,),
    ).fetchone()
    return finished, 0 if finished else cases


def _seal(connection: sqlite3.Connection, number: int) -> str:
    return str(connection.execute("SELECT digest FROM runs WHERE number = ?", (number,)).fetchone()[0])


def _content(connection: sqlite3.Connection, number: int) -> Run | None:
    """The run as it is read today, without its digest: fields that came later gave a copy another one. None
    where it cannot be read."""
    with suppress(*unreadable()):
        return replace(documented(connection, number, f"number {number}")[1], digest="")
    return None


def _renew(into: sqlite3.Connection, source: sqlite3.Connection, number: int, here: int) -> None:
    """More of a run in the place of less: its number and the tags that it has here stay."""
    tags = into.execute("SELECT tag FROM tags WHERE run = ?", (here,)).fetchall()
    into.execute("DELETE FROM runs WHERE number = ?", (here,))
    _copy(into, source, number, here)
    insert_tags(into, here, (tag for (tag,) in tags))


def _copy(into: sqlite3.Connection, source: sqlite3.Connection, number: int, new: int | None = None) -> None:
    row = source.execute("SELECT * FROM runs WHERE number = ?", (number,)).fetchone()
    new = _insert(into, "runs", (new, *row[1:]))
    assert new is not None
    change_run(into, new, {"indexed": 0})
    for row in source.execute(
        "SELECT * FROM documents WHERE sha256 IN (SELECT sha256 FROM attachments WHERE run = ?)", (number,)
    ):
        _insert(into, "documents", row)
    for table in ("environments", "attachments", "tags", "measurements"):
        _copy_rows(into, source, table, number, new)


def _copy_rows(
    into: sqlite3.Connection, source: sqlite3.Connection, table: str, number: int, new: int
) -> None:
    for row in source.execute(f"SELECT * FROM {table} WHERE run = ?", (number,)):
        _insert(into, table, (new, *row[1:]))


def _insert(into: sqlite3.Connection, table: str, row: Row) -> int | None:
    """All columns in the order of the table: it is the same in both, of the present version."""
    values = ", ".join("?" * len(row))
    return into.execute(f"INSERT OR IGNORE INTO {table} VALUES ({values})", row).lastrowid
