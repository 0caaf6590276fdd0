"""Names offered while a person types: those that plugins bring, and those that the store has.

A plugin's record is enough to know its names: no fact file is read and no topology built. Of the store a few
columns are read, nothing where it is locked. Whatever goes wrong, there is nothing to offer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import click

if TYPE_CHECKING:
    import sqlite3

    from click.shell_completion import CompletionItem

    from trnbench.kernels.kernel import Kernel
    from trnbench.registry import Registry


Completion: TypeAlias = Callable[[click.Context, click.Parameter, str], list[str]]
"""As click asks for names that begin with what is typed."""


def offer(names: Callable[[Registry, click.Context, str], Iterable[str]]) -> Completion:
    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
        import contextlib
        import io

        from trnbench.registry import load_registry

        block = ctx.find_root().params.get("no_plugin") or ()
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                found = names(load_registry(block=block), ctx, incomplete)
                return [name for name in dict.fromkeys(found) if name.startswith(incomplete)]
        except Exception:
            return []

    return complete


def _kernels(registry: Registry, ctx: click.Context) -> list[Kernel]:
    """Those that are on the line already, all where none is."""
    from fnmatch import fnmatchcase

    typed = ctx.params.get("kernels") or ctx.args or ("*",)  # `args` behind an option without its value
    return [
        kernel
        for name, kernel in registry.kernels.items()
        if any(fnmatchcase(name, pattern) for pattern in typed)
    ]


def _axes(registry: Registry, ctx: click.Context, incomplete: str) -> Iterable[str]:
    """`size=` or `gemm.size=`, and behind it the values of the kernels' own sweeps: `size=128,256`."""
    name, equals, values = incomplete.partition("=")
    earlier = values.rpartition(",")[0]
    kernel, _, own = name.rpartition(".")
    for each in _kernels(registry, ctx):
        for axis in each.axes:
            if not equals:
                yield f"{each.name}.{axis.name}=" if "." in incomplete else f"{axis.name}="
            elif axis.name == own and kernel in ("", each.name):
                for value in (*axis.values, *axis.choices):
                    yield f"{name}={earlier}{',' if earlier else ''}{value}"


def _axis_names(registry: Registry, ctx: click.Context, incomplete: str) -> Iterable[str]:
    """Of `--zip`: names with commas between them."""
    earlier = incomplete.rpartition(",")[0]
    for kernel in _kernels(registry, ctx):
        for axis in kernel.axes:
            yield f"{earlier}{',' if earlier else ''}{axis.name}"


def _of_kernels(words: Callable[[Kernel], Iterable[object]]) -> Completion:
    return offer(
        lambda registry, ctx, _: sorted(
            {str(word) for kernel in _kernels(registry, ctx) for word in words(kernel)}
        )
    )


complete_instances = offer(lambda registry, *_: registry.instance_names())
complete_kernels = offer(lambda registry, *_: registry.kernels)
complete_backends = offer(lambda registry, *_: registry.backends)
complete_executors = offer(lambda registry, *_: ("process", *registry.executors))
complete_formats = offer(lambda registry, *_: registry.formats)
complete_generations = offer(lambda registry, *_: registry.generations)
complete_systems = offer(lambda registry, *_: registry.instance_names(aliases=True))
complete_subjects = offer(lambda registry, *_: (*registry.kernels, *registry.instance_names(aliases=True)))
complete_axes = offer(_axes)
complete_axis_names = offer(_axis_names)
complete_families = _of_kernels(lambda kernel: (kernel.family,))
complete_tags = _of_kernels(lambda kernel: kernel.tags)
complete_dtypes = _of_kernels(
    lambda kernel: (value for axis in kernel.axes if axis.name == "dtype" for value in axis.values)
)


def offered(words: Iterable[str] | str) -> Completion:
    """Words that are always the same, or a reference to them."""

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
        from trnbench.reference import resolve

        return [word for word in resolve(words) if word.startswith(incomplete)]

    return complete


Offered = tuple[str, str]
"""A name, and what is said of it where the shell shows that."""

WAIT_S = 0.2
"""For another process that is writing: a person is typing."""
MOST = 1000
"""Names of the store; the newest runs come first."""


def _offer_stored(
    names: Callable[[sqlite3.Connection], Iterator[Offered]],
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        import sqlite3
        from contextlib import closing
        from itertools import islice
        from pathlib import Path

        from click.shell_completion import CompletionItem

        from trnbench.store.path import store_path
        from trnbench.terminal.settings import load_settings

        try:
            path = store_path(ctx.find_root().params.get("store") or load_settings().store)
            # Not as the store opens it: that brings what writes runs and their journals along.
            mode = (
                "rw" if os.access(path, os.W_OK) else "ro"
            )  # a reader that may not write leaves files behind
            address = f"{Path(path).absolute().as_uri()}?mode={mode}"
            with closing(sqlite3.connect(address, uri=True, timeout=WAIT_S)) as connection:
                fitting = (name for name in names(connection) if name[0].startswith(incomplete))
                return [CompletionItem(name, help=about or None) for name, about in islice(fitting, MOST)]
        except Exception:  # no store, a locked one, broken settings: nothing to offer
            return []

    return complete


def _runs(connection: sqlite3.Connection) -> Iterator[Offered]:
    """`latest`, tags, then ids, the newest first."""
    yield "latest", "the newest run"
    yield from _tags(connection)
    for run, created, grade, backend in connection.execute(
        "SELECT id, created, grade, backend FROM runs ORDER BY created DESC, number DESC"
    ):
        yield run, f"{grade} by {backend}, {created[:16]}"


def _tags(connection: sqlite3.Connection) -> Iterator[Offered]:
    for tag, count in connection.execute("SELECT tag, count(*) FROM tags GROUP BY tag ORDER BY tag"):
        yield tag, f"a tag of {count} {'run' if count == 1 else 'runs'}"


def _cases(connection: sqlite3.Connection) -> Iterator[Offered]:
    for (case,) in connection.execute("SELECT DISTINCT case_id FROM measurements ORDER BY case_id"):
        yield case, ""


complete_cases = _offer_stored(_cases)
complete_runs = _offer_stored(_runs)
complete_run_tags = _offer_stored(_tags)
