"""The NKI-compatible API: what a kernel imports as `nki` where the real package is absent.

Kernels run as plain Python, with values (functional) or shapes only (timing); every executed call
is recorded as one instruction. For hosts: `record`, `load_kernel`, `provide`, `Machine`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from trnbench_emulator.nki import isa, language, typing
from trnbench_emulator.nki.jit import Kernel, jit
from trnbench_emulator.nki.load import load_kernel
from trnbench_emulator.nki.machine import Machine
from trnbench_emulator.nki.provide import Provided, provide
from trnbench_emulator.nki.simulation import simulate
from trnbench_emulator.nki.trace import TensorSpec, Trace, record

__all__ = [
    "Kernel",
    "Machine",
    "Provided",
    "Session",
    "TensorSpec",
    "Trace",
    "isa",
    "jit",
    "language",
    "load_kernel",
    "provide",
    "record",
    "simulate",
    "typing",
]


def __getattr__(name: str) -> Any:
    """`Session` stands on the registry and on commands, which a kernel does not need."""
    if name == "Session":
        return import_module("trnbench_emulator.commands.session.session").Session
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
