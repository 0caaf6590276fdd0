"""Packages that a kernel's file imports: `nki`, and `neuronxcc.nki` of Beta 1.

The real package comes where it is installed, ours otherwise.
"""

from __future__ import annotations

import importlib.util
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from trnbench.errors import UsageError
from trnbench.record import Record
from trnbench_emulator import nki
from trnbench_emulator.nki import beta1, dtype, isa, language, tensor, typing
from trnbench_emulator.nki.beta1 import isa as beta1_isa
from trnbench_emulator.nki.beta1 import language as beta1_language
from trnbench_emulator.nki.beta1 import package
from trnbench_emulator.nki.isa import constants, strict
from trnbench_emulator.nki.names import refuse

CONSTANTS = ("dge_mode", "dma_engine", "engine", "matmul_perf_mode", "nc_version", "oob_mode", "reduce_cmd")
MODES = ("auto", "trnbench", "real")


class Provided(Record):
    """Which `nki` a kernel saw: "trnbench" or "nki", and its version; `dialect` is "Beta 1" for a kernel of
    `neuronxcc.nki`. `absent`: packages stood in for; `faults`: lines that failed while it was imported."""

    by: str
    version: str
    dialect: str = ""
    absent: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = f"{self.by} {self.version}".strip()
        return f"{text} ({self.dialect})" if self.dialect else text


def _found(name: str) -> bool:
    """Is there a real package of this name? Looked up, not imported."""
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
    real = mode != "trnbench" and _found("nki")
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
    if all(sys.modules.get(name) is module for name, module in ours.items()):
        yield  # within another: that one puts back what was before
        return
    compilers_level = neuronxcc and not hasattr(logging, "OFF")
    if compilers_level:  # the compiler adds it to Python's own, and assignments of a course ask for it
        logging.OFF = logging.CRITICAL + 10  # type: ignore[attr-defined]
    disabled = logging.root.manager.disable
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
            if f"{name}.".startswith(inside) or _holds(sys.modules[name], mine):
                del sys.modules[name]
        sys.modules.update({name: before[name] for name in hidden})
        logging.disable(disabled)
        if compilers_level:
            del logging.OFF  # type: ignore[attr-defined]


@cache
def _facades() -> dict[str, ModuleType]:
    """Modules with exactly the provided names: what is public to a kernel, and nothing of how it is made."""
    modules: dict[str, ModuleType] = {}
    for name, module, names in (
        ("nki", nki, ("jit", "simulate")),
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
        ("neuronxcc.nki.typing", package, ("mutable", "mutable_tensor", "tensor")),
    ):
        facade = modules[name] = ModuleType(name, module.__doc__)
        vars(facade).update({attribute: getattr(module, attribute) for attribute in names})
        vars(facade).update(
            __all__=sorted(names),
            __getattr__=partial(_refuse, name),
            __file__=module.__file__,
            __path__=[],  # what else is asked for below it is refused by name
        )
        if module is isa:
            vars(facade).update(strict.FLOAT32, memset=strict.memset, tensor_scalar=strict.tensor_scalar)
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(modules[parent], last, facade)
    return modules


def provided_names() -> dict[str, tuple[str, ...]]:
    """What a kernel finds in each module."""
    return {name: tuple(vars(module)["__all__"]) for name, module in _facades().items()}


def _refuse(module: str, name: str) -> object:
    raise refuse(module, name, provided_names()[module])


def _holds(module: ModuleType, mine: set[int]) -> bool:
    return any(id(value) in mine for value in list(vars(module).values()))


@cache
def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""
