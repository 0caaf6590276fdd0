"""What the pages of a site share, by the digest of its content: what runs have alike is one file."""

from __future__ import annotations

import hashlib
import json

from trnbench_reports.payload import packed

LETTERS = 16
"""Of a digest, in a file's name."""


class Shelf:
    """Files of data, as scripts: from file:// a page may read nothing else. `root` as in `payload.Shelf`."""

    root = "../"

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def place(self, data: bytes) -> str:
        name = f"data/{hashlib.sha256(data).hexdigest()[:LETTERS]}.js"
        if name not in self.files:
            self.files[name] = script(name, data)
        return name


def script(name: str, data: bytes) -> bytes:
    """A script that hands `data` over by the `name` of its file."""
    return f'(self.trnbench ??= {{}})[{json.dumps(name)}] = "{packed(data)}";\n'.encode()
