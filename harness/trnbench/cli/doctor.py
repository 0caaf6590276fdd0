"""`trnbench doctor`: what works here, what does not, and what to do about it."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from trnbench.backend import Backend
from trnbench.cli.commands import command_problems, find_commands
from trnbench.errors import ExitCode, PluginError, TrnbenchError
from trnbench.measure.noise import look
from trnbench.reference import called
from trnbench.registry import Registry, load_registry
from trnbench.run.executor import PROCESS
from trnbench.run.reply import detected
from trnbench.store.path import default_path
from trnbench.store.store import Store
from trnbench.terminal.cell import Column, clean, width_of
from trnbench.terminal.context import Session
from trnbench.terminal.output import Row, emit, say, write
from trnbench.terminal.screen import width
from trnbench.terminal.settings import project_file, unknown_variables, user_file
from trnbench.terminal.table import SENTENCE, broken

# "broken" alone makes the exit code 1: what is missing on this machine is no fault of it.
OK, MISSING, UNVERIFIED, NOISY, BROKEN = "ok", "not available", "unverified", "noisy", "broken"

_INDENT = 16
"""Blanks before what is found where its name leaves no room beside it: below the name."""


def doctor(shared: Session, *, format: str) -> int:
    """Say what works here, what does not, and what to do."""
    shared.hush()
    rows = [*_python(), *_settings(shared), *_store(shared), *_plugins(shared), *_variables(shared)]
    rows += [*_backends(shared), *_executors(shared), *_noise()]
    if format == "table":
        write("\n".join(_lines(rows, width())) + "\n")
    else:
        emit(rows, ["part", "name", "state", Column("found", "what was found"), "try"], format)
    broken = [row for row in rows if row["state"] == BROKEN]
    if broken:
        say(f"broken: {', '.join(str(row['name']) for row in broken)}")
    return ExitCode.GATE if broken else ExitCode.OK


def _lines(rows: list[Row], room: int | None) -> Iterator[str]:
    """Sentences do not fit table cells: one block per part, what to type below what is wrong."""
    names = {
        part: [str(row["name"]) for row in rows if row["part"] == part]
        for part in dict.fromkeys(str(row["part"]) for row in rows)
    }
    for part, members in names.items():
        yield part
        wide = min(max(map(len, members)), 40)
        for row in rows:
            if row["part"] != part:
                continue
            yield from _hung(f"  {row['state']:<14}{row['name']!s:<{wide}}  ", str(row["found"]), room)
            if row["try"]:
                yield from _hung(f"{'':<{_INDENT}}try: ", str(row["try"]), room)


def _hung(lead: str, text: str, room: int | None) -> Iterator[str]:
    """`text` behind `lead`, its later lines below its first; behind a long one it has lines of its own."""
    lead, text = clean(lead), clean(text)
    if room is None or width_of(lead + text) <= room:
        yield (lead + text).rstrip()
    elif (beside := room - width_of(lead)) >= SENTENCE:
        first, *rest = broken(text, beside)
        yield lead + first
        yield from (" " * width_of(lead) + line for line in rest)
    else:
        state, name = lead[:_INDENT].rstrip(), lead[_INDENT:].rstrip()
        fits = width_of(lead.rstrip()) <= room
        yield from (lead.rstrip(),) if fits else (state, name)
        yield from (" " * _INDENT + line for line in broken(text, room - _INDENT))


def _row(part: str, name: str, state: str, found: str, try_: str = "") -> Row:
    return {"part": part, "name": name, "state": state, "found": found, "try": try_}


def _broken(part: str, name: str, error: TrnbenchError) -> Row:
    return _row(part, name, BROKEN, error.sentence, error.try_)


def _python() -> Iterator[Row]:
    machine = f"{platform.python_implementation()} {platform.python_version()} on {platform.machine()}"
    yield _row("python", "python", OK, machine)
    for requirement in metadata.requires("trnbench") or ():
        if "extra ==" in requirement:
            continue
        match = re.match(r"([A-Za-z0-9._-]+)\s*([^;]*)", requirement)
        if match is None:
            continue
        name, wanted = match[1], match[2].strip()
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            version = ""
        if version and _satisfies(version, wanted):
            yield _row("library", name, OK, version)
        else:
            found = f"{version or 'not installed'}; needs {wanted}"
            yield _row("library", name, BROKEN, found, f"pip install '{name}{wanted}'")


def _satisfies(version: str, wanted: str) -> bool:
    """Release numbers against ">=1,<2"; good enough for the requirements trnbench itself states."""

    def release(text: str) -> tuple[int, ...]:
        numbers = re.match(r"[0-9.]*", text.strip())
        return tuple(int(each) for each in (numbers[0] if numbers else "").split(".") if each)

    have = release(version)
    for clause in filter(None, (each.strip() for each in wanted.split(","))):
        if clause.startswith(">=") and have < release(clause[2:]):
            return False
        if clause.startswith("<") and not clause.startswith("<=") and have >= release(clause[1:]):
            return False
    return True


def _settings(shared: Session) -> Iterator[Row]:
    try:
        _ = shared.settings
    except TrnbenchError as error:
        yield _broken("settings", "settings", error)
    else:
        files = [str(path) for path in (user_file(), project_file()) if path.is_file()]
        yield _row("settings", "settings", OK, ", ".join(files) or "defaults")


def _variables(shared: Session) -> Iterator[Row]:
    """Asked when plugins have been tried: backends name the variables that they read."""
    for name, near in unknown_variables(shared.registry).items():
        found = "nothing reads this variable" + (f"; did you mean {near}?" if near else "")
        yield _row("settings", name, UNVERIFIED, found, f"unset {name}")


def _store(shared: Session) -> Iterator[Row]:
    try:
        path = shared.store_path or default_path()
    except TrnbenchError:  # the settings are broken, which has its own row
        path = default_path()
    if not path.exists():
        folder = next((each for each in path.parents if each.exists()), Path("/"))
        if os.access(folder, os.W_OK):
            yield _row("store", str(path), OK, "made by the first run")
        else:
            yield _row(
                "store", str(path), BROKEN, f"{folder} cannot be written", "--store PATH, or TRNBENCH_STORE"
            )
        return
    try:
        with Store(path) as store:
            count = len(store.list())
    except TrnbenchError as error:
        yield _broken("store", str(path), error)
    else:
        yield _row("store", str(path), OK, f"{count} runs")


def _plugins(shared: Session) -> Iterator[Row]:
    try:
        registry: Registry = shared.registry
    except TrnbenchError:
        registry = load_registry(block=shared.no_plugin)
        vars(shared)["registry"] = registry
    registry.collect()
    registry.readable(registry.instance_names())  # what cannot be read is a problem too
    for loaded in registry.loaded:
        problems = registry.problems_of(loaded.origin)
        name = f"{loaded.origin.name} ({loaded.origin.source})"
        for problem in problems:
            yield _broken("plugin", name, problem)
        if not problems:
            hooks = ", ".join(hook.removeprefix("trnbench_") for hook in loaded.hooks)
            yield _row("plugin", name, UNVERIFIED if loaded.slow else OK, loaded.slow or hooks)
    for origin in registry.left_out:
        yield _row("plugin", f"{origin.name} ({origin.source})", MISSING, "left out on purpose")
    for error in command_problems(find_commands(shared.no_plugin)):
        yield _broken("plugin", error.plugin, error)


def _backends(shared: Session) -> Iterator[Row]:
    for backend in shared.registry.backends.values():
        yield from _backend(backend)


def _backend(backend: Backend) -> Iterator[Row]:
    try:
        seen = detected(backend)
    except PluginError as error:
        yield _broken("backend", backend.name, error)
        return
    if seen.available:
        yield _row("backend", backend.name, OK, seen.instance or "any instance")
    else:
        yield _row("backend", backend.name, MISSING, seen.why, seen.try_)
    for each in seen.unverified:
        yield _row("backend", backend.name, UNVERIFIED, each)


def _executors(shared: Session) -> Iterator[Row]:
    """Who carries cases out: processes of this machine, and what plugins bring."""
    yield _row("executor", PROCESS, OK, "processes of this machine")
    for name, entry in shared.registry.executors.items():
        if not entry.detect:
            yield _row("executor", name, UNVERIFIED, entry.title)
            continue
        found = called(entry.detect)()
        yield _row("executor", name, OK if found.available else MISSING, found.why, found.try_)


def _noise() -> Iterator[Row]:
    """How quiet this machine is: what a measurement here is worth."""
    for each in look():
        yield _row("noise", each.name, OK if each.quiet else NOISY, each.found, each.advice)
