"""A program: instructions in order, which earlier ones each waits for, and its work class.

Dependencies follow from the program alone, times from the machine: one program is scheduled on several.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from trnbench_emulator.core.banks import Banked
from trnbench_emulator.core.transfers import triggered_by
from trnbench_emulator.nki.op import DMA, Op

QUEUES = (
    "tensor", "vector", "scalar", "gpsimd", "load ring", "store ring", "scalar ring", "gpsimd ring",
)  # fmt: skip
"""In-order queues of one core. A ring is a queue of transfers, which it has on all DMA engines: one for each
engine that triggers some, and of the Sync engine's one for what goes to HBM and one for everything else."""

SCALAR, GPSIMD = 2, 3
LOAD, STORE, SCALAR_RING, GPSIMD_RING = 4, 5, 6, 7
RINGS = QUEUES[LOAD:]
RAW, WAR, WAW, BUFFER = range(4)
KINDS = ("waits for its input", "waits for readers", "waits for an earlier write", "waits for a buffer")


KIND_BITS = 2
KIND_MASK = (1 << KIND_BITS) - 1
"""Dependencies are packed for innermost loops: source << KIND_BITS | kind."""


class Dep(NamedTuple):
    """The instruction that is waited for, and why: one of RAW, WAR, WAW and BUFFER."""

    source: int
    kind: int

    @classmethod
    def of(cls, packed: int) -> Dep:
        """From an entry of `Program.deps`, or a `Schedule.cause` that is none of the negative ones."""
        return cls(packed >> KIND_BITS, packed & KIND_MASK)


_WORKED_OUT = 20
"""Bytes an instruction: its first dependency, its banks of PSUM and its kind."""

_OP = 1_000
"""Bytes of an op, about."""


class Program:
    """Compact: some tens of bytes per instruction, beside the tiles that are alive.

    Instruction i is `ops[op[i]]` at `places[place[i]]` and waits for `deps[first[i]:first[i + 1]]`, each a
    packed `Dep`; `waiters` are the instructions that wait, in order. Queues issue and complete in
    order, so that one dependency per queue is enough, and none on what the instruction's own queue has waited
    for before. `psum`: which banks instructions use. `assumed`: what the compiler was taken to do, and how
    often.
    """

    def __init__(self, banks: int = 1, bank_bytes: int = 1) -> None:
        self.ops: list[Op] = []
        self.places: list[tuple[str, int]] = []
        self.op = array("I")
        self.place = array("I")
        self.deps = array("Q")
        self.waiters = array("Q")
        self._first = array("Q", [0])
        self._queues: list[int] = []
        self.assumed: Mapping[str, int] = {}
        self.shares = True  # the problem with the other programs of its launch
        self.psum = Banked(banks, bank_bytes)
        self.kinds: dict[tuple[int, ...], Kinds] = {}  # by the ops whose banks matter

    def __len__(self) -> int:
        return len(self.op)

    @property
    def memory(self) -> int:
        """Bytes that it takes here, with what is worked out of it when it is scheduled."""
        psum = self.psum
        columns = (self.op, self.place, self.deps, self.waiters, psum.refs, psum.owners, psum.sizes)
        arrays = sum(len(column) * column.itemsize for column in columns)
        return arrays + _WORKED_OUT * len(self) + _OP * len(self.ops)

    @property
    def queues(self) -> list[int]:
        """Of each op."""
        queues = self._queues
        if len(queues) < len(self.ops):
            queues += map(queue_of, self.ops[len(queues) :])
        return queues

    @property
    def first(self) -> array[int]:
        """Of each instruction, its first dependency; at the end how many there are."""
        first = self._first
        if len(first) <= len(self.op) or first[-1] != len(self.deps):
            count = len(self.op)
            starts = np.zeros(count + 1, np.int64)
            if self.waiters:
                np.cumsum(np.bincount(np.array(self.waiters, np.int64), minlength=count), out=starts[1:])
            first = self._first = array("Q", starts.tobytes())
        return first


def issued_before(program: Program) -> dict[int, int]:
    """Of each transfer that the scalar engine triggers: the engine's own instruction before it, or -1."""
    queues = np.array(program.queues, np.int64)
    if not (queues == SCALAR_RING).any():
        return {}
    of = queues[np.frombuffer(program.op, np.uint32)]
    own = np.flatnonzero(of == SCALAR)
    triggers = np.flatnonzero(of == SCALAR_RING)
    at = np.searchsorted(own, triggers) - 1
    before = np.where(at >= 0, own[at], -1) if len(own) else np.full(len(triggers), -1)
    return dict(zip(triggers.tolist(), before.tolist(), strict=True))


class Kinds(NamedTuple):
    """What a scheduler tells instructions apart by. Instruction i is of kind `op[i]`: its op, and where its
    banks of PSUM matter those, `banks[kind]`. Kinds below the number of ops are these, without banks.
    """

    op: array[int]
    of: list[int]
    banks: list[int]

    @classmethod
    def told(cls, program: Program, banked: tuple[int, ...]) -> Kinds:
        """Of `program` where the banks of the ops `banked` matter."""
        kinds = program.kinds.get(banked)
        if kinds is None:
            kinds = program.kinds[banked] = cls._made(program, banked)
        return kinds

    @classmethod
    def _made(cls, program: Program, banked: tuple[int, ...]) -> Kinds:
        count = len(program.ops)
        plain = list(range(count)), [0] * count
        if not banked:
            return cls(program.op, *plain)
        ops = np.array(program.op, np.int64)
        matter = np.zeros(count, np.bool_)
        matter[list(banked)] = True
        key = np.where(matter[ops], ops << program.psum.count | program.psum.touched(len(ops)), -1)
        values, places = np.unique(key, return_inverse=True)
        more = values[values >= 0]
        number = np.where(key >= 0, places.reshape(-1) + (count - (len(values) - len(more))), ops)
        of, banks = plain
        of += (more >> program.psum.count).tolist()
        banks += (more & (1 << program.psum.count) - 1).tolist()
        return cls(array("I", number.astype(np.uint32).tobytes()), of, banks)


_RING_OF = {"scalar": SCALAR_RING, "gpsimd": GPSIMD_RING}


def queue_of(op: Op) -> int:
    if op.engine == DMA:
        ring = _RING_OF.get(triggered_by(op.variables))
        return ring or (STORE if op.variables.get("dst") == "hbm" else LOAD)
    return QUEUES.index(op.engine) if op.engine in QUEUES else 3


def work_class(program: Program) -> bytes:
    """A digest that is equal for programs that differ only in what instructions cost and in FLOP/s of their
    data type. `Pace.key` has these two.
    """
    arrays = (program.op, program.place, program.waiters, program.deps)
    banks = (program.psum.refs, program.psum.owners, program.psum.sizes)
    digest = blake2b(digest_size=16)
    for values in (*arrays, *banks):
        digest.update(len(values).to_bytes(8, "little"))
        digest.update(values)
    content: tuple[Any, ...] = (
        [(op.engine, op.opcode, op.flops, sorted(op.traffic.items())) for op in program.ops],
        program.places,
        (program.psum.count, program.psum.bytes),
    )
    digest.update(repr(content).encode())
    return digest.digest()
