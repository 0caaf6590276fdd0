"""Names offered while a person types that the store has: runs, tags, cases.

No plugin is looked for, and no document read: a few columns of the database, nothing where it is locked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import sqlite3

    from click.shell_completion import CompletionItem

Offered = tuple[str, str]
"""A name, and what is said of it where the shell shows that."""

WAIT_S = 0.2
"""For another process that is writing: a person is typing."""
MOST = 1000
"""Names; the newest runs come first."""


def _offer(
    names: Callable[[sqlite3.Connection], Iterator[Offered]],
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from itertools import islice

        from click.shell_completion import CompletionItem

        from trnbench.cli.settings import load_settings
        from trnbench.store.file import StoreFile

        try:
            path = ctx.find_root().params.get("store") or load_settings().store
            with StoreFile(path, busy_s=WAIT_S) as store, store.reading() as connection:
                found = (each for each in names(connection) if each[0].startswith(incomplete))
                return [CompletionItem(name, help=said or None) for name, said in islice(found, MOST)]
        except Exception:  # no store, a locked one, broken settings: nothing to offer
            return []

    return complete


def _runs(connection: sqlite3.Connection) -> Iterator[Offered]:
    """`latest`, tags, then ids, the newest first."""
    yield "latest", "the newest run"
    yield from _tags(connection)
    for run, created, grade, backend in connection.execute(
        "SELECT id, created, grade, backend FROM runs ORDER BY number DESC"
    ):
        yield run, f"{grade} by {backend}, {created[:16]}"


def _tags(connection: sqlite3.Connection) -> Iterator[Offered]:
    for tag, count in connection.execute("SELECT tag, count(*) FROM tags GROUP BY tag ORDER BY tag"):
        yield tag, f"a tag of {count} {'run' if count == 1 else 'runs'}"


def _cases(connection: sqlite3.Connection) -> Iterator[Offered]:
    for (case,) in connection.execute("SELECT DISTINCT case_id FROM measurements ORDER BY case_id"):
        yield case, ""


complete_cases = _offer(_cases)
complete_runs = _offer(_runs)
complete_run_tags = _offer(_tags)
