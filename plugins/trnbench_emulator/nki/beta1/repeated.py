"""Instructions whose result is there already: loads of what was loaded, and what a loop repeats.

The compiler of Beta 1 issues them once. Published profiles say so: NKIBench's product with an RMS norm
loads 604 MB as it is written and 98 MB as it ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from trnbench_emulator.compiler import Assumptions
from trnbench_emulator.nki.instruction import Instruction
from trnbench_emulator.nki.memory import Buffer, Storage
from trnbench_emulator.nki.tensor import NkiTensor

_INVARIANT = frozenset({"tensor_tensor", "tensor_tensor_scan"})
"""Opcodes that operands alone define. An instruction does not carry the numbers that others take."""


class Recorded(NamedTuple):
    """An instruction, and the rounds of unrolled loops that it belongs to: each is a line of its own."""

    instruction: Instruction
    rounds: tuple[int, ...]


class Known(NamedTuple):
    """`again`: number of an instruction → the tile that holds its result already, if it is still there.
    `loads`: numbers of loads that can be repeated at any time."""

    again: dict[int, Storage]
    loads: set[int]


def known(recorded: Sequence[Recorded], assumptions: Assumptions) -> Known:
    """Which instructions may be left out: loads under `residence`, others under `hoisting`.

    Two loads are one where they read the same of a tensor that nobody wrote in between. Another
    instruction is one with the last of its own line where its operands are the same and unwritten since:
    it does not depend on the innermost loop. The result of either has to be all of a tile that nothing
    else writes.
    """
    writers: dict[Storage, int] = {}
    for instruction, _ in recorded:
        for view in instruction.writes:
            writers[view.storage] = writers.get(view.storage, 0) + 1
    same: dict[Storage, Storage] = {}
    versions: dict[Storage, int] = {}
    loaded: dict[Any, Storage] = {}
    lines: dict[tuple[str, int, tuple[int, ...]], tuple[Any, Storage]] = {}
    facts = Known({}, set())
    for number, (instruction, rounds) in enumerate(recorded):
        dst = _whole(instruction, writers)
        if dst is not None:
            key = (instruction.op, dst.form, *(_value(view, same, versions) for view in instruction.reads))
            if instruction.op.opcode == "dma_copy":
                before = loaded.setdefault(key, dst) if "residence" in assumptions else dst
                if instruction.reads[0].storage not in writers:
                    facts.loads.add(number)
            elif "hoisting" in assumptions:
                line = (instruction.file, instruction.line, rounds)
                last = lines.get(line)
                before = last[1] if last is not None and last[0] == key else dst
                lines[line] = (key, before)
            else:
                before = dst
            if before is not dst:
                facts.again[number] = same[dst] = before
        for view in instruction.writes:
            versions[view.storage] = versions.get(view.storage, 0) + 1
    return facts


def _whole(each: Instruction, writers: dict[Storage, int]) -> Storage | None:
    """The tile of SBUF that an instruction fills alone, if it is of the kind that may be left out."""
    if len(each.writes) != 1:
        return None
    view = each.writes[0]
    storage = view.storage
    if each.op.opcode == "dma_copy":
        if len(each.reads) != 1 or each.reads[0].form.on_chip or each.reads[0].form.indirect:
            return None
    elif each.op.opcode not in _INVARIANT or any(read.form.indirect for read in each.reads):
        return None
    alone = storage.form.buffer is Buffer.SBUF and writers[storage] == 1 and not view.form.indirect
    return storage if alone and view.offset == 0 and view.form.elements == storage.form.elements else None


def _value(view: NkiTensor, same: dict[Storage, Storage], versions: dict[Storage, int]) -> tuple[Any, ...]:
    storage = same.get(view.storage, view.storage)
    return (storage, view.form, view.offset, versions.get(storage, 0))
