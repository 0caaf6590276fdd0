"""What a kernel's instructions add up to: operations, elements, bytes, and which line issued them."""

from __future__ import annotations

from collections import Counter, defaultdict

from trnbench_emulator.core.program import Program
from trnbench_emulator.nki.op import DMA, TENSOR, Op


class Counts:
    """How often each op ran at each line: memory grows with the source, not with the loops."""

    def __init__(self, *programs: Program) -> None:
        self.at: Counter[tuple[Op, str, int]] = Counter()
        for program in programs:
            pairs = Counter(zip(program.op, program.place, strict=True))
            for (op, place), count in pairs.items():
                self.at[(program.ops[op], *program.places[place])] += count

    def lines(self) -> dict[tuple[str, int], tuple[int, str]]:
        """(instructions, engine that got most of them) of every line."""
        found: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
        for (op, file, line), count in self.at.items():
            found[file, line][op.engine] += count
        return {place: (each.total(), each.most_common(1)[0][0]) for place, each in found.items()}

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

    def bytes(self) -> dict[str, float]:
        """Moved, by memory and direction."""
        found: dict[str, float] = defaultdict(float)
        for (op, _, _), count in self.at.items():
            for name, amount in op.traffic.items():
                found[name] += float(amount * count)
        return dict(found)

    def dma_bytes(self) -> float:
        """What the DMA engines carried."""
        return sum(
            float(op.variables.get("bytes", 0)) * count
            for (op, _, _), count in self.at.items()
            if op.engine == DMA
        )
