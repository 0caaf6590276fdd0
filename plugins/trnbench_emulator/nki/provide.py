"""Packages that a kernel's file imports: `nki`, `neuronxcc.nki` of Beta 1, and stand-ins.

The real package comes where it is installed, ours otherwise. A file of kernels often imports what only its
host side needs, a framework for instance: a stand-in takes its place, which a kernel must not use. A library
of kernels that lies in the same folder is imported from there.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from trnbench.errors import KernelError, UsageError
from trnbench_emulator import nki
from trnbench_emulator.nki import beta1, dtype, isa, language, site, tensor, typing
from trnbench_emulator.nki.beta1 import isa as beta1_isa
from trnbench_emulator.nki.beta1 import language as beta1_language
from trnbench_emulator.nki.beta1 import package
from trnbench_emulator.nki.isa import constants
from trnbench_emulator.nki.names import refuse

CONSTANTS = ("dge_mode", "dma_engine", "engine", "matmul_perf_mode", "nc_version", "oob_mode", "reduce_cmd")
MODES = ("auto", "trnbench", "real")


class Provided(msgspec.Struct, frozen=True):
    """Which `nki` a kernel saw: "trnbench" or "nki", and its version; `dialect` is "Beta 1" for a kernel of
    `neuronxcc.nki`."""

    by: str
    version: str
    dialect: str = ""

    def __str__(self) -> str:
        text = f"{self.by} {self.version}".strip()
        return f"{text} ({self.dialect})" if self.dialect else text


def real_installed() -> bool:
    """Is there a real `nki` package? Looked up, not imported."""
    return _found("nki")


def _found(name: str) -> bool:
    present = sys.modules.get(name)
    if present is not None:
        return present is not _facades().get(name)
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


@contextmanager
def provide(mode: str = "auto") -> Iterator[Provided]:
    """While open, `import nki`, `nki.language`, `nki.isa` and `nki.typing` resolve, and so do those of
    `neuronxcc.nki` (Beta 1).

    "auto": to the real package if it is installed, else to ours. "trnbench": to ours. "real": to
    the real one; raises `UsageError` when it is missing. Afterwards `sys.modules` is as before;
    modules imported meanwhile that hold ours are dropped, so that a later import sees the real one.
    """
    if mode not in MODES:
        raise UsageError(f"nki={mode!r} is unknown", cause=f"it is one of {', '.join(MODES)}")
    real = mode != "trnbench" and real_installed()
    if mode == "real" and not real:
        raise UsageError(
            "the real nki package is not installed",
            cause="it comes with the AWS Neuron SDK",
            try_="install it from the Neuron package index, or leave nki=auto",
        )
    if real:
        yield Provided("nki", _version("nki"))
        return
    with _installed(neuronxcc=mode == "trnbench" or not _found("neuronxcc")):
        yield Provided("trnbench", _version("trnbench"))


@contextmanager
def _installed(*, neuronxcc: bool) -> Iterator[None]:
    packages = ("nki", "neuronxcc") if neuronxcc else ("nki",)
    inside = tuple(f"{name}." for name in packages)
    ours = {name: module for name, module in _facades().items() if f"{name}.".startswith(inside)}
    before = dict(sys.modules)
    # A case asks for this, with thousands of modules: most names differ in their first letter already.
    hidden = [name for name in before if name[0] == "n" and f"{name}.".startswith(inside)]
    for name in hidden:
        del sys.modules[name]
    sys.modules.update(ours)
    try:
        yield
    finally:
        mine = {id(module) for module in ours.values()}
        for name in (sys.modules.keys() - before.keys()) | (sys.modules.keys() & ours.keys()):
            foreign = not name.startswith("trnbench")
            if f"{name}.".startswith(inside) or (foreign and _holds(sys.modules[name], mine)):
                del sys.modules[name]
        sys.modules.update({name: before[name] for name in hidden})


@cache
def _facades() -> dict[str, ModuleType]:
    """Modules with exactly the provided names: what is public to a kernel, and nothing of how it is made."""
    modules: dict[str, ModuleType] = {}
    for name, module, names in (
        ("nki", nki, ("jit",)),
        ("nki.isa", isa, isa.__all__),
        ("nki.isa.constants", constants, CONSTANTS),
        ("nki.language", language, language.__all__),
        ("nki.dtype", dtype, ("DType",)),
        ("nki.tensor", tensor, ("NkiTensor",)),
        ("nki.typing", typing, typing.__all__),
        ("neuronxcc", beta1, ()),
        ("neuronxcc.nki", package, package.__all__),
        ("neuronxcc.nki.isa", beta1_isa, beta1_isa.__all__),
        ("neuronxcc.nki.isa.constants", constants, CONSTANTS),
        ("neuronxcc.nki.language", beta1_language, beta1_language.__all__),
        ("neuronxcc.nki.compiler", package, package.COMPILER),
        ("neuronxcc.nki.typing", package, ("mutable_tensor", "tensor")),
    ):
        facade = modules[name] = ModuleType(name, module.__doc__)
        vars(facade).update({attribute: getattr(module, attribute) for attribute in names})
        vars(facade).update(
            __all__=sorted(names), __getattr__=partial(_refuse, name), __file__=module.__file__
        )
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(modules[parent], last, facade)
    return modules


def _refuse(module: str, name: str) -> object:
    raise refuse(module, name, vars(_facades()[module]).get("__all__", ()))


def _holds(module: ModuleType, mine: set[int]) -> bool:
    return any(id(value) in mine for value in list(vars(module).values()))


@cache
def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


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


class _Finder(MetaPathFinder, Loader):
    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.names: list[str] = []
        self.brought: dict[str, Path | None] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        first = name.partition(".")[0]
        if first in ("nki", "neuronxcc", "trnbench") or (name != first and first not in self.names):
            return None
        if not _importer().startswith(self.folder):  # libraries try what they can do without
            return None
        if first not in self.brought:
            self.brought[first] = self._brought(first)
        if package := self.brought[first]:
            return importlib.util.spec_from_file_location(
                name, package, submodule_search_locations=[str(package.parent)]
            )
        if first not in self.names:
            self.names.append(first)
        return ModuleSpec(name, self, is_package=True)

    def _brought(self, name: str) -> Path | None:
        """The package of that name in the folder, the one that lies least deep."""
        packages = sorted(
            Path(self.folder).rglob(f"{name}/__init__.py"), key=lambda at: (len(at.parts), str(at))
        )
        return packages[0] if packages else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
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
    """While open, packages that files under `folder` import and that cannot be found are taken from there, or
    stood in for; the list names these."""
    finder = _Finder(folder)
    before = set(sys.modules)
    sys.meta_path.append(finder)
    try:
        yield finder.names
    finally:
        sys.meta_path.remove(finder)
        for name in set(sys.modules) - before:
            first = name.partition(".")[0]
            if first in finder.names or finder.brought.get(first):
                del sys.modules[name]
