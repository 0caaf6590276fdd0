"""`trnbench list`: what there is to run, and on what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from trnbench.errors import PluginError
from trnbench.run.plan import plan
from trnbench.run.points import Points, names_of, parse_keyword
from trnbench.run.reply import detected
from trnbench.run.selection import (
    Selection,
    choose_instances,
    choose_kernels,
    choose_scopes,
)
from trnbench.terminal.cell import Column
from trnbench.terminal.context import Session
from trnbench.terminal.output import emit, paragraph, say
from trnbench.terminal.request import CASE_COLUMNS, EXACT, case_rows

if TYPE_CHECKING:
    from trnbench.kernels.kernel import Kernel
    from trnbench.registry import Registry


Row = dict[str, object]


def _kernels(registry: Registry, selection: Selection) -> Iterable[Row]:
    for kernel in _chosen(registry, selection):
        yield {
            "kernel": kernel.name,
            "family": kernel.family,
            "axes": [axis.name for axis in kernel.axes],
            "scopes": [str(scope) for scope in kernel.scopes],
            "tags": list(kernel.tags),
            "metric": kernel.primary.name,
            "implementations": list(kernel.implementations),
            "about": kernel.about,
            "tests": [str(each) for each in kernel.tests],
        }


def _instances(registry: Registry, selection: Selection) -> Iterable[Row]:
    names = choose_instances(registry, selection) if selection.asked() else registry.instance_names()
    for system in registry.systems(names):
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


def _cases(registry: Registry, selection: Selection) -> Iterable[Row]:
    return case_rows(plan(registry, selection))


def _tags(registry: Registry, selection: Selection) -> Iterable[Row]:
    return _grouped(registry, selection, "tag", lambda kernel: kernel.tags)


def _families(registry: Registry, selection: Selection) -> Iterable[Row]:
    return _grouped(registry, selection, "family", lambda kernel: (kernel.family,))


def _backends(registry: Registry, _: Selection) -> Iterable[Row]:
    for name, backend in registry.backends.items():
        detection = detected(backend)
        yield {
            "backend": name,
            "available": detection.available,
            "instance": detection.instance,
            "why": detection.why,
            "try": detection.try_,
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


def _chosen(registry: Registry, selection: Selection) -> Iterable[Kernel]:
    """Kernels by name, tag, family; by -k and dtype too, as far as they speak of kernels."""
    kernels = choose_kernels(registry, selection)
    choose_instances(registry, selection)  # a name nobody has is a mistake here too
    points = Points.of(selection, kernels, registry.kernels.values())
    scopes = choose_scopes(selection)
    fits = parse_keyword(selection.keyword) if selection.keyword else None
    for kernel in kernels:
        words = frozenset(
            word for name in (kernel.name, kernel.family, *kernel.tags) for word in names_of(name)
        )
        if scopes and not scopes & _scope_words(kernel):
            continue
        for point in points.combine(kernel, wide=False)[0]:
            own = frozenset(value for value in point.values() if isinstance(value, str))
            if fits is None or fits(words | own):
                yield kernel
                break


def _scope_words(kernel: Kernel) -> set[str]:
    own = {str(scope) for scope in kernel.scopes}
    return own | {"system", "ultraserver", "cluster"} if "instance" in own else own


def _grouped(
    registry: Registry, selection: Selection, what: str, words: Callable[[Kernel], tuple[str, ...]]
) -> Iterable[Row]:
    groups: dict[str, list[str]] = {}
    for kernel in _chosen(registry, selection):
        for word in words(kernel):
            groups.setdefault(word, []).append(kernel.name)
    order = groups if what == "family" else sorted(groups)
    return [{what: word, "count": len(groups[word]), "kernels": groups[word]} for word in order]


class _List(NamedTuple):
    rows: Callable[[Registry, Selection], Iterable[Row]]
    columns: tuple[Column | str, ...]
    exact: tuple[Column | str, ...] = ()  # of CSV, where those are others


def _joined(value: Any) -> str:
    return " ".join(map(str, value))


_LISTS: Mapping[str, _List] = {
    "kernels": _List(
        _kernels,
        (
            *("kernel", "family", Column("axes", show=_joined, keep=1)),
            *(Column("tags", show=_joined, keep=-1), Column("about", keep=1)),
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
            Column("aliases", show=_joined, keep=-1),
            "title",
        ),
    ),
    "cases": _List(_cases, CASE_COLUMNS, EXACT),
    "tags": _List(
        _tags, ("tag", Column("count", "kernels", "right"), Column("kernels", "names", show=_joined))
    ),
    "families": _List(
        _families, ("family", Column("count", "kernels", "right"), Column("kernels", "names", show=_joined))
    ),
    "backends": _List(
        _backends,
        ("backend", "available", Column("instance", keep=-1), Column("why", keep=1), Column("try", keep=1)),
    ),
    "formats": _List(_formats, ("format", "suffix", "title")),
    "importers": _List(_importers, ("importer", "title")),
    "sections": _List(_sections, ("section", "order", "title")),
}


def _here(registry: Registry) -> str:
    """Which backends answer on this machine, of which systems."""
    any_system, measuring, absent = [], [], []
    for name, backend in registry.backends.items():
        try:
            detection = detected(backend)
        except PluginError:  # `list backends` and doctor say what is wrong with it
            absent.append(name)
            continue
        if not detection.available:
            absent.append(name)
        elif detection.instance:
            measuring.append(f"{name} measures {detection.instance}")
        else:
            any_system.append(f"{name} answers for every system")
    answers = "; ".join((*any_system, *measuring)) or "no backend answers"
    return f"Here: {answers}." + (f" Not here: {', '.join(absent)} (trnbench doctor)." if absent else "")


def list_(state: Session, /, *, what: str, format: str, **chosen: Any) -> None:
    """What there is of one kind, narrowed down as a run is; without one, kernels below what answers here."""
    listed = _LISTS[what or "kernels"]
    if not what and format == "table":
        paragraph(f"{_here(state.registry)}\n")
    rows = list(listed.rows(state.registry, Selection.of(**chosen)))
    emit(rows, (listed.exact if format == "csv" else ()) or listed.columns, format)
    if what == "cases" and state.verbosity >= 0:
        skipped = sum(row["planned"] == "skip" for row in rows)
        say(f"{len(rows):,} cases, {skipped:,} of them would be skipped")
