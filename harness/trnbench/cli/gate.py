"""`trnbench gate`: is this run good enough?"""

from __future__ import annotations

import click

from trnbench.cli.gate_accept import accept
from trnbench.cli.gate_check import check


class DefaultGroup(click.Group):
    """Without the name of a command the first word belongs to `check`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["check", *args]
        return super().parse_args(ctx, args)


@click.group(
    cls=DefaultGroup, options_metavar="", subcommand_metavar="[RUN] [OPTIONS] | accept [RUN] [OPTIONS]"
)
def gate() -> None:
    """Fail where a run is worse than what it is held against.

    `trnbench gate [RUN] --against RUN|TAG|FILE [--rules gate.toml]` is short for `trnbench gate check`;
    `trnbench gate check --help` has its options.
    """


gate.add_command(check)
gate.add_command(accept)
