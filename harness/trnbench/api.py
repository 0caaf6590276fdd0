"""Names and submodules that plugins give under `trnbench.`: entry points of group `trnbench.api`.

``step = "trnbench_steps.step:step"`` makes `trnbench.step`, ``nki = "trnbench_emulator.nki"`` makes the
submodule `trnbench.nki`. Reading the group imports nothing; the core's own names come first."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from trnbench.distribution import EntryPoint

GROUP = "trnbench.api"
_CORE = "trnbench"


@cache
def api() -> dict[str, EntryPoint]:
    """Public name → the entry point that gives it: trnbench's own first, then by distribution."""
    from trnbench.distribution import NO_EXTERNAL, OWN, enabled, entry_points, normalised

    entries = [(normalised(entry.distribution), entry) for entry in entry_points((GROUP,))]
    if enabled(NO_EXTERNAL):
        entries = [(owner, entry) for owner, entry in entries if owner == OWN]
    entries.sort(key=lambda pair: (pair[0] != OWN, pair[0]))
    names: dict[str, EntryPoint] = {}
    for _, entry in entries:
        names.setdefault(entry.name, entry)
    return names


def exported(name: str) -> Any:
    """The object or module behind `trnbench.<name>`.

    Raises `AttributeError` for a name that nobody gives, `ImportError` where the package that gives it is
    missing."""
    entry = api().get(name)
    if entry is None:
        raise AttributeError(f"module 'trnbench' has no attribute {name!r}")
    if ":" not in entry.value:
        return import_module(f"{_CORE}.{name}")
    try:
        return entry.load()
    except ModuleNotFoundError as error:
        raise ImportError(_missing(entry, error), name=error.name) from error


def submodules() -> tuple[str, ...]:
    """The names that are modules."""
    return tuple(name for name, entry in api().items() if ":" not in entry.value)


def _missing(entry: EntryPoint, error: ModuleNotFoundError) -> str:
    return (
        f"trnbench.{entry.name} comes with {entry.value.partition('.')[0]} "
        f"({entry.distribution} {entry.version}): {error}"
    )


class _Loader:
    """Gives the module that there is, so that a class exists once under both names."""

    def __init__(self, target: str) -> None:
        self.target = target

    def create_module(self, _spec: ModuleSpec) -> ModuleType:
        module = import_module(self.target)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has put the alias in its place


def find_submodule(name: str) -> ModuleSpec | None:
    """`trnbench.<name>` where a plugin gives it. Raises `ImportError` where its package is missing."""
    entry = api().get(name.partition(".")[2])
    if entry is None or ":" in entry.value:
        return None
    if _Below not in sys.meta_path:
        sys.meta_path.insert(0, _Below)
    return _spec(name, entry.value, entry)


class _Below:
    """Finds what lies below such a submodule. It stands first: the folder would be read a second time."""

    @staticmethod
    def find_spec(name: str, _path: Sequence[str] | None = None, _target: object = None) -> ModuleSpec | None:
        if not name.startswith("trnbench."):
            return None
        submodule, _, below = name.partition(".")[2].partition(".")
        entry = api().get(submodule) if below else None
        if entry is None or ":" in entry.value:
            return None
        return _spec(name, f"{entry.value}.{below}", entry)


def _spec(name: str, target: str, entry: EntryPoint) -> ModuleSpec:
    from importlib.machinery import ModuleSpec

    try:
        import_module(target)
    except ModuleNotFoundError as error:
        if error.name and target.startswith(error.name):
            raise ImportError(_missing(entry, error), name=error.name) from error
        raise
    return ModuleSpec(name, _Loader(target))  # type: ignore[arg-type]
