"""Run as a program: the tiny machine with a database that may have no more than TINY_PAGES pages."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import tiny_machine

if __name__ == "__main__":
    from trnbench.store import store

    connect = store.connect

    def limited(path: Path, **options: Any) -> Any:
        connection = connect(path, **options)
        connection.execute(f"PRAGMA max_page_count = {int(os.environ['TINY_PAGES'])}")
        return connection

    store.connect = limited
    sys.argv[0] = "trnbench"
    tiny_machine.main(*os.environ["TINY_MODES"].split(","))
