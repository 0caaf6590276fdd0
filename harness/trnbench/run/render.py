"""Runs in an output format: what reporting plugins bring, found by name."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import TYPE_CHECKING

from trnbench.errors import PluginError, TrnbenchError, UnknownName, UsageError
from trnbench.isolation.garbage import seldom_collected
from trnbench.isolation.interrupt import from_outside
from trnbench.isolation.output import aside
from trnbench.lazy import resolve
from trnbench.results.run import Run
from trnbench.section import Format, Page

if TYPE_CHECKING:
    from trnbench.registry import Registry

CORE_FORMATS = {
    "json": Format(
        name="json",
        title="the whole run, strict JSON",
        suffix=".json",
        write="trnbench:write_json",
    )
}
"""What needs no plugin: a run can always be taken out of the store."""


def formats(registry: Registry) -> dict[str, Format]:
    """Every output format by name; a plugin's goes over the core's own."""
    return {**CORE_FORMATS, **registry.formats}


def find_format(registry: Registry, name: str) -> Format:
    """The format called `name`; "md" is short for "markdown". Raises `UnknownName`."""
    known = formats(registry)
    name = {"md": "markdown"}.get(name, name)
    if name not in known:
        raise UnknownName("format", name, known, try_="trnbench list formats")
    return known[name]


def find_part(registry: Registry, part: str, suffix: str) -> Format:
    """The format that writes `part` of the page with this ending (".svg"), for "" the one that is words.

    Raises `UnknownName` for a part, `UsageError` for an ending that it is not written in.
    """
    parts = [each for each in formats(registry).values() if each.part]
    mine = {each.suffix.rpartition(".")[2]: each for each in parts if each.part == part}
    if not mine:
        known = list(dict.fromkeys(each.part for each in parts))
        raise UnknownName("part of the page", part, known, try_=f"trnbench report --part {known[0]}")
    wanted = suffix.lower().removeprefix(".") or ("md" if "md" in mine else next(iter(mine)))
    if wanted not in mine:
        endings = " or ".join(f".{each}" for each in mine)
        raise UsageError(
            f"{part} is not written as {suffix}",
            cause=f"of this part there is {endings}",
            try_=f"trnbench report --part {part} -o {part}.{next(iter(mine))}",
        )
    return mine[wanted]


def find_page(registry: Registry, name: str) -> Page:
    """The page of the command `name`. Raises `UsageError` where no plugin brings it."""
    page = registry.pages.get(name)
    if page is None:
        raise UsageError(
            f"no plugin here writes the page of trnbench {name}",
            cause="the reports were left out with --no-plugin, or failed to load: trnbench plugin list",
            try_=f"trnbench {name} --format json",
        )
    return page


def render_page(found: Sequence[object], page: Page) -> bytes:
    """What a command found as its page. Raises `PluginError` when its writer fails."""
    try:
        with aside():
            written = resolve(page.write)(found)
    except TrnbenchError:
        raise
    except BaseException as error:
        if from_outside(error):
            raise
        raise PluginError(
            f"page {page.name!r} cannot be written: {type(error).__name__}: {error}",
            cause=f"a bug in {page.write}; the runs are safe in the store",
            try_=f"trnbench {page.name} --format json",
        ) from error
    if not isinstance(written, bytes):
        raise PluginError(
            f"page {page.name!r} returned {type(written).__name__}, not bytes",
            cause=f"a bug in {page.write}; the runs are safe in the store",
            try_=f"trnbench {page.name} --format json",
        )
    return written


def render_bytes(
    runs: Sequence[Run], format: Format, registry: Registry, *, before: Run | None = None
) -> bytes:
    """The runs in `format`, a page with the sections of `registry`, and what changed since the run `before`.

    Raises `PluginError` when its writer fails.
    """
    try:
        write = resolve(format.write)
        with seldom_collected(), aside():
            if format.page and before is not None and "before" in signature(write).parameters:
                document = write(runs, registry.sections, before=before)
            else:
                document = write(runs, registry.sections) if format.page else write(runs)
    except TrnbenchError:
        raise
    except BaseException as error:
        if from_outside(error):
            raise
        raise PluginError(
            f"format {format.name!r} cannot write {', '.join(run.id for run in runs)}: "
            f"{type(error).__name__}: {error}",
            cause=f"a bug in {format.write}; the runs are safe in the store",
            try_="trnbench export RUN --as json",
        ) from error
    if isinstance(document, str):
        return document.encode()
    if not isinstance(document, bytes):
        raise PluginError(
            f"format {format.name!r} returned {type(document).__name__}, not bytes",
            cause=f"a bug in {format.write}; the runs are safe in the store",
            try_="trnbench export RUN --as json",
        )
    return document
