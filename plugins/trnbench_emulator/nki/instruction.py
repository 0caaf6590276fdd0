"""What a kernel's call becomes: an instruction of one engine, with its operands and its source line."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Protocol, runtime_checkable

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
    """Takes every instruction in program order: a tally, a list, a scheduler."""

    def take(self, instruction: Instruction) -> None: ...


@runtime_checkable
class Issues(Protocol):
    """A sink that takes what an instruction is made of, and needs no object for it."""

    def issue(self, op: Op, writes: Operands, reads: Operands, place: Place) -> None: ...


class Tally:
    """How often each op ran, nothing else: enough for a roofline, and no memory per instruction."""

    def __init__(self) -> None:
        self.counts: Counter[Op] = Counter()

    def take(self, instruction: Instruction) -> None:
        self.counts[instruction.op] += 1

    def issue(self, op: Op, writes: Operands, reads: Operands, place: Place) -> None:
        counts = self.counts
        counts[op] = counts[op] + 1 if op in counts else 1


class Listing:
    """Every instruction, kept. For tests and small kernels: operands stay alive."""

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []

    def take(self, instruction: Instruction) -> None:
        self.instructions.append(instruction)
