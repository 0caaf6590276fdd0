"""Archives of the tests' own, unpacked with the filter that Python has from 3.11.4 on."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

SAFE: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


def unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as files:
        files.extractall(folder, **SAFE)
