"""Packages of a script whose `__init__` asks for what is not installed: their modules are imported anyway."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dis import opmap
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from trnbench_emulator.nki import site
from trnbench_emulator.nki.names import Refused
from trnbench_emulator.nki.stand_in import hollow

_FROM = opmap["IMPORT_FROM"]


class _Init(SourceFileLoader):
    """Executes an `__init__`. If a package is missing, the module stays, and its names say which."""

    def __init__(self, name: str, path: str, folder: str, missing: dict[str, str]) -> None:
        super().__init__(name, path)
        self.folder = folder
        self.missing = missing

    def exec_module(self, module: ModuleType) -> None:
        try:
            super().exec_module(module)
        except ImportError as error:
            if not self._of_others(error):
                raise
            self.missing[module.__name__] = str(error)
            again = type(error)(f"{error}, in {module.__name__}", name=error.name, path=error.path)

            def absent(_: str) -> NoReturn:
                frame = sys._getframe(1)
                if frame.f_code.co_code[frame.f_lasti] != _FROM:  # a question whether it has such a name
                    raise AttributeError(str(again))
                raise again

            vars(module)["__getattr__"] = absent

    def _of_others(self, error: ImportError) -> bool:
        """Is a package of others missing, or a name in one? What the script's own lack is its own fault."""
        first = (error.name or "").partition(".")[0]
        if isinstance(error, ModuleNotFoundError):
            return bool(first) and first != self.name.partition(".")[0] and find_spec(first) is None
        return error.path is not None and not os.path.realpath(error.path).startswith(self.folder)


class _Packages(MetaPathFinder):
    def __init__(self, folder: Path, missing: dict[str, str]) -> None:
        self.folder = f"{folder}{os.sep}"
        self.missing = missing

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path)
        if spec is None or type(spec.loader) is not SourceFileLoader or not spec.submodule_search_locations:
            return None
        file = spec.loader.path
        if not os.path.realpath(file).startswith(self.folder) or "site-packages" in file:
            return None
        spec.loader = _Init(name, file, self.folder, self.missing)
        return spec


@contextmanager
def partial_packages(folder: Path) -> Iterator[dict[str, str]]:
    """While open, a package below `folder` does not need what its `__init__` asks for in vain. Gives the
    packages, and what each is without."""
    missing: dict[str, str] = {}
    finder = _Packages(folder.resolve(), missing)
    sys.meta_path.insert(0, finder)
    try:
        yield missing
    finally:
        sys.meta_path.remove(finder)


NAMES = ("torch_xla", "torch_xla.core", "torch_xla.core.xla_model")


@contextmanager
def device_calls() -> Iterator[None]:
    """While open, torch_xla's device and synchronisation calls are there unless the package itself is."""
    if "torch_xla" in sys.modules or importlib.util.find_spec("torch_xla") is not None:
        yield
        return
    package, core, model = modules = [_module(name) for name in NAMES]
    vars(package).update(core=core, device=_device, sync=_nothing)
    vars(core).update(xla_model=model)
    vars(model).update(xla_device=_device, mark_step=_nothing, wait_device_ops=_nothing)
    sys.modules.update(zip(NAMES, modules, strict=True))
    try:
        yield
    finally:
        for name in NAMES:
            sys.modules.pop(name, None)


def _device(*_: Any, **__: Any) -> Any:
    import torch  # the script's own

    return torch.device("cpu")


def _nothing(*_: Any, **__: Any) -> None:
    """Everything has been carried out already."""


def _module(name: str) -> ModuleType:
    def refused(wanted: str) -> NoReturn:
        raise Refused(
            f"{name}.{wanted} is used, which trnbench does not stand in for ({site.here()})",
            cause="device, xla_device, sync, mark_step and wait_device_ops are, with the CPU as device",
            try_="install torch_xla",
        )

    return hollow(name, refused)
