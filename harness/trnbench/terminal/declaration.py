"""Commands declared apart from their bodies: what they take, and what their help says.

The module of a body is imported when the command is carried out: help and completion need none of what bodies
import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from inspect import cleandoc
from typing import Any, NamedTuple

import click

from trnbench.errors import UnknownName
from trnbench.terminal.option import OldSpelling, Option, Table, check_needs

Body = str
"""Where the function of a command is: "package.module:function"."""

SCREEN = 40
"""Lines of help that fit on a screen; options that are rare stand in --help-all where there are more."""


WIDEST_TERM = 24
"""Columns of options in help: longer ones have their sentence on the line below."""


def _help_all(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        ctx.meta[EVERYTHING] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


EVERYTHING = "trnbench.help_all"
"""Of the context's `meta`: that help holds what is rare, too."""
_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_help_all,
    help="Show all options and exit.",
)


class Command(click.Command):
    """A command made of words. Its help has their headings, and fits on a screen.

    `old` has the spellings of the version before that stand for words of it; `needs` of a word, by its key,
    those without which it says nothing, or a `!` and the one with which it does.
    """

    old: Mapping[str, OldSpelling] = {}
    needs: Mapping[str, str] = {}

    @property
    def rare(self) -> bool:
        """Whether help leaves options out."""
        return any(isinstance(param, Option) and param.rare for param in self.params)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        params = super().get_params(ctx)
        return [*params, _HELP_ALL] if self.rare else params

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self.old and not ctx.resilient_parsing:
            flags = tuple(self.old)
            if any(word.startswith(flags) for word in args):
                from trnbench.terminal.old_spelling import renewed  # no command of today's words needs it

                args = renewed(args, self.old)
        rest = super().parse_args(ctx, args)
        if self.needs and not ctx.resilient_parsing:
            check_needs(ctx, self.needs)
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """All words where they fit on a screen with what stands above them, else those that are not rare."""
        before = formatter.getvalue().count("\n")
        everything = _written(ctx, self.get_params(ctx), formatter)
        if ctx.meta.get(EVERYTHING) or not self.rare or before + everything.count("\n") <= SCREEN:
            formatter.write(everything)
        else:
            usual = [param for param in self.get_params(ctx) if not getattr(param, "rare", False)]
            formatter.write(_written(ctx, usual, formatter))


def _written(ctx: click.Context, params: list[click.Parameter], page: click.HelpFormatter) -> str:
    """Options below their headings, in the order of the command; --help and its kin last, below none."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for param in params:
        record = param.get_help_record(ctx)
        if record is not None and isinstance(param, click.Option):  # usage has the arguments
            groups.setdefault(getattr(param, "heading", "") or OTHER, []).append(record)
    groups[OTHER] = groups.pop(OTHER, [])
    part = click.HelpFormatter(width=page.width)
    for heading, records in groups.items():
        if records:
            with part.section(heading):
                part.write_dl(records, col_max=WIDEST_TERM)
    return "\n" + part.getvalue()


OTHER = "Help"
"""The heading of what is in no table."""


class Leaf(NamedTuple):
    """A command: where its body is, what help says of it, and the keys of the words that it takes.

    `own` is what it says otherwise of a word, see `Word.but`; `settings` are of `click.Command`. `needs` has
    for a key those of which one must be typed with it, or a `!` and the one that must not.
    """

    body: Body
    help: str
    takes: str = ""
    own: Mapping[str, Mapping[str, Any]] = {}
    kind: type[Command] = Command
    settings: Mapping[str, Any] = {}
    needs: Mapping[str, str] = {}

    def command(self, name: str, table: Table) -> click.Command:
        """Its click command; the body is imported when it is carried out."""
        words = list(table.words(self.takes, self.own))
        params = [word.parameter() for word in words]
        command = self.kind(
            name, params=params, callback=_door(self.body), help=cleandoc(self.help), **self.settings
        )
        command.old, command.needs = table.spellings(words), self.needs
        return command


class Branch(NamedTuple):
    """A command that has commands. `old` has the words that stand for those of the version before."""

    help: str
    leaves: Mapping[str, Leaf]
    default: str = ""
    settings: Mapping[str, Any] = {}
    old: Mapping[str, str] = {}

    def command(self, name: str, table: Table) -> click.Command:
        """Its click group, which makes a command when that is asked for."""
        return Grown(name, self, table, help=cleandoc(self.help), **self.settings)


class Grown(click.Group):
    """The group of a `Branch`. Where that has a default, a first word that is no command belongs to it."""

    def __init__(self, name: str, branch: Branch, table: Table, **settings: Any) -> None:
        super().__init__(name, callback=lambda: None, **settings)
        self.branch, self.table = branch, table

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.branch.leaves)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands and (leaf := self.branch.leaves.get(cmd_name)) is not None:
            self.commands[cmd_name] = leaf.command(cmd_name, self.table)
        return self.commands.get(cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and (now := self.branch.old.get(args[0])) is not None:
            from trnbench.terminal.output import mention  # what is typed as it is spelled today needs it not

            mention(f"note: {ctx.command_path} {args[0]} is now {ctx.command_path} {now}")
            args = [*now.split(), *args[1:]]
        default = self.branch.default
        if default and (not args or args[0] not in (*self.branch.leaves, *ctx.help_option_names)):
            args = [default, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.branch.leaves and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise UnknownName("command", args[0], self.branch.leaves, try_=f"{ctx.command_path} --help")
        return super().resolve_command(ctx, args)


def commands(table: Table, declared: Mapping[str, Leaf | Branch]) -> Callable[[str], click.Command]:
    """The `__getattr__` of a module that has the click commands of `declared`, each made when asked for."""

    @cache
    def command(name: str) -> click.Command:
        if name not in declared:
            raise AttributeError(name)
        return declared[name].command(name, table)

    return command


def _door(body: Body) -> Callable[..., Any]:
    """Opens when the command is carried out: only then is its body imported."""

    def carried_out(**options: Any) -> Any:
        module, _, function = body.partition(":")
        shared = click.get_current_context().obj  # a `Session`
        shared.supervise()
        return getattr(import_module(module), function)(shared, **options)

    carried_out.body = body  # type: ignore[attr-defined]
    return carried_out
