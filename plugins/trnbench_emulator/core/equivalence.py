"""Equivalence classes of programs: one of them is scheduled, for all that take the same time."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from trnbench_emulator.core.program import Program


def work_class(program: Program) -> bytes:
    """Equal for programs that differ in nothing but what their instructions cost and how many FLOP/s the
    data type could reach, as a product of fp16 and one of bf16; `Pace.key` has these two."""
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


def representatives(programs: tuple[Program, ...], classes: tuple[bytes, ...]) -> tuple[int, ...]:
    """For each program of a launch the first of the same work class whose instructions cost the same."""
    seen: dict[Any, int] = {}
    return tuple(
        seen.setdefault((work, tuple(op.key() for op in program.ops)), number)
        for number, (program, work) in enumerate(zip(programs, classes, strict=True))
    )
