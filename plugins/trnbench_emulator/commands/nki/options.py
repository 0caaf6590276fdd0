"""Options that several `trnbench nki` commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trnbench.bounded import kinds
from trnbench.cli.bundle import F, bundle
from trnbench.cli.names import complete_systems, offer
from trnbench.cli.number import NumberType
from trnbench.errors import FactError, UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from trnbench.generation import System
    from trnbench.registry import Registry


_sources = offer(
    lambda registry, *_: (
        name
        for name, kernel in registry.kernels.items()
        if any(kind.startswith("nki") for kind in kernel.implementations)
    )
)


def complete_sources(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Benchmarks that have an NKI kernel, and files."""
    from click.shell_completion import CompletionItem

    found = [] if "/" in incomplete else _sources(ctx, param, incomplete)
    return [CompletionItem(name) for name in found] or [CompletionItem(incomplete, type="file")]


def instance_option(command: F, *, many: bool = False) -> F:
    """`--instance`, once or several times."""
    return click.option(
        "-i",
        "--instance",
        "instances" if many else "instance",
        multiple=many,
        metavar="NAME",
        help="The system whose core it runs on."
        + (" Several: side by side, time and shares of each." if many else ""),
        shell_complete=complete_systems,
    )(command)


kernel_options = bundle(
    click.argument("kernel", metavar="FILE.py::KERNEL|BENCHMARK", shell_complete=complete_sources),
    click.option(
        "--arg",
        "texts",
        multiple=True,
        metavar="NAME=VALUE",
        help="An argument: x=128x512:bf16, x=random:128x512:bf16, x=@file.npy or n=3; of a "
        "benchmark an axis: size=4096. Repeatable.",
    ),
    click.option(
        "--grid",
        metavar="N",
        help="Launch as N programs that share the problem, each on a core: 2, or as many as a device "
        "has. Of Beta 1 any sizes: 4x2, nc2x4.",
    ),
    click.option(
        "--check",
        "reference",
        metavar="FUNCTION",
        help="Compare with a NumPy function: its name (same file), FILE.py::NAME or module:NAME; "
        "`reference` for a benchmark.",
    ),
    click.option(
        "--tolerance",
        type=NumberType(kinds.TOLERANCE),
        metavar="X",
        help="For --check: largest error as a share of the largest value. Default: by data type.",
    ),
    click.option(
        "--seed", type=NumberType(kinds.SEED), default=0, show_default=True, help="Of random values."
    ),
    click.option(
        "--limit",
        type=NumberType(kinds.INSTRUCTIONS),
        default=20_000_000,
        show_default=True,
        metavar="N",
        help="Instructions after which a kernel is taken to be endless.",
    ),
    click.option(
        "--timeout",
        "timeout_s",
        type=NumberType(kinds.TIME_LIMIT),
        default=600.0,
        show_default=True,
        metavar="SECONDS",
        help="Stop after this long; 0 for never.",
    ),
    click.option(
        "--memory",
        type=NumberType(kinds.MEMORY),
        default="4G",
        show_default=True,
        metavar="SIZE",
        help="Memory of this machine that values may take.",
    ),
    click.option(
        "--nki",
        type=click.Choice(("auto", "trnbench")),
        default="auto",
        show_default=True,
        help="What `import nki` means: auto is the real package where it is installed.",
    ),
)
"""KERNEL, and how it is loaded, called and limited."""


def system_of(registry: Registry, instance: str | None) -> System:
    """The system called `instance`; "" names those there are. Raises `UsageError` and `UnknownName`."""
    if not instance:
        raise UsageError(
            "no --instance is given",
            cause="limits and times are those of one machine",
            try_="--instance "
            + next(iter(registry.instance_names()), "NAME")
            + "   (trnbench list instances)",
        )
    return runnable(registry.system(instance))


def runnable(system: System) -> System:
    """Raises `FactError` where no cost table says how long anything takes."""
    if not system.costs:
        raise FactError(
            f"{system.generation.name} has no cost table, so no time follows",
            cause=f"its plugin ({system.plugin or 'unknown'}) brings none",
            try_="an instance of another generation: trnbench list instances",
        )
    return system
