"""The operation of an instruction, apart from its operands: all that its cost depends on."""

from __future__ import annotations

from typing import Any

import msgspec

TENSOR, VECTOR, SCALAR, GPSIMD, DMA = "tensor", "vector", "scalar", "gpsimd", "dma"


class Op(msgspec.Struct, eq=False):
    """All that an instruction's cost depends on; one object per combination, shared by its repetitions.

    `variables` are what cost formulas see (N, P, K, N_stationary, …; see docs/emulator.md).
    `traffic` counts bytes per memory and direction ("hbm_read", "sbuf_write", …). `flops` are
    those of the tensor engine, `elements` the element operations of the others. `alternatives`: engines that
    the compiler may choose instead, where the kernel leaves that open.
    """

    engine: str
    opcode: str
    dtype: str
    variables: dict[str, Any]
    traffic: dict[str, int]
    flops: int = 0
    elements: int = 0
    alternatives: tuple[str, ...] = ()

    @property
    def hbm_bytes(self) -> int:
        """From and to device memory."""
        return self.traffic.get("hbm_read", 0) + self.traffic.get("hbm_write", 0)

    def key(self) -> tuple[Any, ...]:
        """Equal for ops of two recordings that cost the same."""
        return (self.engine, *self.work)

    @property
    def work(self) -> tuple[Any, ...]:
        """Equal for ops that do the same, whichever engine does it."""
        return (self.opcode, self.dtype, tuple(sorted(self.variables.items())))

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value}" for name, value in self.variables.items())
        return f"{self.engine}.{self.opcode}<{self.dtype}>({inner})"
