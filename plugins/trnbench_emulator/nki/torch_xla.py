"""What scripts use of torch_xla to reach a device, where it is not installed: the CPU stands for it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from trnbench_emulator.nki import site
from trnbench_emulator.nki.names import Refused

NAMES = ("torch_xla", "torch_xla.core", "torch_xla.core.xla_model")


@contextmanager
def device_calls() -> Iterator[None]:
    """While open, torch_xla's device and synchronisation calls are there unless the package itself is."""
    if "torch_xla" in sys.modules or importlib.util.find_spec("torch_xla") is not None:
        yield
        return
    modules = {name: _module(name) for name in NAMES}
    modules["torch_xla"].core = modules["torch_xla.core"]  # type: ignore[attr-defined]
    modules["torch_xla.core"].xla_model = modules["torch_xla.core.xla_model"]  # type: ignore[attr-defined]
    calls = {"device": _device, "sync": _nothing}
    vars(modules["torch_xla"]).update(calls)
    calls = {"xla_device": _device, "mark_step": _nothing, "wait_device_ops": _nothing}
    vars(modules["torch_xla.core.xla_model"]).update(calls)
    sys.modules.update(modules)
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
    module = ModuleType(name)
    module.__path__ = []

    def attribute(wanted: str) -> Any:
        if wanted.startswith("__"):
            raise AttributeError(wanted)
        raise Refused(
            f"{name}.{wanted} is used, which trnbench does not stand in for ({site.here()})",
            cause="device, xla_device, sync, mark_step and wait_device_ops are, with the CPU as device",
            try_="install torch_xla",
        )

    vars(module)["__getattr__"] = attribute
    return module
