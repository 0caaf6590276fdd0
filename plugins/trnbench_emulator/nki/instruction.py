"""What a kernel's call becomes: an instruction of one engine, with its operands and its source line."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Protocol

import msgspec

from trnbench_emulator.nki.op import Op
from trnbench_emulator.nki.site import Place

if TYPE_CHECKING:
    from trnbench_emulator.nki.tensor import NkiTensor

Operands = tuple["NkiTensor", ...]


class Instruction(msgspec.Struct, eq=False):
    """One executed call. `writes` and `reads` are the operands; `NkiTensor.region` gives their boxes."""

    op: Op
    writes: Operands
    reads: Operands
    file: str
    line: int

    def __repr__(self) -> str:
        return f"{self.op!r} at {self.file}:{self.line}"


class Sink(Protocol):
    """Takes what every instruction is made of, in program order: a tally, a list, a scheduler."""

    def issue(self, op: Op, writes: Operands, reads: Operands, place: Place) -> None: ...


class Tally:
    """How often each op ran, nothing else: enough for a roofline, and no memory per instruction."""

    def __init__(self) -> None:
        self.counts: Counter[Op] = Counter()

    def issue(self, op: Op, writes: Operands, reads: Operands, place: Place) -> None:
        counts = self.counts
        counts[op] = counts[op] + 1 if op in counts else 1


class Listing(msgspec.Struct):
    """Every instruction, kept. For tests and small kernels: operands stay alive."""

    instructions: list[Instruction] = []

    def issue(self, op: Op, writes: Operands, reads: Operands, place: Place) -> None:
        self.instructions.append(Instruction(op, writes, reads, *place))
