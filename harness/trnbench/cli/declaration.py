"""Commands declared apart from their bodies: what they take, and what their help says.

The module of a body is imported when the command is carried out: help and completion need none of what bodies
import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click

from trnbench.cli.option import Table

Body = str
"""Where the function of a command is: "package.module:function"."""


class Leaf(NamedTuple):
    """A command: where its body is, what help says of it, and the keys of the words that it takes.

    `own` is what it says otherwise of a word, see `Word.but`; `settings` are of `click.Command`.
    """

    body: Body
    help: str
    takes: str = ""
    own: Mapping[str, Mapping[str, Any]] = {}
    kind: type[click.Command] = click.Command
    settings: Mapping[str, Any] = {}

    def command(self, name: str, table: Table) -> click.Command:
        """Its click command; the body is imported when it is carried out."""
        params = [each.parameter() for each in table.words(self.takes, self.own)]
        return self.kind(
            name, params=params, callback=_door(self.body), help=_reflowed(self.help), **self.settings
        )


class Branch(NamedTuple):
    """A command that has commands."""

    help: str
    leaves: Mapping[str, Leaf]
    default: str = ""
    settings: Mapping[str, Any] = {}

    def command(self, name: str, table: Table) -> click.Command:
        """Its click group, which makes a command when that is asked for."""
        return Grown(name, self, table, help=_reflowed(self.help), **self.settings)


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
        default = self.branch.default
        if default and (not args or args[0] not in (*self.branch.leaves, *ctx.help_option_names)):
            args = [default, *args]
        return super().parse_args(ctx, args)


def commands(table: Table, declared: Mapping[str, Leaf | Branch]) -> Callable[[str], click.Command]:
    """The `__getattr__` of a module that has the click commands of `declared`, each made when asked for."""
    cache: dict[str, click.Command] = {}

    def command(name: str) -> click.Command:
        if name not in declared:
            raise AttributeError(name)
        if name not in cache:
            cache[name] = declared[name].command(name, table)
        return cache[name]

    return command


def _door(body: Body) -> Callable[..., Any]:
    """Opens when the command is carried out: only then is its body imported."""

    def carried_out(**options: Any) -> Any:
        module, _, function = body.partition(":")
        shared = click.get_current_context().obj  # a `Session`
        return getattr(import_module(module), function)(shared, **options)

    carried_out.body = body  # type: ignore[attr-defined]
    return carried_out


def _reflowed(help: str) -> str:
    from inspect import cleandoc  # click has it imported

    return cleandoc(help)
