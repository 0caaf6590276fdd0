"""The NKI-compatible API: what a kernel imports as `nki` where the real package is absent.

Kernels run as plain Python, with values (functional) or shapes only (timing); every executed call
is recorded as one instruction. For hosts: `record`, `load_kernel`, `provide`, `Machine`.
"""

from __future__ import annotations

from trnbench.nki import isa, language, typing
from trnbench.nki.jit import Kernel, jit
from trnbench.nki.load import load_kernel
from trnbench.nki.machine import Machine
from trnbench.nki.provide import Provided, provide
from trnbench.nki.trace import TensorSpec, Trace, record

__all__ = [
    "Kernel",
    "Machine",
    "Provided",
    "TensorSpec",
    "Trace",
    "isa",
    "jit",
    "language",
    "load_kernel",
    "provide",
    "record",
    "typing",
]
