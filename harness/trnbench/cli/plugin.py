"""`trnbench plugin`: what is installed and how it fares, whether it keeps the contract, a new one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from trnbench.cli.commands import command_problems, find_commands
from trnbench.errors import ExitCode
from trnbench.terminal.cell import SPARE, WANTED, Column
from trnbench.terminal.context import Session
from trnbench.terminal.output import emit, mention, paragraph, say, write
from trnbench.testing import check_plugin
from trnbench.testing.project import write_project

if TYPE_CHECKING:
    from trnbench.registry import Brought, Origin, Registry


def list_(shared: Session, *, format: str) -> None:
    """Every plugin: where it comes from, what it brings, how long it takes, what is wrong."""
    shared.hush()
    registry = shared.registry
    rows = [*_plugins(registry, _commands(shared)), *_left_out(registry)]
    if format == "table":
        emit(rows, _COLUMNS, format)
        for row in rows:
            for problem in row["problems"] if isinstance(row["problems"], list) else ():
                write("\n")
                paragraph(str(problem))
            if row["warning"]:
                write("\n")
                paragraph(f"plugin {row['plugin']!r} of {row['distribution']} {row['warning']}")
    else:
        emit(rows, [*_COLUMNS, "problems", "warning"], format)


def check(shared: Session, /, *, plugin: str | None, only: tuple[str, ...], format: str) -> int:
    """Hold plugins to the contract: facts, topologies, kernels, values, bounds, determinism, reports."""
    shared.hush()
    report = check_plugin(
        plugin or "",
        checks=only,
        block=(*shared.no_plugin, *shared.settings.no_plugin),
        on_check=lambda text: say(f"checking {text}", level=1),
    )
    rows: list[dict[str, object]] = [
        {
            "check": each.check,
            "about": each.about,
            "grade": "warning" if each.warning else "problem",
            "problem": each.problem,
            "try": each.try_,
        }
        for each in report.findings
    ]
    if format != "table":
        emit(rows, ["check", "about", "grade", "problem", "try"], format)
    for each in report.repeated if format == "table" else ():
        paragraph(str(each))
    say(report.summary())
    return ExitCode.OK if report.passed else ExitCode.GATE


def new(_: Session, /, *, name: str, folder: Path | None) -> None:
    """Write the project of a new plugin: it installs, and passes its own tests."""
    written = write_project(name, folder or Path(name))
    write(f"{written.folder}\n")
    for path in written.files:
        mention(f"  {path.relative_to(written.folder)}")
    mention(
        f"next:  pip install -e {written.folder} && pytest {written.folder} && trnbench plugin check {name}",
    )


_COLUMNS = (
    Column("plugin"),
    Column("distribution", keep=SPARE),
    Column("version"),
    Column("hooks", show=lambda hooks: ", ".join(hook.removeprefix("trnbench_") for hook in hooks) or "–"),
    Column("brings"),
    Column("import_ms", "import ms", show=lambda value: f"{value:.1f}"),
    Column("state", keep=WANTED),
)


_UNSAID: dict[str, object] = {
    "hooks": [],
    "brings": "",
    "import_ms": None,
    "state": "ok",
    "problems": [],
    "warning": "",
}
"""Of a row whose plugin was not loaded."""


def _plugins(registry: Registry, commands: dict[str, list[str]]) -> Iterator[dict[str, object]]:
    brought = registry.collect()
    registry.readable(registry.instance_names())  # what cannot be read is a problem too
    seen = set()
    for loaded in registry.loaded:
        origin = loaded.origin
        own = commands.get(origin.distribution, []) if origin.distribution not in seen else []
        seen.add(origin.distribution)
        problems = registry.problems_of(origin)
        yield {
            **_identity(origin),
            "hooks": list(loaded.hooks),
            "brings": _summary([each for each in brought if each.origin is origin], own),
            "import_ms": round(loaded.import_s * 1e3, 1),
            "state": "problem" if problems else "slow" if loaded.slow else "ok",
            "problems": [str(problem) for problem in problems],
            "warning": loaded.slow,
        }
    for distribution, names in commands.items():
        if distribution not in seen:
            identity = {"plugin": "", "distribution": distribution, "version": ""}
            yield {**identity, **_UNSAID, "brings": _summary([], names)}


def _left_out(registry: Registry) -> Iterator[dict[str, object]]:
    for origin in registry.left_out:
        yield {**_identity(origin), **_UNSAID, "state": "left out"}


def _identity(origin: Origin) -> dict[str, object]:
    return {"plugin": origin.name, "distribution": origin.distribution, "version": origin.version}


def _commands(shared: Session) -> dict[str, list[str]]:
    """Commands by distribution, those of trnbench itself aside; two owners of a name are reported."""
    found = find_commands(shared.no_plugin)
    for problem in command_problems(found):
        say(f"warning: {problem.what}: {problem.cause}")
    commands: dict[str, list[str]] = {}
    for each in found.values():
        if each.external:
            commands.setdefault(each.distribution, []).append(each.name)
    return commands


def _summary(brought: list[Brought], commands: list[str]) -> str:
    """ "1 generation, 3 instances, command frob"."""
    counts = Counter(each.kind for each in brought)
    instances = sum(len(each.value.instances) for each in brought if each.kind == "generation")
    if instances:
        counts["instance"] = instances
    parts = [f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items()]
    return ", ".join([*parts, *(f"command {name}" for name in commands)])
