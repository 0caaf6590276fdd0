"""Rows of `trnbench list` about runs: kernels, cases, tags, families, and the backends that answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from trnbench.errors import PluginError
from trnbench.run.plan import plan
from trnbench.run.points import Points, parse_keyword, words_at, words_of
from trnbench.run.reply import detected
from trnbench.run.selection import Selection, choose_kernels, choose_scopes
from trnbench.terminal.output import Row
from trnbench.terminal.request import case_rows

if TYPE_CHECKING:
    from trnbench.kernels.kernel import Kernel
    from trnbench.registry import Registry


def kernels(registry: Registry, selection: Selection) -> Iterable[Row]:
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


def cases(registry: Registry, selection: Selection) -> Iterable[Row]:
    return case_rows(plan(registry, selection))


def tags(registry: Registry, selection: Selection) -> Iterable[Row]:
    return _grouped(registry, selection, "tag", lambda kernel: kernel.tags)


def families(registry: Registry, selection: Selection) -> Iterable[Row]:
    return _grouped(registry, selection, "family", lambda kernel: (kernel.family,))


def backends(registry: Registry, _: Selection) -> Iterable[Row]:
    for name, backend in registry.backends.items():
        detection = detected(backend)
        yield {
            "backend": name,
            "available": detection.available,
            "instance": detection.instance,
            "why": detection.why,
            "try": detection.try_,
        }


def _chosen(registry: Registry, selection: Selection) -> Iterable[Kernel]:
    """Kernels by name, tag, family; by -k and dtype too, as far as they speak of kernels. Where systems or
    a part are asked for, only what has a case there."""
    kernels = choose_kernels(registry, selection)
    if selection.instances or selection.generations or selection.shard:
        there = {case.kernel.name for case in plan(registry, selection).cases}
        kernels = tuple(kernel for kernel in kernels if kernel.name in there)
    points = Points.of(selection, kernels, registry.kernels.values())
    scopes = choose_scopes(selection)
    fits = parse_keyword(selection.keyword) if selection.keyword else None
    for kernel in kernels:
        words = words_of(kernel.name, kernel.family, *kernel.tags)
        if scopes and not scopes & _scope_words(kernel):
            continue
        for point in points.combine(kernel, wide=False)[0]:
            if fits is None or fits(words | words_at(point)):
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


def here(registry: Registry) -> str:
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
