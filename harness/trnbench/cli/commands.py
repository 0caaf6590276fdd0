"""Which commands exist: names and help without importing any of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from trnbench.distribution import NO_EXTERNAL, OWN, EntryPoint, enabled, entry_points, normalised
from trnbench.errors import PluginError

if TYPE_CHECKING:
    import click

# As in `trnbench.registry.hookspecs`, which --help does not import: pluggy comes with it.
GROUP, COMMAND_GROUP = "trnbench", "trnbench.commands"

TEXT = "commands.txt"
"""Beside the module that declares commands: of each a line with its place in the workflow, name and help."""
LAST = sys.maxsize
"""The place of commands without such a line."""
OTHERS = "Commands of plugins"
"""The heading of those that are not trnbench's own."""


class Found(NamedTuple):
    """A command before it is imported. `others` are distributions that bring the name as well.

    `place` in the workflow and `about` are what the package says that declares it.
    """

    name: str
    target: str
    distribution: str
    version: str
    others: tuple[str, ...] = ()
    place: int = LAST
    about: str = ""

    @property
    def external(self) -> bool:
        return normalised(self.distribution) != OWN

    @property
    def package(self) -> str:
        return self.target.partition(":")[0].partition(".")[0]

    @property
    def help(self) -> str:
        if not self.external:
            return self.about or f"(comes with the package {self.package}, which is not installed)"
        also = f"; {', '.join(self.others)} has one too" if self.others else ""
        return f"{self.about} (from {self.distribution}{also})".lstrip()

    @property
    def _entry(self) -> EntryPoint:
        return EntryPoint(COMMAND_GROUP, self.name, self.target, self.distribution, self.version)

    @property
    def words(self) -> str:
        """What it is called in a message."""
        return self._entry.words

    def load(self) -> click.Command:
        """Raises `PluginError` when the command cannot be imported or is none."""
        import click

        try:
            command = self._entry.load()
        except (Exception, SystemExit) as error:
            if isinstance(error, ModuleNotFoundError) and error.name == self.package:
                raise self._error(
                    f"command {self.name!r} is not installed here",
                    f"it comes with the package {self.package} of {self.distribution} {self.version}",
                    f"pip install --force-reinstall --no-deps {self.distribution}",
                ) from error
            from trnbench.registry.loader import described

            raise self._error(f"{self.words} cannot be imported", described(error)) from error
        if not isinstance(command, click.Command):
            raise self._error(
                f"{self.words} is no click command",
                f"{self.target} is {type(command).__name__}; it needs @click.command",
            )
        return command

    def _error(self, what: str, cause: str, try_: str = "") -> PluginError:
        return PluginError(
            what,
            cause=cause,
            try_=try_ or f"reinstall or remove {self.distribution}; the other commands work: trnbench --help",
            plugin=self.name,
            distribution=self.distribution,
            version=self.version,
            object_=self.target,
        )


def find_commands(block: Collection[str] = ()) -> dict[str, Found]:
    """All commands: trnbench's own in workflow order, then the others by name.

    A name of trnbench's own stays its own; of two others the first distribution keeps it.
    """
    entries = entry_points((GROUP, COMMAND_GROUP))
    blocked = {normalised(name) for name in block}
    blocked |= {
        normalised(entry.distribution)
        for entry in entries
        if entry.group == GROUP and normalised(entry.name) in blocked
    }
    own: list[Found] = []
    external: dict[str, list[Found]] = {}
    for entry in entries:
        if entry.group == GROUP:
            continue
        place, about = _texts(entry.value).get(entry.name, (LAST, ""))
        command = Found(entry.name, entry.value, entry.distribution, entry.version, place=place, about=about)
        if not command.external:
            own.append(command)
        elif normalised(entry.distribution) not in blocked and not enabled(NO_EXTERNAL):
            external.setdefault(entry.name, []).append(command)

    commands = {command.name: command for command in sorted(own, key=lambda each: (each.place, each.name))}
    for name, owners in sorted(external.items()):
        owners.sort(key=lambda found: normalised(found.distribution))
        if name in commands:
            owners.insert(0, commands[name])
        commands[name] = owners[0]._replace(others=tuple(each.distribution for each in owners[1:]))
    return commands


def _texts(target: str) -> dict[str, tuple[int, str]]:
    """Place and help of the commands declared in the folder of a module; none where it has no text."""
    folder = target.partition(":")[0].rpartition(".")[0].replace(".", os.sep)
    return _read_texts(folder) if folder else {}


@cache
def _read_texts(folder: str) -> dict[str, tuple[int, str]]:
    for root in sys.path:
        try:
            with open(os.path.join(root, folder, TEXT), "rb") as file:
                lines = file.read().decode("utf-8", "replace").splitlines()
        except OSError:
            continue
        words = [line.split(maxsplit=2) for line in lines]
        return {line[1]: (int(line[0]), line[2]) for line in words if len(line) == 3 and line[0].isdigit()}
    return {}


def command_problems(commands: dict[str, Found]) -> list[PluginError]:
    """Names that two distributions bring."""
    return [
        PluginError(
            f"command {name!r} of {other} has an owner",
            cause=f"{found.distribution} brings it already; that one is kept",
            try_=f"rename it in the pyproject.toml of {other}, or leave it out: --no-plugin {other}",
            plugin=name,
            distribution=other,
            object_=f"command {name!r}",
        )
        for name, found in commands.items()
        for other in found.others
    ]


def section_of_others(found: Mapping[str, Found], width: int) -> str:
    """The part of `trnbench --help` with commands of others, as click would write it; "" where there are
    none."""
    from textwrap import wrap

    rows = [(name, each.help) for name, each in found.items() if each.external]
    if not rows:
        return ""
    column = min(max(len(name) for name, _ in rows), 30) + 2
    lines = ["", f"{OTHERS}:"]
    for name, about in rows:
        wrapped = wrap(about, width - column - 2)
        first = f"  {name:{column}}" if len(name) <= column - 2 else f"  {name}\n{'':{column + 2}}"
        lines += [first + wrapped[0], *(" " * (column + 2) + line for line in wrapped[1:])]
    return "\n".join(lines) + "\n"
