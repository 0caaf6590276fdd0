"""What the commands about one collective share: its name, the question, the columns of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trnbench.cli.fabric.options import about
from trnbench.cli.output import Column, say

if TYPE_CHECKING:
    from trnbench.emulator.fabric.result import Result
    from trnbench.emulator.fabric.systems import Fabric

COLLECTIVES = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "reduce",
    "permute",
    "barrier",
)


class Collective(click.ParamType[str]):
    """`all_reduce`, also as `all-reduce`, `allreduce` and nccl-tests' `all_reduce_perf`."""

    name = "collective"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from trnbench.errors import UnknownName

        plain = {name.replace("_", ""): name for name in COLLECTIVES}
        plain["sendrecv"] = "permute"
        word = str(value).lower().removesuffix("_perf").replace("-", "").replace("_", "")
        if word not in plain:
            raise UnknownName("collective", str(value), COLLECTIVES)
        return plain[word]


COLLECTIVE = click.argument("collective", type=Collective(), metavar="COLLECTIVE")


def ask(
    fabric: Fabric,
    collective: str,
    size: float,
    algorithm: str,
    groups: list[list[int]] | None = None,
    *,
    with_links: bool = False,
) -> Result:
    """One answer; groups are carried out at the same time."""
    from trnbench.emulator.fabric.collective import run as one
    from trnbench.emulator.fabric.groups import run_groups

    if groups:
        return run_groups(fabric, collective, size, groups, algorithm=algorithm, with_links=with_links)
    return one(fabric, collective, size, algorithm=algorithm, with_links=with_links)


def evidence(result: Result) -> str:
    return "emulated,unvalidated" if result.unvalidated else "emulated"


def say_about(fabric: Fabric) -> None:
    for line in about(fabric):
        say(line, level=0)


def time_column() -> Column:
    from trnbench.facts.format import show

    return Column("time_s", "time", "right", lambda value: show(value, "s"))


def two_places(value: float) -> str:
    return f"{value:,.2f}"


def percent_of(value: float) -> str:
    from trnbench.facts.format import percent

    return percent(value)
