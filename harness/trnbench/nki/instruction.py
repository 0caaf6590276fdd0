"""What a kernel's call becomes: an instruction of one engine, with its operands and its source line."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from trnbench.nki.folding.index import pinned
from trnbench.nki.site import Place

if TYPE_CHECKING:
    from trnbench.nki.tensor import NkiTensor

Operands = tuple["NkiTensor", ...]
TENSOR, VECTOR, SCALAR, GPSIMD, DMA = "tensor", "vector", "scalar", "gpsimd", "dma"


class Op:
    """All that an instruction's cost depends on; one object per combination, shared by its repetitions.

    `variables` are what cost formulas see (N, P, K, N_stationary, …; see docs/emulator.md).
    `traffic` counts bytes per memory and direction ("hbm_read", "sbuf_write", …). `flops` are
    those of the tensor engine, `elements` the element operations of the others.
    """

    __slots__ = ("dtype", "elements", "engine", "flops", "opcode", "traffic", "variables")

    def __init__(
        self,
        engine: str,
        opcode: str,
        dtype: str,
        variables: dict[str, Any],
        traffic: dict[str, int],
        *,
        flops: int = 0,
        elements: int = 0,
    ) -> None:
        self.engine = engine
        self.opcode = opcode
        self.dtype = dtype
        self.variables = {name: pinned(value) for name, value in variables.items()}
        self.traffic = traffic
        self.flops = flops
        self.elements = elements

    def key(self) -> tuple[Any, ...]:
        """Equal for ops of two recordings that cost the same."""
        return (self.engine, self.opcode, self.dtype, tuple(sorted(self.variables.items(), key=str)))

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value}" for name, value in self.variables.items())
        return f"{self.engine}.{self.opcode}<{self.dtype}>({inner})"


class Instruction:
    """One executed call. `writes` and `reads` are the operands; `NkiTensor.region` gives their boxes."""

    __slots__ = ("file", "line", "op", "reads", "writes")

    def __init__(
        self, op: Op, writes: tuple[NkiTensor, ...], reads: tuple[NkiTensor, ...], file: str, line: int
    ) -> None:
        self.op = op
        self.writes = writes
        self.reads = reads
        self.file = file
        self.line = line

    def __repr__(self) -> str:
        return f"{self.op!r} at {self.file}:{self.line}"


class Sink(Protocol):
    """Takes every instruction in program order: a tally, a list, a scheduler."""

    def take(self, instruction: Instruction) -> None: ...


@runtime_checkable
class Issues(Protocol):
    """A sink that takes what an instruction is made of, and needs no object for it."""

    def issue(self, op: Op, writes: Operands, reads: Operands, place: Place) -> None: ...


@runtime_checkable
class Loops(Protocol):
    """A sink that is told of loops: at their beginning, before each round, at their end."""

    def enter(self) -> None: ...
    def round(self) -> None: ...
    def leave(self) -> None: ...


@runtime_checkable
class Folds(Loops, Protocol):
    """A sink that can go on by itself with rounds that repeat; see `Builder.skip`."""

    def watch(self) -> None: ...
    def unwatch(self) -> None: ...
    def skip(self, period: int, times: int, count: int, most: int) -> int: ...


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
