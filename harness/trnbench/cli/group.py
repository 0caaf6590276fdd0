"""The group of all commands: it imports the one that is asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import click

from trnbench.cli import commands

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

OLD = {"cache info": "store cache", "cache clear": "store cache --clear"}
"""Commands of the version before, and what stands for them: they work for one version more."""


class LazyGroup(click.Group):
    """Knows its commands by name; imports the one that is asked for."""

    block: tuple[str, ...] = ()

    @cached_property
    def found(self) -> dict[str, commands.Found]:
        return commands.find_commands(self.block)

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

        named = [
            CompletionItem(name, help=found.help)
            for name, found in self.found.items()
            if name.startswith(incomplete)
        ]
        # click.Group would import every command for its help text.
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [(name, found.help) for name, found in self.found.items() if not found.external]
        others = [(name, found.help) for name, found in self.found.items() if found.external]
        for heading, rows in (("Commands", own), (commands.OTHERS, others)):
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)
