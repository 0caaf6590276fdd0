"""What the commands about one collective share: its name, the question, the columns of answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from trnbench.bounded.kinds import MESSAGE

if TYPE_CHECKING:
    from trnbench_emulator.fabric.question import Beside
    from trnbench_emulator.fabric.systems import Fabric

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

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in self.known if name.startswith(incomplete)]


COLLECTIVE = click.argument("collective", type=Collective(), metavar="COLLECTIVE")


def frozen(groups: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Groups as a question takes them."""
    return tuple(tuple(group) for group in groups)


with_option = click.option(
    "--with",
    "others",
    multiple=True,
    metavar="COLLECTIVE=SIZE[@KIND=SIZE]",
    help="Another collective at the same time: all_to_all=64M; in groups: all_to_all=64M@expert=8.",
)


def others_of(fabric: Fabric, texts: Sequence[str]) -> list[Beside]:
    """What `--with` names. Raises UsageError for what cannot be read."""
    from trnbench.errors import UsageError
    from trnbench_emulator.commands.fabric.grouping import groups_of
    from trnbench_emulator.fabric.question import Beside

    neighbours = []
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
        neighbours.append(
            Beside(
                collective=Collective().convert(name, None, None),
                size=float(MESSAGE.counted(size, f"--with {name}")),
                groups=frozen(groups),
            )
        )
    return neighbours
