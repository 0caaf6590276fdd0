"""Which commands exist: names and help without importing any of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple

import click

from trnbench.distribution import NO_EXTERNAL, OWN, EntryPoint, enabled, entry_points, normalised
from trnbench.errors import PluginError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# As in `trnbench.registry.hookspecs`, which --help does not import: pluggy comes with it.
GROUP, COMMAND_GROUP = "trnbench", "trnbench.commands"

TEXT = "commands.txt"
"""Beside the module that declares commands: of each a line with its place in the workflow, name and help."""
OLD = {"cache info": "store cache", "cache clear": "store cache --clear"}
"""Commands of the version before, and what stands for them: they work for one version more."""
LAST = 1000
"""The place of commands without such a line."""


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
    def words(self) -> str:
        """What it is called in a message."""
        return f"command {self.name!r} of {self.distribution} {self.version}".rstrip()

    def load(self) -> click.Command:
        """Raises `PluginError` when the command cannot be imported or is none."""
        entry = EntryPoint(COMMAND_GROUP, self.name, self.target, self.distribution, self.version)
        try:
            command = entry.load()
        except (Exception, SystemExit) as error:
            if isinstance(error, ModuleNotFoundError) and error.name == self.package:
                raise self._missing(self.package) from error
            from trnbench.registry.loader import described

            raise self._blame("cannot be imported", described(error)) from error
        if not isinstance(command, click.Command):
            raise self._blame(
                "is no click command", f"{self.target} is {type(command).__name__}; it needs @click.command"
            )
        return command

    def _missing(self, package: str) -> PluginError:
        return PluginError(
            f"command {self.name!r} is not installed here",
            cause=f"it comes with the package {package} of {self.distribution} {self.version}",
            try_=f"pip install --force-reinstall --no-deps {self.distribution}",
            plugin=self.name,
            distribution=self.distribution,
            version=self.version,
            object_=self.target,
        )

    def _blame(self, what: str, cause: str) -> PluginError:
        return PluginError(
            f"{self.words} {what}",
            cause=cause,
            try_=f"reinstall or remove {self.distribution}; the other commands work: trnbench --help",
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
            with open(os.path.join(root, folder, TEXT), "rb", buffering=0) as file:
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


class LazyGroup(click.Group):
    """Knows its commands by name; imports the one that is asked for."""

    block: tuple[str, ...] = ()

    @cached_property
    def found(self) -> dict[str, Found]:
        return find_commands(self.block)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.found)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.found.get(cmd_name)
        if entry is None or not entry.external:
            return entry.load() if entry else None
        from trnbench.isolation.output import data_together
        from trnbench.isolation.supervision import Suspect, asked, carries_out
        from trnbench.terminal.context import Session

        ctx.find_root().ensure_object(Session).supervise()
        data_together()  # what such a command writes, and the programs it starts, is its data
        with asked(Suspect(entry.name, entry.distribution, entry.words, entry.target), again=False):
            command = entry.load()
        carries_out(entry.words)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if (now := OLD.get(" ".join(args[:2]))) is not None:
            from trnbench.terminal.output import say

            say(f"note: trnbench {' '.join(args[:2])} is now trnbench {now}", level=0)
            args = [*now.split(), *args[2:]]
        name = args[0]
        if name not in self.found and not name.startswith("-") and not ctx.resilient_parsing:
            from trnbench.errors import UnknownName

            raise UnknownName("command", name, self.found, try_="trnbench --help")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        commands = [
            CompletionItem(name, help=found.help)
            for name, found in self.found.items()
            if name.startswith(incomplete)
        ]
        # click.Group would import every command for its help text.
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [(name, found.help) for name, found in self.found.items() if not found.external]
        others = [(name, found.help) for name, found in self.found.items() if found.external]
        for heading, rows in (("Commands", own), ("Commands of plugins", others)):
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)
