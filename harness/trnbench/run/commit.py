"""The commit of the working folder, where it lies in a git repository.

The commit is read from the repository's own files (gitrepository-layout(5)). Whether files differ from it git
itself is asked, for two seconds at most: its index alone does not tell. No path and no name is kept.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from trnbench.bounded.file import read_file
from trnbench.errors import TrnbenchError

SECONDS = 2.0
"""Within which git says whether files differ; where it does not, nothing is said."""

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_POINTER_BYTES = 4096
_PACKED_BYTES = 16 << 20
_REFERENCES = 5  # HEAD names a branch; more than a few names in a row is a circle


def describe_commit(folder: Path | None = None) -> dict[str, Any]:
    """`git_commit` and, where git tells, `git_dirty`: whether a tracked file differs from it. Empty outside a
    repository, before its first commit, and where its files cannot be read."""
    folder = folder or Path.cwd()
    repository = _repository(folder)
    commit = _commit(repository) if repository is not None else ""
    if not commit:
        return {}
    dirty = _dirty(folder)
    return {"git_commit": commit, **({} if dirty is None else {"git_dirty": dirty})}


def _repository(folder: Path) -> Path | None:
    """The folder that holds HEAD: `.git`, or for a worktree or submodule what the file `.git` points at."""
    for place in (folder, *folder.parents):
        found = place / ".git"
        if found.is_dir():
            return found
        if told := _told(found):
            word, _, path = told.partition(":")
            return place / path.strip() if word == "gitdir" else None
    return None


def _commit(repository: Path) -> str:
    common = _told(repository / "commondir")
    shared = repository / common if common else repository
    name = "HEAD"
    for _ in range(_REFERENCES):
        told = _told((repository if name == "HEAD" else shared) / name) or _packed(shared, name)
        if _COMMIT.fullmatch(told):
            return told
        word, _, rest = told.partition(":")
        name = rest.strip()
        if word != "ref" or not name.startswith("refs/") or ".." in name:
            break
    return ""


def _packed(shared: Path, name: str) -> str:
    for line in _told(shared / "packed-refs", _PACKED_BYTES).splitlines():
        commit, _, of = line.partition(" ")
        if of == name:
            return commit
    return ""


def _told(path: Path, most: int = _POINTER_BYTES) -> str:
    """What a small file says, "" where it cannot be read."""
    with suppress(TrnbenchError, UnicodeDecodeError):
        return read_file(path, most=most).decode().strip()
    return ""


def _dirty(folder: Path) -> bool | None:
    import subprocess

    # Nothing of the caller's points git elsewhere, and no program of the repository's own is started.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    words = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false", "status", "--porcelain")
    try:
        said = subprocess.run(
            [*words, "--untracked-files=no", "--ignore-submodules=dirty"],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return bool(said.stdout.strip()) if said.returncode == 0 else None
