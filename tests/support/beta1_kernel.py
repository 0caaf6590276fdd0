"""Kernels of Beta 1 as text: what stands above each, its arguments, what came of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trnbench_emulator.nki import Trace

HEAD = """
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
"""

RNG = np.random.default_rng(1)
Run = Callable[..., Trace]


def made(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def opcodes(trace: Trace) -> list[str]:
    return [each.op.opcode for each in trace.instructions]
