"""What is installed in this interpreter's environment, without importing any of it."""

from __future__ import annotations

import sys
from importlib import metadata
from typing import Any

from answering import serve


def versions(names: list[str]) -> dict[str, Any]:
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {"python": ".".join(map(str, sys.version_info[:3])), "versions": found}


if __name__ == "__main__":
    serve({"versions": versions})
