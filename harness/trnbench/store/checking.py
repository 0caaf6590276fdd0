"""Whether the store says the same everywhere: in its tables, its documents, its journals and its digests."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import msgspec

from trnbench.errors import TrnbenchError
from trnbench.results.digest import PARTS, is_edited
from trnbench.results.json import loads, loads_value
from trnbench.results.run import Run
from trnbench.store.journal import DAMAGED, SUFFIX, is_in_use, journal_folder, journals, read_chain
from trnbench.store.rows import columns

if TYPE_CHECKING:
    import sqlite3

    from trnbench.store.file import StoreFile


class Problem(NamedTuple):
    """What does not fit; `run` is "" where it is not one run's, `repair` whether `store repair` helps."""

    run: str
    what: str
    repair: bool


def check(store: StoreFile) -> tuple[Problem, ...]:
    """Everything that is wrong with a store, in its order. Raises `StoreError` where it cannot be opened."""
    with store.reading() as connection:
        found = [*_of_the_file(connection)]
        if not found:
            rows = connection.execute("SELECT number, id FROM runs ORDER BY number").fetchall()
            for number, run_id in rows:
                found += _of_a_run(connection, number, run_id, kept=store.journal(run_id).exists())
    return (*found, *_of_the_journals(store))


def said(error: Exception) -> str:
    """One line of an error, ours or not."""
    return error.what if isinstance(error, TrnbenchError) else str(error)


def _of_the_file(connection: sqlite3.Connection) -> Iterator[Problem]:
    for (told,) in connection.execute("PRAGMA integrity_check"):
        if told != "ok":
            yield Problem("", f"the database is damaged: {told}", True)
    for table, *_ in connection.execute("PRAGMA foreign_key_check"):
        yield Problem("", f"the database is damaged: a row of {table} belongs to nothing", True)


def document_of(connection: sqlite3.Connection, number: int) -> dict[str, Any]:
    """A run as plain JSON values, as its documents have it.

    Raises `BadInput` or `zlib.error` where a document cannot be read, `LookupError` for one that is another.
    """
    head, finished, interrupted, digest = connection.execute(
        "SELECT head, finished, interrupted, digest FROM runs WHERE number = ?", (number,)
    ).fetchone()
    document: dict[str, Any] = loads_value(head, dict, "its head")
    document |= {"finished": finished, "interrupted": bool(interrupted)}
    if digest:
        document["digest"] = digest
    document |= {kind: {} for kind in PARTS if kind in document}
    for kind, name, told, content in connection.execute(
        "SELECT kind, name, sha256, content FROM attachments JOIN documents USING (sha256) WHERE run = ?"
        " ORDER BY position",
        (number,),
    ):
        data = zlib.decompress(content)
        if hashlib.sha256(data).hexdigest() != told:
            raise LookupError(f"the document of {kind}.{name} is another one than its digest says")
        document[kind][name] = msgspec.json.decode(data)
    document["measurements"] = [
        msgspec.json.decode(zlib.decompress(row[0]))
        for row in connection.execute(
            "SELECT document FROM measurements WHERE run = ? ORDER BY position", (number,)
        )
    ]
    return document


def _of_a_run(connection: sqlite3.Connection, number: int, run_id: str, *, kept: bool) -> Iterator[Problem]:
    try:
        document = document_of(connection, number)
        run = loads(msgspec.json.encode(document), f"run {run_id}")
    except (zlib.error, msgspec.DecodeError, LookupError, TrnbenchError) as error:
        yield Problem(run_id, f"a document cannot be read: {said(error)}", kept)
        return
    if is_edited(document):
        yield Problem(run_id, "its digest belongs to another content: it was edited after it had ended", kept)
    for name, told, means in differing_head(connection, number, run):
        yield Problem(run_id, f"column runs.{name} is {told!r}, its document says {means!r}", True)
    if environment_differs(connection, number, run):
        yield Problem(run_id, "its row of environments says something else than its document", True)
    for position, name, told, means in differing_cells(connection, number, run):
        case = run.measurements[position].id
        yield Problem(run_id, f"column {name} of {case} is {told!r}, its document says {means!r}", True)


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
    found = connection.execute(f"SELECT {', '.join(means)} FROM runs WHERE number = ?", (number,)).fetchone()
    for (name, meant), told in zip(means.items(), found, strict=True):
        if told != meant:
            yield name, told, meant


def environment_differs(connection: sqlite3.Connection, number: int, run: Run) -> bool:
    """Whether what is kept apart of the run's environment is not what its document has."""
    row = connection.execute("SELECT content FROM environments WHERE run = ?", (number,)).fetchone()
    try:
        return row is None or msgspec.json.decode(row[0]) != run.environment
    except msgspec.DecodeError:
        return True


def differing_cells(
    connection: sqlite3.Connection, number: int, run: Run
) -> Iterator[tuple[int, str, object, object]]:
    """Columns of measurements that their documents contradict: index, name, what they say, what it says."""
    names = tuple(columns(run.measurements[0])) if run.measurements else ()
    if not names:
        return
    rows = connection.execute(
        f"SELECT {', '.join(names)} FROM measurements WHERE run = ? ORDER BY position", (number,)
    )
    for index, (row, measurement) in enumerate(zip(rows, run.measurements, strict=True)):
        for (name, meant), told in zip(columns(measurement).items(), row, strict=True):
            if told != meant:
                yield index, name, told, meant


def _of_the_journals(store: StoreFile) -> Iterator[Problem]:
    indexed = store.indexed()
    for entry in sorted(journals(store.path), key=lambda each: each.name):
        run_id = unquote(entry.name.removesuffix(SUFFIX))
        path = journal_folder(store.path) / entry.name
        if is_in_use(path):
            continue
        chain = read_chain(path.read_bytes())
        if not chain.records:
            yield Problem(run_id, f"its journal {entry.name} holds no run", False)
        elif chain.lost:
            yield Problem(run_id, f"its journal ends {chain.lost} bytes too early: they are damaged", False)
        elif chain.end != indexed.get(run_id):
            yield Problem(run_id, "its journal holds more than the store", True)
        if path.with_name(entry.name + DAMAGED).exists():
            yield Problem(run_id, f"its journal was damaged; what it was is in {entry.name}{DAMAGED}", False)
