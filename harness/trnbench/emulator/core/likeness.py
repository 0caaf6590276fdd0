"""Which recordings take the same time: a product of fp16 does what one of bf16 does, in other numbers."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from trnbench.emulator.core.emulate import Piece
from trnbench.emulator.core.program import Program


def likeness(program: Program, pieces: Sequence[Piece]) -> bytes:
    """Equal for programs that differ in nothing but what their instructions cost and how many FLOP/s the
    data type could reach; `Pace.key` has these two."""
    arrays = (program.op, program.place, program.first, program.deps)
    banks = (program.psum.refs, program.psum.first, program.psum.sizes)
    digest = blake2b(digest_size=16)
    for each in (*arrays, *banks):
        digest.update(len(each).to_bytes(8, "little"))
        digest.update(each)
    told: tuple[Any, ...] = (
        [(op.engine, op.opcode, op.flops, sorted(op.traffic.items())) for op in program.ops],
        program.places,
        [(run.begin, run.length, run.count) for run in program.runs],
        [(piece.ends, piece.times) for piece in pieces],
        (program.psum.count, program.psum.bytes),
    )
    digest.update(repr(told).encode())
    return digest.digest()
