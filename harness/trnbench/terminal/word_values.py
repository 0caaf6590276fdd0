"""Values of words that are more than one of some choices: readings of documents, lists, formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from trnbench.terminal import VERBOSITY, WIDE
from trnbench.terminal.context import Session

READINGS = {"neuronlink": ("one-way", "both-ways"), "trn3-links": ("levels", "table", "chip-page")}
"""Of each reading's name its values; the first is taken unless another is asked for."""

BUILDERS = {"neuronlink": "neuronlink_direction", "trn3-links": "trn3_links"}
"""What builders of graphs call them."""


LISTS = (
    *("kernels", "instances", "cases", "tags", "families", "backends", "formats", "importers"),
    "sections",
)


def configured_format() -> str:
    """How results are printed unless a command says otherwise."""
    from trnbench.terminal.settings import load_settings

    return load_settings().format


def table_format(ctx: click.Context, _: click.Parameter, value: str) -> str:
    """A wide table is a table to bodies; the terminal counts as wide enough."""
    if value == "wide":
        ctx.meta[WIDE] = True
    return "table" if value == "wide" else value


def quiet(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    """No progress and no warnings from here on."""
    shared = ctx.find_object(Session)
    if value and shared is not None:
        shared.verbosity = ctx.meta[VERBOSITY] = -1


def no_cache(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    """Nothing that was computed before is used or kept."""
    shared = ctx.find_object(Session)
    if value and shared is not None:
        shared.use_cache = False


class ListName(click.ParamType[str]):
    """One of the lists of `trnbench list`, or "" for the first; the nearest one is named when it is none."""

    name = "what"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Raises `UnknownName`."""
        if value in LISTS or not value:
            return value
        from trnbench.errors import UnknownName

        raise UnknownName(
            "list", value, LISTS, try_=f"trnbench list cases {value}, for the cases of a kernel of that name"
        )

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Those that begin so."""
        return _offered(LISTS, incomplete)


class Reading(click.ParamType[str]):
    """`trn3-links=table`: how documents are read that can be read in more than one way."""

    name = "reading"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Raises `UsageError` for what is no reading."""
        name, _, reading = value.partition("=")
        if reading in READINGS.get(name, ()):
            return value
        from trnbench.errors import UsageError, cut

        known = ", ".join(f"{name}={'|'.join(readings)}" for name, readings in READINGS.items())
        raise UsageError(
            f"--reading {cut(value)} is none", cause=f"known: {known}", try_="--reading neuronlink=both-ways"
        )

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Those that begin so."""
        offers = [f"{name}={reading}" for name, readings in READINGS.items() for reading in readings]
        return _offered(offers, incomplete)


def readings_of(texts: tuple[str, ...]) -> dict[str, str]:
    """Of --reading: option of a graph's builder → value; the last of several for one holds."""
    pairs = (text.partition("=") for text in texts)
    return {BUILDERS[name]: reading for name, _, reading in pairs}


def offered(names: Iterable[str]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Completion of a word that takes any text, and these above all."""
    return lambda _ctx, _param, incomplete: [name for name in names if name.startswith(incomplete)]


def _offered(names: Iterable[str], incomplete: str) -> list[Any]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
