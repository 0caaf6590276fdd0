"""What the commands about one collective share: its name, the question, the columns of answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from trnbench.bounded.kinds import MESSAGE

if TYPE_CHECKING:
    from trnbench.emulator.fabric.beside import Other
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

    def __init__(self, uneven: tuple[str, ...] = ()) -> None:
        self.known = (*COLLECTIVES, *uneven)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from trnbench.errors import UnknownName

        plain = {name.replace("_", ""): name for name in self.known}
        plain["sendrecv"] = "permute"
        word = str(value).lower().removesuffix("_perf").replace("-", "").replace("_", "")
        if word not in plain:
            raise UnknownName(
                "collective", str(value), self.known, try_="trnbench fabric algorithms -i trn2-16.48xlarge"
            )
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
    beside: Sequence[Other] = (),
) -> Result:
    """One answer; groups are carried out at the same time, and what is `beside` as well."""
    from trnbench.emulator.fabric.beside import run_beside
    from trnbench.emulator.fabric.collective import run as one
    from trnbench.emulator.fabric.groups import run_groups

    if beside:
        return run_beside(
            fabric,
            collective,
            size,
            beside,
            algorithm=algorithm,
            groups=groups or (),
            with_links=with_links,
        )
    if groups:
        return run_groups(fabric, collective, size, groups, algorithm=algorithm, with_links=with_links)
    return one(fabric, collective, size, algorithm=algorithm, with_links=with_links)


def ask_uneven(
    fabric: Fabric,
    collective: str,
    sizes: Sequence[float],
    shares: Sequence[float],
    algorithm: str,
    groups: Sequence[Sequence[int]],
) -> tuple[list[Result], list[Result]]:
    """An answer for each size by these shares, and by even ones."""
    from trnbench.emulator.fabric.uneven import run_uneven

    alike = [1.0] * len(shares)
    found, even = (
        [run_uneven(fabric, collective, size, each, algorithm=algorithm, groups=groups) for size in sizes]
        for each in (shares, alike)
    )
    return found, even


with_option = click.option(
    "--with",
    "others",
    multiple=True,
    metavar="COLLECTIVE=SIZE[@KIND=SIZE]",
    help="Another collective at the same time: all_to_all=64M; in groups: all_to_all=64M@expert=8.",
)


def others_of(fabric: Fabric, texts: Sequence[str]) -> list[Other]:
    """What `--with` names. Raises UsageError for what cannot be read."""
    from trnbench.cli.fabric.grouping import groups_of
    from trnbench.emulator.fabric.beside import Other
    from trnbench.errors import UsageError

    found = []
    for text in texts:
        what, _, kinds = text.partition("@")
        name, equals, size = what.partition("=")
        if not equals:
            raise UsageError(
                f"--with {text} is no COLLECTIVE=SIZE",
                cause="a collective, its message, and behind @ the groups if there are some",
                try_="--with all_to_all=64M or --with all_to_all=64M@expert=8",
            )
        groups = groups_of(fabric, (kinds,), None) if kinds else []
        found.append(
            Other(
                collective=Collective().convert(name, None, None),
                size=float(MESSAGE.counted(size, f"--with {name}")),
                groups=tuple(tuple(each) for each in groups),
            )
        )
    return found
