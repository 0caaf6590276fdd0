"""The `trnbench` program: a group that imports a command only when it is used."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click
from click import formatting

from trnbench.cli import commands
from trnbench.cli.help_page import COMPLETE, WIDEST, width
from trnbench.errors import ExitCode, debugging
from trnbench.terminal import VERBOSITY
from trnbench.terminal.context import PROGRAM, Session

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


OLD = {"cache info": "store cache", "cache clear": "store cache --clear"}
"""Commands of the version before, and what stands for them: they work for one version more."""


class Program(click.Group):
    """Knows its commands by name, and imports the one that is asked for.

    Turns every failure into a message on stderr and an exit code; never shows a traceback unasked.
    """

    block: tuple[str, ...] = ()
    of_others = False  # a command of a plugin is asked for: it may end the process as it likes

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

        shared = ctx.find_root().ensure_object(Session)
        shared.no_plugin = self.block
        shared.supervise()
        data_together()  # what such a command writes, and the programs it starts, is its data
        with asked(Suspect(entry.name, entry.distribution, entry.words, entry.target), again=False):
            command = entry.load()
        carries_out(entry.words)
        self.of_others = True
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if (now := OLD.get(" ".join(args[:2]))) is not None:
            from trnbench.terminal.output import mention

            mention(f"note: trnbench {' '.join(args[:2])} is now trnbench {now}")
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
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.help) for name, each in self.found.items() if not each.external])
        formatter.write(commands.section_of_others(self.found, formatter.width))

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        argv = list(sys.argv[1:] if args is None else args)
        if instruction := os.environ.get(COMPLETE):
            sys.exit(self._complete(instruction))
        shared = extra.pop("obj", None) or Session()
        # What click was told, else as it works it out.
        extra.setdefault("terminal_width", None if formatting.FORCED_WIDTH is not None else width())
        self.block, self.of_others = (), False
        vars(self).pop("found", None)  # one process may be asked twice, with other plugins
        try:
            with self.make_context("trnbench", argv, obj=shared, **extra) as ctx:
                result = self.invoke(ctx)
            # A command returns its exit code, or nothing.
            plain_int = isinstance(result, int) and not isinstance(result, bool)
            code = int(result) if plain_int else ExitCode.OK
        except click.exceptions.Exit as end:  # --help and --version
            code = end.exit_code
        except BaseException as error:
            if isinstance(error, SystemExit) and self.of_others:
                raise
            from trnbench.terminal.failure import report

            code = report(error, shared)
        shared.warn_of_plugins()
        sys.exit(int(code))

    def invoke(self, ctx: click.Context) -> Any:
        import trnbench.terminal.failure  # noqa: F401  # while files can be opened: the command may use them up

        return super().invoke(ctx)

    def _complete(self, instruction: str) -> int:
        from click.shell_completion import add_completion_class, shell_complete

        from trnbench.cli.completion import Bash

        add_completion_class(Bash)
        try:
            return shell_complete(self, {}, "trnbench", COMPLETE, instruction)
        except Exception:  # while a person types, nothing to offer beats a traceback
            if debugging():
                raise
            return ExitCode.CRASH


def _called(
    *, quiet: bool, verbose: int, no_plugin: tuple[str, ...], no_cache: bool, store: str | None
) -> None:
    ctx = click.get_current_context()
    shared = ctx.ensure_object(Session)
    ctx.call_on_close(shared.close)
    shared.verbosity = -1 if quiet else verbose
    shared.no_plugin = no_plugin
    shared.use_cache = not no_cache
    if store is not None:
        from pathlib import Path  # as dear as all that --help needs of ours

        shared.store = Path(store)
    ctx.meta[VERBOSITY] = shared.verbosity


cli = Program(
    "cli",
    params=[each.parameter() for each in PROGRAM.values()],
    callback=_called,
    help="""How close does a Trainium instance come to its documents, and what takes the rest? Measured on the
    hardware, emulated without it. Begin: trnbench run
    """,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDEST},
)
