"""What a kernel's instructions add up to: operations, elements, bytes, and which line issued them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from trnbench.nki.instruction import DMA, TENSOR, Instruction, Op


class Counts:
    """A sink that keeps how often each op ran at each line: memory grows with the source, not the loops."""

    def __init__(self) -> None:
        self.at: Counter[tuple[Op, str, int]] = Counter()

    def take(self, instruction: Instruction) -> None:
        self.at[instruction.op, instruction.file, instruction.line] += 1

    @property
    def tally(self) -> Mapping[Op, int]:
        found: Counter[Op] = Counter()
        for (op, _, _), count in self.at.items():
            found[op] += count
        return found

    def flops(self) -> dict[str, float]:
        """Of the tensor engine, by data type."""
        found: dict[str, float] = defaultdict(float)
        for (op, _, _), count in self.at.items():
            if op.engine == TENSOR and op.flops:
                found[op.dtype] += float(op.flops * count)
        return dict(found)

    def elements(self) -> dict[str, float]:
        """Element operations of the other engines."""
        found: dict[str, float] = defaultdict(float)
        for (op, _, _), count in self.at.items():
            if op.engine not in (TENSOR, DMA) and op.elements:
                found[op.engine] += float(op.elements * count)
        return dict(found)

    def moved(self) -> dict[str, float]:
        """Bytes by memory and direction: "hbm_read", "sbuf_write", …"""
        found: dict[str, float] = defaultdict(float)
        for (op, _, _), count in self.at.items():
            for place, amount in op.traffic.items():
                found[place] += float(amount * count)
        return dict(sorted(found.items()))

    def dma_bytes(self) -> float:
        """What the DMA engines carried."""
        return sum(
            float(op.variables.get("bytes", 0)) * count
            for (op, _, _), count in self.at.items()
            if op.engine == DMA
        )
