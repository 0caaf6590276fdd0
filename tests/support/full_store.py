"""A database that may not grow."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def limit_pages(pages: int) -> None:
    """From here on the store has room for so many pages and no more."""
    from trnbench.store import database

    connect = database.connect

    def limited(path: Path, **options: Any) -> Any:
        connection = connect(path, **options)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    database.connect = limited
