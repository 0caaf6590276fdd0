"""Kernels of Beta 1 as text: what stands above each, its arguments, what came of it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from trnbench_emulator.nki import TensorSpec, Trace

HEAD = """
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
"""


RNG = np.random.default_rng(1)
_MAKES_OUT = re.compile(r"^def kernel\((\w+)([^\n]*)\) -> ([^\n]+):\n(.*)", re.M | re.S)


Run = Callable[..., Trace]


def source(text: str) -> str:
    """The file of a kernel; `-> shape` makes `out`, of the type of its first argument, and returns it."""
    whole = (
        r"@nki.jit\ndef kernel(\1\2):\n"
        r"    out = nl.ndarray(\3, dtype=\1.dtype, buffer=nl.shared_hbm)\n\4\n    return out\n"
    )
    return HEAD + _MAKES_OUT.sub(whole, textwrap.dedent(text))


def made(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def spec(*shape: int) -> TensorSpec:
    return TensorSpec(shape, "float32")


def opcodes(trace: Trace) -> list[str]:
    return [each.op.opcode for each in trace.instructions]


def loads(trace: Trace) -> int:
    return sum(each.op.opcode == "dma_copy" and each.writes[0].form.on_chip for each in trace.instructions)
