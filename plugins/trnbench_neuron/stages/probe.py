"""What is installed in this interpreter's environment, without importing any of it."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from reply import serve


def versions(names: list[str]) -> dict[str, Any]:
    by_package = {}
    for name in names:
        try:
            by_package[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {"versions": by_package}


if __name__ == "__main__":
    serve({"versions": versions})
