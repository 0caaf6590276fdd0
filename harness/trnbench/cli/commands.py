"""Which commands exist: names and help without importing any of them."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import click

from trnbench.errors import PluginError
from trnbench.installed import normalised
from trnbench.registry.entry_points import (
    NO_EXTERNAL,
    OWN,
    EntryPoint,
    enabled,
    entry_points,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# As in `trnbench.hookspecs`, which --help does not import: pluggy comes with it.
GROUP, COMMAND_GROUP = "trnbench", "trnbench.commands"

# In workflow order. Here, not in the commands, because --help must not import them.
BUILT_IN = {
    "run": "Run benchmarks, emulated or measured, and write a report.",
    "resume": "Go on with a run where it ended.",
    "nki": "Run an NKI kernel of your own, unchanged: time, limits, values.",
    "list": "List instances, kernels, backends, formats and sections.",
    "info": "Show all there is to know about one instance or kernel.",
    "spec": "Show, list, check and compare the documented figures.",
    "topology": "Show, check and export the graph of a system.",
    "fabric": "Ask the links: collectives, pairs, cuts, scaling, assumptions.",
    "workload": "Models: parameters, operations, memory, where they fit.",
    "plan": "Rank layouts and instances for a model, by time or dollars.",
    "plugin": "List, check and create plugins.",
    "runs": "List, show, trace, tag and delete stored runs.",
    "compare": "Say what changed from one run to another.",
    "gate": "Fail where a run is worse than its baseline.",
    "history": "Show cases over the stored runs, and their steps.",
    "report": "Write the HTML report of stored runs.",
    "export": "Write stored runs as JSON, CSV and other formats.",
    "import": "Put runs from files into the store.",
    "store": "Check, repair, back up and merge stores.",
    "cache": "Show or forget what was computed before.",
    "validate": "Hold the emulator against published measurements.",
    "doctor": "Say what works here, what does not, and what to do.",
    "config": "Show settings and where each one comes from.",
    "completion": "Print the completion script of a shell.",
}


class Found(NamedTuple):
    """A command before it is imported. `others` are distributions that bring the name as well."""

    name: str
    target: str
    distribution: str
    version: str
    others: tuple[str, ...] = ()

    @property
    def external(self) -> bool:
        return self.name not in BUILT_IN

    @property
    def help(self) -> str:
        own = BUILT_IN.get(self.name)
        if own:
            return own
        also = f"; {', '.join(self.others)} has one too" if self.others else ""
        return f"(from {self.distribution}{also})"

    def load(self) -> click.Command:
        """Raises `PluginError` when the command cannot be imported or is none."""
        entry = EntryPoint(COMMAND_GROUP, self.name, self.target, self.distribution, self.version)
        try:
            command = entry.load()
        except (Exception, SystemExit) as error:
            package = self.target.partition(":")[0].partition(".")[0]
            if isinstance(error, ModuleNotFoundError) and error.name == package:
                raise self._missing(package) from error
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
            f"command {self.name!r} of {self.distribution} {self.version} {what}",
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
    own: dict[str, Found] = {}
    external: dict[str, list[Found]] = {}
    for entry in entries:
        command = Found(entry.name, entry.value, entry.distribution, entry.version)
        if entry.group == GROUP:
            continue
        if normalised(entry.distribution) == OWN:
            own[entry.name] = command
        elif normalised(entry.distribution) not in blocked and not enabled(NO_EXTERNAL):
            external.setdefault(entry.name, []).append(command)

    commands = {name: own[name] for name in BUILT_IN if name in own}
    commands |= {name: found for name, found in own.items() if name not in commands}
    for name, owners in sorted(external.items()):
        owners.sort(key=lambda found: normalised(found.distribution))
        if name in commands:
            owners.insert(0, commands[name])
        commands[name] = owners[0]._replace(others=tuple(each.distribution for each in owners[1:]))
    return commands


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
        found = self.found.get(cmd_name)
        if found is not None and found.external:
            from trnbench.isolation.output import data_together

            data_together()  # what such a command writes, and the programs it starts, is its data
        return found.load() if found else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
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
