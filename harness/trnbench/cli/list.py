"""`trnbench list`: what there is to run, and on what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from trnbench.errors import UsageError
from trnbench.reference import Ref, resolve
from trnbench.run.selection import Selection, choose_instances
from trnbench.terminal.cell import SPARE, WANTED, Column, Columns
from trnbench.terminal.context import Session
from trnbench.terminal.option import typed_flags
from trnbench.terminal.output import Row, emit, paragraph, say

if TYPE_CHECKING:
    from trnbench.registry import Registry


def _instances(registry: Registry, selection: Selection) -> Iterable[Row]:
    asked = choose_instances(registry, selection) if selection.asked() else ()
    for system in registry.systems(asked or registry.readable(registry.instance_names())):
        yield {
            "instance": system.name,
            "generation": system.generation.name,
            "scope": str(system.instance.scope),
            "devices": system.devices,
            "cores": system.devices * system.cores_per_device,
            "hosts": system.hosts,
            "by_default": system.instance.default,
            "aliases": list(system.instance.aliases),
            "title": system.instance.title,
        }


def _formats(registry: Registry, _: Selection) -> Iterable[Row]:
    for name, each in registry.formats.items():
        yield {"format": name, "suffix": each.suffix, "title": each.title}


def _importers(registry: Registry, _: Selection) -> Iterable[Row]:
    from trnbench.run.importing import importers  # what runs are made of comes with it

    for name, each in importers(registry).items():
        yield {"importer": name, "title": each.title}


def _sections(registry: Registry, _: Selection) -> Iterable[Row]:
    for each in registry.sections:
        yield {"section": each.name, "order": each.order, "title": each.title}


class _List(NamedTuple):
    """What a reference stands for is imported when it is asked for."""

    rows: Ref | Callable[[Registry, Selection], Iterable[Row]]
    columns: Ref | Columns
    exact: Ref | Columns = ()  # of CSV, where those are others


def _joined(value: Any) -> str:
    return " ".join(map(str, value))


_RUN, _REQUEST = "trnbench.cli.benchmarks", "trnbench.terminal.request"

_GROUPED = (Column("count", "kernels", "right"), Column("kernels", "names", show=_joined))

_LISTS: Mapping[str, _List] = {
    "kernels": _List(
        f"{_RUN}:kernels",
        (
            *("kernel", "family", Column("axes", show=_joined, keep=WANTED)),
            *(Column("tags", show=_joined, keep=SPARE), Column("about", keep=WANTED)),
        ),
    ),
    "instances": _List(
        _instances,
        (
            "instance",
            "generation",
            "scope",
            "devices",
            "cores",
            "hosts",
            Column("by_default", "by default"),
            Column("aliases", show=_joined, keep=SPARE),
            "title",
        ),
    ),
    "cases": _List(f"{_RUN}:cases", f"{_REQUEST}:CASE_COLUMNS", f"{_REQUEST}:EXACT"),
    "tags": _List(f"{_RUN}:tags", ("tag", *_GROUPED)),
    "families": _List(f"{_RUN}:families", ("family", *_GROUPED)),
    "backends": _List(
        f"{_RUN}:backends",
        (
            "backend",
            "available",
            Column("instance", keep=SPARE),
            Column("why", keep=WANTED),
            Column("try", keep=WANTED),
        ),
    ),
    "formats": _List(_formats, ("format", "suffix", "title")),
    "importers": _List(_importers, ("importer", "title")),
    "sections": _List(_sections, ("section", "order", "title")),
}


_WHOLE = ("backends", "formats", "importers", "sections")
"""What no kernel or system narrows down."""


def list_(state: Session, /, *, what: str, format: str, **chosen: Any) -> None:
    """What there is of one kind, narrowed down as a run is; without one, kernels below what answers here."""
    listed = _LISTS[what or "kernels"]
    if what in _WHOLE:
        for name, flag in typed_flags(click.get_current_context(), chosen).items():
            raise UsageError(
                f"list {what} takes no {'KERNEL' if name == flag else flag}",
                cause="it lists all there are, for every kernel and system",
                try_=f"trnbench list {what}",
            )
    if not what and format == "table":
        paragraph(f"{resolve(f'{_RUN}:here')(state.registry)}\n")
    rows = list(resolve(listed.rows)(state.registry, Selection.of(**chosen)))
    emit(rows, resolve((listed.exact if format == "csv" else ()) or listed.columns), format)
    if what == "cases" and state.verbosity >= 0:
        skipped = sum(row["planned"] == "skip" for row in rows)
        say(f"{len(rows):,} cases, {skipped:,} of them would be skipped")
