"""Instructions that the compiler of Beta 1 leaves out: repeated loads and lines, copies out of PSUM.

Loads and lines are issued once. Published profiles say so: NKIBench's product with an RMS norm loads 604 MB
as it is written and 98 MB as it ran.
Products are not copied: Vector and Scalar read them where they are. Published profiles of a fused attention
say so (trainium-kernel-fusion d709ddf1, fp32 and bf16, 512 and 1,024 columns): its text copies every product
of queries and keys to SBUF, and there the sums and exponentials read PSUM. In the three whose addresses were
compared, such products hold four of the eight banks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from msgspec.structs import replace

from trnbench_emulator.compiler import Assumptions
from trnbench_emulator.nki.constraints import elementwise
from trnbench_emulator.nki.instruction import Instruction
from trnbench_emulator.nki.memory import Buffer, Form, Storage, intern
from trnbench_emulator.nki.op import SCALAR, VECTOR, Op
from trnbench_emulator.nki.recorder import Recorder
from trnbench_emulator.nki.tensor import NkiTensor
from trnbench_emulator.nki.view import region_of

_INVARIANT = frozenset({"tensor_tensor", "tensor_tensor_scan"})
"""Opcodes that operands alone define. An instruction does not carry the numbers that others take."""


class Recorded(NamedTuple):
    """An instruction, and the rounds of unrolled loops that it belongs to: each is a line of its own."""

    instruction: Instruction
    rounds: tuple[int, ...]


def known(recorded: Sequence[Recorded], assumptions: Assumptions) -> tuple[dict[int, Storage], set[int]]:
    """Which instructions may be left out: loads under `residence`, others under `hoisting`.

    By the number of one, the tile that holds its result already, if it is still there; and the numbers of
    loads that can be repeated at any time.

    Two loads are one where they read the same of a tensor that nobody wrote in between. Another
    instruction is one with the last of its own line where its operands are the same and unwritten since:
    it does not depend on the innermost loop. The result of either has to be all of a tile that nothing
    else writes.
    """
    writers = Counter(view.storage for instruction, _ in recorded for view in instruction.writes)
    duplicates: dict[Storage, Storage] = {}
    versions: Counter[Storage] = Counter()
    loaded: dict[Any, Storage] = {}
    lines: dict[tuple[str, int, tuple[int, ...]], tuple[Any, Storage]] = {}
    again: dict[int, Storage] = {}
    loads: set[int] = set()
    for number, (instruction, rounds) in enumerate(recorded):
        dst = _whole(instruction, writers)
        if dst is not None:
            operands = [_value(view, duplicates, versions) for view in instruction.reads]
            key = (instruction.op, dst.form, *operands)
            if instruction.op.opcode == "dma_copy":
                before = loaded.setdefault(key, dst) if "residence" in assumptions else dst
                if instruction.reads[0].storage not in writers:
                    loads.add(number)
            elif "hoisting" in assumptions:
                line = (instruction.file, instruction.line, rounds)
                last = lines.get(line)
                before = last[1] if last is not None and last[0] == key else dst
                lines[line] = (key, before)
            else:
                before = dst
            if before is not dst:
                again[number] = duplicates[dst] = before
        for view in instruction.writes:
            versions[view.storage] += 1
    return again, loads


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


def _value(view: NkiTensor, same: dict[Storage, Storage], versions: Counter[Storage]) -> tuple[Any, ...]:
    storage = same.get(view.storage, view.storage)
    return (storage, view.form, view.offset, versions[storage])


SWITCH, ROWS = "reading-in-psum", "broadcast-in-psum"
SHARE = 2
"""Such products take one part in so many of PSUM at most: the rest is for what comes next."""
_WHERE = frozenset({"psum_operands", "psum_inputs", "all_sbuf", "stride"})
"""Variables of an op that tell where its operands are."""


class _Touch(NamedTuple):
    """One operand of an instruction."""

    number: int
    op: Op
    writes: bool
    view: NkiTensor


class _Copy(NamedTuple):
    """`number`: of the copy; `readers`: of the instructions that read what it copied, with that view."""

    number: int
    source: NkiTensor
    readers: tuple[_Touch, ...]


def uncopied(recorded: Sequence[Recorded], recorder: Recorder) -> Sequence[Recorded]:
    """The instructions without those copies. A line of the source is decided as a whole: the compiler sees a
    loop, not its rounds."""
    lines: dict[tuple[str, int, tuple[int, ...]], list[int]] = defaultdict(list)
    for number, (instruction, rounds) in enumerate(recorded):
        if _copies(instruction):
            lines[instruction.file, instruction.line, rounds].append(number)
    if not lines or SWITCH not in recorder.assumptions:
        return recorded
    instructions = [instruction for instruction, _ in recorded]
    rows_too = ROWS in recorder.assumptions
    room = recorder.ledgers[Buffer.PSUM].capacity // SHARE
    touched = _touched(instructions, (number for line in lines.values() for number in line))
    left_out: list[_Copy] = []
    changes: list[tuple[int, int]] = []
    for numbers in lines.values():
        line = [_read_in_psum(number, instructions, touched) for number in numbers]
        copies = [copy for copy in line if copy is not None and (rows_too or not _is_a_row(copy, touched))]
        more = [change for copy in copies for change in _stay(copy, touched)]
        if len(copies) == len(line) and _peak([*changes, *more]) <= room:
            left_out += copies
            changes += more
    if not left_out:
        return recorded
    recorder.assumes(SWITCH)
    return _without(recorded, left_out)


def _copies(each: Instruction) -> bool:
    """Does it bring a product out of PSUM as it is?"""
    if len(each.reads) != 1 or len(each.writes) != 1:
        return False
    op, source, target = each.op, each.reads[0].form, each.writes[0].form
    as_it_is = op.opcode == "tensor_copy" or (
        op.opcode == "activation" and op.variables.get("op") == "copy" and not op.variables.get("scaled")
    )
    return (
        as_it_is
        and (source.buffer, target.buffer) == (Buffer.PSUM, Buffer.SBUF)
        and source.dtype is target.dtype
        and source.partitions == target.partitions
        and _in_one_run(source)
        and _in_one_run(target)
    )


def _in_one_run(form: Form) -> bool:
    """Are a partition's elements one behind the other, whatever the order in which they are read?"""
    steps = [(step, size) for step, size in zip(form.strides[1:], form.shape[1:], strict=True) if size > 1]
    return (
        not form.indirect
        and all(step > 0 for step, _ in steps)
        and 1 + sum(step * (size - 1) for step, size in steps) == form.free
    )


