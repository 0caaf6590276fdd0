"""`trnbench nki doctor`: which kernels a file has, what runs, and what newer releases want."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trnbench import Session
from trnbench.errors import ExitCode, MissingFile, TrnbenchError, counted
from trnbench.terminal.output import emit, say
from trnbench_emulator.commands.nki.kernel import apart, guarded
from trnbench_emulator.nki import Kernel, provide
from trnbench_emulator.nki.load import load_file
from trnbench_emulator.nki.usage import uses

COLUMNS = ("place", "kind", "name", "state", "why")
RUN, REFUSED, REMOVED = "run", "refused", "removed"
_IMPORTED = re.compile(rb"^[^#\n]*\b(?:from|import)\s[^#\n]*\b(?:nki|neuronxcc)\b", re.M)


@apart
def doctor(_: Session, /, *, kernels: Path, format: str) -> ExitCode:
    """What of FILE or of the files of FOLDER runs, what not and why, and what was removed since."""
    folder = (kernels if kernels.is_dir() else kernels.parent).absolute()
    examined = [row for path in _files(kernels) for row in _examined(path.absolute(), folder)]
    # A statement that fails is met again by every file that imports its own.
    rows = list({tuple(row.values()): row for row in examined}.values())
    emit(rows, COLUMNS, format)
    own = [row for row in rows if row["kind"] in ("kernel", "function")]
    runs = sum(row["state"] == RUN for row in own)
    removed = len({row["name"] for row in rows if row["state"] == REMOVED})
    broken = sum(row["kind"] == "file" for row in rows)
    lost = f"; not imported: {counted(broken, 'file')}" if broken else ""
    say(
        f"{runs} of {len(own)} functions use only what runs here; removed since: {removed} names{lost}",
        level=0,
    )
    return ExitCode.OK if runs == len(own) and not broken else ExitCode.GATE


def _files(path: Path) -> list[Path]:
    """Files that import NKI. Raises `MissingFile` where there is none."""
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path] if path.is_file() else []
    files = [file for file in files if path.is_file() or _IMPORTED.search(file.read_bytes())]
    if not files:
        raise MissingFile(
            f"{path} has no kernel's file" if path.exists() else f"{path} does not exist",
            cause="a kernel is a function of a .py file that imports nki or neuronxcc.nki",
        )
    return files


def _examined(path: Path, folder: Path) -> Iterator[dict[str, Any]]:
    """A row for each kernel, statement that failed, name that does not run, and name that was removed; places
    are those within `folder`."""

    def row(line: int, kind: str, name: str, state: str, why: str = "", file: Path = path) -> dict[str, Any]:
        shown = file.relative_to(folder) if file.is_relative_to(folder) else file
        return {"place": f"{shown}:{line}", "kind": kind, "name": name, "state": state, "why": why}

    try:
        with guarded(str(path)), provide("trnbench"):
            module, imports = load_file(path)
        tree = ast.parse(path.read_bytes())
    except TrnbenchError as error:
        yield row(1, "file", path.name, REFUSED, error.what)
        return
    used = uses(tree)
    refused = {use.line: use for use in used if not use.runs}
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef) or not hasattr(module, node.name):
            continue
        inside = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if any(use.line in inside for use in used):
            kernel = isinstance(getattr(module, node.name), Kernel)
            wrong = [f"{use.module}.{use.name}" for line, use in refused.items() if line in inside]
            kind, state = "kernel" if kernel else "function", REFUSED if wrong else RUN
            yield row(node.lineno, kind, node.name, state, ", ".join(wrong))
    for fault in imports.faults:
        names = ", ".join(fault.names)
        yield row(fault.line, "statement", names, REFUSED, str(fault), Path(fault.file))
    for use in refused.values():
        yield row(use.line, "name", f"{use.module}.{use.name}", REFUSED, use.why)
    told = set()
    for use in used:
        for gone in use.gone():
            if str(gone) not in told:
                told.add(str(gone))
                yield row(use.line, "name", str(gone), REMOVED, f"since {gone.since}: {gone.write}")
