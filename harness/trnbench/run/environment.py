"""The environment of a run: what a result depends on, and nothing that says whose machine it was."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from trnbench.bounded import read_file
from trnbench.distribution import versions
from trnbench.errors import TrnbenchError
from trnbench.run.identity import is_kept, scrub

_PACKAGES = ("trnbench", "msgspec", "numpy", "ml_dtypes", "pluggy", "click", "jinja2")
_IDENTITY = re.compile(
    r"(^|_)(host_?name|hosts?|node_?name|fqdn|domain|users?|username|login|home|email|ip|ipv4|ipv6|addr"
    r"|address(es)?|mac|serial|uuid|instance_id|account(_id)?|zone|region|ami|token|key|secret)$"
)


def describe(extra: Mapping[str, Any] = {}) -> dict[str, Any]:
    """The machine, the software and the commit of the working folder, flat and lower_snake; `extra` is what
    the backend adds.

    No host name, user name, address or path of the user's: those that `extra` brings are dropped
    (by their key) or replaced (inside values).
    """
    described: dict[str, Any] = {
        "python_version": platform.python_version(),
        "python_implementation": platform.python_implementation(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cpu_model": _cpu_model(),
        "cpu_count": os.cpu_count() or 0,
        "memory_bytes": _memory_bytes(),
        "byte_order": sys.byteorder,
        **describe_commit(),
    }
    if is_kept():
        described["host_name"] = platform.node()
    described.update({f"package_{name.replace('-', '_')}": version for name, version in _versions().items()})
    for key, value in extra.items():
        name = re.sub(r"\W+", "_", str(key)).strip("_").lower()
        if name and (is_kept() or not _IDENTITY.search(name)):
            described[name] = value if isinstance(value, (bool, int, float)) else scrub(str(value))
    return {key: scrub(value) if isinstance(value, str) else value for key, value in described.items()}


@cache
def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() in ("model name", "Model", "Processor"):
                return value.strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0


@cache
def _versions() -> dict[str, str]:
    return versions(_PACKAGES)


SECONDS = 2.0
"""Within which git says whether files differ; where it does not, nothing is said."""


_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


_POINTER_BYTES = 4096


_PACKED_BYTES = 16 << 20


_REFERENCES = 5  # HEAD names a branch; more than a few names in a row is a circle


def describe_commit(folder: Path | None = None) -> dict[str, Any]:
    """`git_commit` and, where git tells, `git_dirty`: whether a tracked file differs from it. Empty outside a
    repository, before its first commit, and where its files cannot be read.

    The commit is read from the repository's own files (gitrepository-layout(5)). Whether files differ from it
    git itself is asked: its index alone does not tell. No path and no name is kept.
    """
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
