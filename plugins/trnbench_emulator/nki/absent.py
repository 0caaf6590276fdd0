"""Packages that a kernel's file imports and this machine lacks: stand-ins, which a kernel must not use.

A file of kernels often imports what only its host side needs, a framework for instance.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from trnbench.errors import KernelError
from trnbench_emulator.nki import site


class _Kind(type):
    """Attributes of a stand-in are stand-ins."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _made(f"{cls.__module__}.{cls.__name__}", name)


def _made(parent: str, name: str) -> Any:
    return _Kind(name, (_StandIn,), {"__module__": parent})


class _StandIn(metaclass=_Kind):
    """May be named, subclassed, called and used as a decorator while a file is imported."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.given = args

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        kind = type(self)
        raise KernelError(
            f"{kind.__module__}.{kind.__name__} is used, which is not installed ({site.here()})",
            cause="only a stand-in for its package was there when the file was imported",
            try_=f"install {kind.__module__.partition('.')[0]!r}",
        )


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.names: list[str] = []

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        first = name.partition(".")[0]
        if first in ("nki", "neuronxcc", "trnbench") or (name != first and first not in self.names):
            return None
        if not _importer().startswith(self.folder):  # libraries try what they can do without
            return None
        if first not in self.names:
            self.names.append(first)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        module.__path__ = []

        def attribute(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return _made(spec.name, name)

        vars(module)["__getattr__"] = attribute
        return module

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to execute."""


def _importer() -> str:
    """The file whose import statement is being carried out."""
    frame = sys._getframe(2)
    while frame.f_back is not None and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return frame.f_code.co_filename


@contextmanager
def stand_ins(folder: Path) -> Iterator[list[str]]:
    """While open, packages that files under `folder` import and that cannot be found are stood in for; the
    list names them."""
    finder = _Finder(folder)
    before = set(sys.modules)
    sys.meta_path.append(finder)
    try:
        yield finder.names
    finally:
        sys.meta_path.remove(finder)
        for name in set(sys.modules) - before:
            if name.partition(".")[0] in finder.names:
                del sys.modules[name]