def _touched(instructions: Sequence[Instruction], copies: Iterable[int]) -> dict[Storage, list[_Touch]]:
    """Who reads and writes the tiles of these copies, in order: an instruction reads before it writes."""
    touched: dict[Storage, list[_Touch]] = {}
    for number in copies:
        touched[instructions[number].reads[0].storage] = []
        touched[instructions[number].writes[0].storage] = []
    for number, instruction in enumerate(instructions):
        for writes, views in ((False, instruction.reads), (True, instruction.writes)):
            for view in views:
                touches = touched.get(view.storage)
                if touches is not None:
                    touches.append(_Touch(number, instruction.op, writes, view))
    return touched


def _read_in_psum(
    number: int, instructions: Sequence[Instruction], touched: dict[Storage, list[_Touch]]
) -> _Copy | None:
    """The copy with its readers, None where somebody needs it, or the product is gone before the last."""
    source, target = instructions[number].reads[0], instructions[number].writes[0]
    box = region_of(target.storage, target.form, target.offset)
    readers: list[_Touch] = []
    for touch in touched[target.storage]:
        if touch.number <= number:
            continue
        region = region_of(touch.view.storage, touch.view.form, touch.view.offset)
        if not box.meets(region):
            continue
        alike = region == box and touch.view.dtype is target.dtype and _in_one_run(touch.view.form)
        if touch.writes and alike:
            break
        if touch.writes or not alike or not _reads_psum(instructions[touch.number], touch.view):
            return None
        readers.append(touch)
    if not readers:
        return None
    last = readers[-1].number
    rewritten = any(access.writes and number < access.number <= last for access in touched[source.storage])
    return None if rewritten else _Copy(number, source, tuple(readers))


def _reads_psum(each: Instruction, view: NkiTensor) -> bool:
    """Can it read this operand in PSUM? Two operands there are one too many, GpSimd reaches none."""
    return (
        each.op.engine in (VECTOR, SCALAR)
        and view.form.free == max(operand.form.free for operand in each.reads)
        and not any(operand.buffer is Buffer.PSUM for operand in each.reads)
    )


def _is_a_row(copy: _Copy, touched: dict[Storage, list[_Touch]]) -> bool:
    """A row that was spread over partitions, by a product with ones."""
    return any(touch.writes and touch.op.variables.get("K") == 1 for touch in touched[copy.source.storage])


def _stay(copy: _Copy, touched: dict[Storage, list[_Touch]]) -> tuple[tuple[int, int], tuple[int, int]]:
    """A product is in PSUM from its first instruction to its last reader: at which number how many bytes of
    each partition are taken, and given back."""
    storage = copy.source.storage
    size = storage.form.row_bytes
    return (touched[storage][0].number, size), (copy.readers[-1].number + 1, -size)


def _peak(changes: Iterable[tuple[int, int]]) -> int:
    """The most bytes that are held at once."""
    return max(accumulate(bytes_ for _, bytes_ in sorted(changes)), default=0)


def _without(recorded: Sequence[Recorded], left_out: Iterable[_Copy]) -> list[Recorded]:
    dropped = set()
    instead: dict[int, dict[int, NkiTensor]] = defaultdict(dict)
    for copy in left_out:
        dropped.add(copy.number)
        for touch in copy.readers:
            instead[touch.number][id(touch.view)] = _placed(touch.view, copy.source)
    ops: dict[tuple[Op, tuple[Form, ...]], Op] = {}
    remaining = []
    for number, entry in enumerate(recorded):
        if number in dropped:
            continue
        views = instead.get(number)
        remaining.append(
            entry if views is None else Recorded(_reading(entry.instruction, views, ops), entry.rounds)
        )
    return remaining


def _placed(view: NkiTensor, source: NkiTensor) -> NkiTensor:
    """The same elements in PSUM."""
    strides = (source.form.strides[0], *view.form.strides[1:])
    return NkiTensor(
        source.storage, intern(source.buffer, source.dtype, view.form.shape, strides), source.offset
    )


def _reading(
    each: Instruction, views: dict[int, NkiTensor], ops: dict[tuple[Op, tuple[Form, ...]], Op]
) -> Instruction:
    reads = tuple(views.get(id(view), view) for view in each.reads)
    key = (each.op, tuple(view.form for view in reads))
    op = ops.get(key)
    if op is None:
        moved = sum(view.form.nbytes for view in each.reads if id(view) in views)
        places = elementwise(*(view.form for view in (*each.writes, *reads)))
        op = ops[key] = replace(
            each.op,
            variables={
                name: places[name] if name in _WHERE else value for name, value in each.op.variables.items()
            },
            traffic={
                **each.op.traffic,
                "sbuf_read": each.op.traffic["sbuf_read"] - moved,
                "psum_read": each.op.traffic.get("psum_read", 0) + moved,
            },
        )
    return replace(each, op=op, reads=reads)
