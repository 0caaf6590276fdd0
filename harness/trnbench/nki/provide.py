"""`import nki` inside a run: the real package where it is installed, ours otherwise."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

import msgspec

from trnbench.errors import UsageError

MODES = ("auto", "trnbench", "real")


class Provided(msgspec.Struct, frozen=True):
    """Which `nki` a kernel saw: "trnbench" or "nki", and its version."""

    by: str
    version: str

    def __str__(self) -> str:
        return f"{self.by} {self.version}".strip()


def real_installed() -> bool:
    """Is there a real `nki` package? Looked up, not imported."""
    present = sys.modules.get("nki")
    if present is not None:
        return not _ours(present)
    try:
        return importlib.util.find_spec("nki") is not None
    except (ImportError, ValueError):
        return False


@contextmanager
def provide(mode: str = "auto") -> Iterator[Provided]:
    """While open, `import nki`, `nki.language`, `nki.isa` and `nki.typing` resolve.

    "auto": to the real package if it is installed, else to ours. "trnbench": to ours. "real": to
    the real one; raises `UsageError` when it is missing. Afterwards `sys.modules` is as before;
    modules imported meanwhile that hold ours are dropped, so that a later import sees the real one.
    """
    if mode not in MODES:
        raise UsageError(f"nki={mode!r} is unknown", cause=f"it is one of {', '.join(MODES)}")
    real = real_installed()
    if mode == "real" and not real:
        raise UsageError(
            "the real nki package is not installed",
            cause="it comes with the AWS Neuron SDK",
            try_="install it from the Neuron package index, or leave nki=auto",
        )
    if real and mode != "trnbench":
        yield Provided("nki", _version("nki"))
        return
    with _installed():
        yield Provided("trnbench", _version("trnbench"))


@contextmanager
def _installed() -> Iterator[None]:
    from trnbench import nki
    from trnbench.nki import isa, language, typing

    ours: dict[str, ModuleType] = {
        "nki": nki,
        "nki.isa": isa,
        "nki.isa.constants": isa.constants,
        "nki.language": language,
        "nki.typing": typing,
    }
    before = dict(sys.modules)
    hidden = {name for name in before if name == "nki" or name.startswith("nki.")}
    for name in hidden:
        del sys.modules[name]
    sys.modules.update(ours)
    try:
        yield
    finally:
        mine = {id(module) for module in ours.values()}
        for name in list(sys.modules):
            foreign = name not in before and not name.startswith("trnbench")
            if name == "nki" or name.startswith("nki.") or (foreign and _holds(sys.modules[name], mine)):
                del sys.modules[name]
        sys.modules.update({name: before[name] for name in hidden})


def _holds(module: ModuleType, mine: set[int]) -> bool:
    return any(id(value) in mine for value in list(vars(module).values()))


def _ours(module: ModuleType) -> bool:
    return getattr(module, "__name__", "").startswith("trnbench")


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""
