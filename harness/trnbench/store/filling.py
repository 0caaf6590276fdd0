"""The store as an index: what journals hold and its tables do not is put into them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from trnbench.errors import TrnbenchError
from trnbench.store.journal import SUFFIX, Journal, journals
from trnbench.store.journaled import Journaled, journaled
from trnbench.store.rows import (
    change_run,
    ended,
    insert_measurements,
    insert_run,
    insert_tags,
    measurement_row,
)

if TYPE_CHECKING:
    import sqlite3

    from trnbench.store.file import StoreFile


def fill(connection: sqlite3.Connection, path: Path, found: Journaled) -> int:
    """Everything of a journal that the tables lack, inside a transaction; the run's number in them."""
    row = connection.execute("SELECT number, indexed FROM runs WHERE id = ?", (found.run.id,)).fetchone()
    if row is None:
        number = insert_run(
            connection, path, found.run, found.parts, planned=found.opening.planned, unfinished=True
        )
        insert_tags(connection, number, found.opening.tags)
        after = 0
    else:
        number, after = int(row[0]), int(row[1])
    insert_measurements(
        connection,
        number,
        (
            measurement_row(position, measurement, found.cases[position].document)
            for position, measurement in found.measurements(after).items()
        ),
    )
    changes: dict[str, Any] = {"indexed": found.end}
    if found.ended:
        changes |= ended(found.run)
    elif after:
        changes |= {"finished": "", "interrupted": 1, "digest": ""}
    change_run(connection, number, changes)
    return number


def catch_up(store: StoreFile) -> dict[Path, TrnbenchError]:
    """Fill the store from every journal that holds more than it, those of runs under way left out.

    Costs one look at each file where there is nothing to do. Returns the journals that could not be
    read, with the reason: they are left as they are.
    """
    entries = list(journals(store.path))
    if not entries:
        return {}
    indexed = store.indexed()
    problems: dict[Path, TrnbenchError] = {}
    for entry in sorted(entries, key=lambda each: each.name):
        run_id = unquote(entry.name.removesuffix(SUFFIX))
        path = Path(entry.path)
        try:
            if entry.stat().st_size == indexed.get(run_id, -1):
                continue
            journal, chain = Journal.reopen(path)
            with journal:
                found = journaled(chain, str(path))
                with store.writing() as connection:
                    fill(connection, store.path, found)
        except FileNotFoundError:  # its run was deleted meanwhile
            continue
        except TrnbenchError as error:
            problems[path] = error
    return problems
