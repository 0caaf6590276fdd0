"""The rules of an instruction, the sentences where it breaks one, and its Op with its operands.

Checked once per combination of operand forms, so that a loop of a million calls pays once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trnbench.errors import KernelError
from trnbench.record import Record
from trnbench_emulator.nki import site
from trnbench_emulator.nki.dtype import Array, DType
from trnbench_emulator.nki.functions import FUNCTIONS, Function
from trnbench_emulator.nki.machine import Machine
from trnbench_emulator.nki.memory import Buffer, Form
from trnbench_emulator.nki.op import Op
from trnbench_emulator.nki.recorder import Recorder, current
from trnbench_emulator.nki.tensor import NkiTensor
from trnbench_emulator.nki.values import VirtualRegister, whole


class Rules(Record):
    """Checks of one call: every failure names call, generation, rule, limit, file and line."""

    call: str
    machine: Machine

    def fail(self, text: str, *, cause: str = "", try_: str = "") -> KernelError:
        return KernelError(
            f"{self.call} on {self.machine.generation}: {text} ({site.here()})", cause=cause, try_=try_
        )

    def require(self, ok: bool, text: str, *, cause: str = "", try_: str = "") -> None:
        if not ok:
            raise self.fail(text, cause=cause, try_=try_)

    def since(self, version: int, what: str = "it") -> None:
        """The instruction, or what it is asked for, exists from this NeuronCore version on."""
        self.require(
            self.machine.nc_version >= version,
            f"{what} is available from NeuronCore-v{version} on, this is {self.machine.core}",
        )

    def within(self, operand: Form, *buffers: Buffer, name: str) -> None:
        """`name` must live in one of `buffers`."""
        if operand.buffer not in buffers:
            wanted = " or ".join(buffer.memory.upper() for buffer in buffers)
            raise self.fail(
                f"{name} is in {operand.buffer.memory.upper()}, it must be in {wanted}",
                try_="nisa.dma_copy moves between HBM and SBUF, nisa.tensor_copy between SBUF and PSUM",
            )

    def on_chip(self, operand: Form, *, name: str) -> None:
        self.within(operand, Buffer.SBUF, Buffer.PSUM, name=name)

    def in_sbuf(self, **operands: NkiTensor) -> None:
        for name, operand in operands.items():
            self.within(operand.form, Buffer.SBUF, name=name)

    def at_most(self, size: int, limit: int, what: str, *, try_: str = "") -> None:
        if size > limit:
            raise self.fail(f"{what} is {size}, the limit is {limit}", try_=try_)

    def same_elements(self, left: Form, right: Form, names: tuple[str, str], *, column: str = "") -> None:
        """Same partitions and as many elements in each. `column`: what to try where one has one in each."""
        if left.partitions != right.partitions or left.free != right.free:
            try_ = ""
            if left.partitions == right.partitions and 1 in (left.free, right.free):
                try_ = column
            elif left.partitions != right.partitions and 1 in (left.partitions, right.partitions):
                try_ = "nl.broadcast_to, or a dma_copy of row.ap([[0, 128], …]), spreads a row"
            raise self.fail(
                f"{names[0]} has {left.partitions} × {left.free} elements (partitions × free), "
                f"{names[1]} has {right.partitions} × {right.free}",
                try_=try_,
            )

    def not_both_psum(self, left: Form, right: Form, names: tuple[str, str]) -> None:
        if left.buffer is Buffer.PSUM and right.buffer is Buffer.PSUM:
            raise self.fail(
                f"{names[0]} and {names[1]} are both in PSUM, one may be",
                try_="copy one to SBUF with nisa.tensor_copy",
            )

    def scalar_operand(self, operand: object, partitions: int, *, name: str) -> None:
        """A number, or a column: one fp32 element for each partition."""
        form = form_of(operand)
        if form is None:
            if not isinstance(operand, (int, float, np.number, VirtualRegister)):
                raise self.fail(f"{name} is {type(operand).__name__}, it must be a number or a (P, 1) tensor")
            return
        self.on_chip(form, name=name)
        if form.partitions != partitions or form.free != 1:
            raise self.fail(f"{name} has shape {list(form.shape)}, it must be ({partitions}, 1)")

    def constant(self, kind: DType, value: Any, *, cast: bool) -> None:
        """A number that a tile is filled with: an integer type takes what it can hold, a float where it is
        `cast` without a loss."""
        if kind.is_float or kind.packed is not None or not isinstance(value, (int, float, np.number)):
            return
        number = value.item() if isinstance(value, np.number) else value
        low, high = (0, 1) if kind.numpy.kind == "b" else (np.iinfo(kind.numpy).min, np.iinfo(kind.numpy).max)
        exact = isinstance(number, int) or (cast and number % 1 == 0)
        self.require(
            exact and low <= number <= high,
            f"value is {value!r}, {kind} takes an integer from {low} to {high}",
            cause="" if cast else "from NKI 0.3 on the value must be of dst's type, without a cast",
            try_="an integer in that range, or a dst of another type",
        )

    def engine(self, given: str, allowed: tuple[str, ...], *operands: Form) -> str:
        """The engine that carries the call out; the first of `allowed` when none is asked for."""
        chosen = allowed[0] if given == "unknown" else given
        if chosen not in allowed:
            raise self.fail(f"engine {chosen} cannot carry it out, {', '.join(allowed)} can")
        if chosen == "gpsimd" and any(operand.buffer is Buffer.PSUM for operand in operands):
            raise self.fail(
                "engine gpsimd cannot reach PSUM", try_="use engine=nisa.engine.vector, or copy to SBUF first"
            )
        return chosen

    def op(
        self, engine: str, writes: tuple[NkiTensor, ...], reads: tuple[NkiTensor, ...], **variables: Any
    ) -> Op:
        """What the call becomes on an engine that walks its elements."""
        for name in variables.get("op", "").split():
            if name in FUNCTIONS:
                self.since(FUNCTIONS[name].since, f"nl.{name}")
        written, read = tuple(view.form for view in writes), tuple(view.form for view in reads)
        forms = (*written, *read)
        return Op(
            engine,
            self.call,
            (read or written)[0].dtype.word,
            {**elementwise(*forms), **variables},
            moved(reads=read, writes=written),
            elements=max(form.elements for form in forms),
        )


def moved(*, reads: tuple[Form, ...], writes: tuple[Form, ...]) -> dict[str, int]:
    """Bytes per memory and direction: {"sbuf_read": …, "psum_write": …}."""
    traffic: dict[str, int] = {}
    for suffix, forms in (("read", reads), ("write", writes)):
        for form in forms:
            key = f"{form.buffer.memory}_{suffix}"
            traffic[key] = traffic.get(key, 0) + form.nbytes
    return traffic


def _stride(form: Form) -> int:
    """Bytes from one element to the next in SBUF; of PSUM, about which no document speaks, 0."""
    if form.buffer is not Buffer.SBUF:
        return 0
    inner = (abs(step) for size, step in zip(form.shape[:0:-1], form.strides[:0:-1], strict=True) if size > 1)
    return next(inner, 0) * form.dtype.size


def elementwise(dst: Form, *sources: Form) -> dict[str, object]:
    """The variables of an instruction that walks its elements: see docs/emulator.md."""
    operands = (dst, *sources)
    buffers = [form.buffer for form in operands]
    types = {form.dtype.name for form in operands}
    return {
        "N": max([form.free for form in operands]),
        "P": max([form.partitions for form in operands]),
        "psum_operands": buffers.count(Buffer.PSUM),
        "psum_inputs": buffers[1:].count(Buffer.PSUM),
        "all_sbuf": buffers.count(Buffer.SBUF) == len(buffers),
        "contiguous": all(form.contiguous for form in operands),
        "stride": max([_stride(form) for form in operands]),
        "bits": max([form.dtype.size for form in operands]) * 8,
        "all_16bit": types <= {"bfloat16", "float16"},
        "all_bf16": types == {"bfloat16"},
    }


INTEGERS = ("int8", "int16", "int32", "uint8", "uint16", "uint32")


def word(value: Any) -> str:
    """The name of an enumeration's member, however it was given."""
    return str(getattr(value, "value", value))


def issue(
    call: str,
    build: Callable[[Rules], Op],
    writes: tuple[NkiTensor, ...],
    reads: tuple[Any, ...],
    *options: Any,
) -> Recorder:
    """Emit the instruction of these operands, and return what it is recorded by.

    Its checks and variables are worked out once for all operands of the same aspects with the same `options`,
    which name whatever else they depend on.
    Of `reads`, what is no tensor (numbers, None) is left out.
    """
    recorder = current()
    key = (call, *map(aspect, (*writes, *reads)), *options)
    op = recorder.ops.get(key)
    if op is None:
        op = recorder.ops[key] = build(Rules(call, recorder.machine))
    recorder.emit(op, writes, tuple([operand for operand in reads if isinstance(operand, NkiTensor)]), 3)
    return recorder


def tiles(rules: Rules, **named: Any) -> None:
    """Every named operand must be a tensor on chip; None is let through."""
    for name, view in named.items():
        if view is None:
            continue
        rules.require(form_of(view) is not None, f"{name} is {type(view).__name__}, it must be a tensor")
        rules.on_chip(view.form, name=name)


def alike(rules: Rules, dst: Any, **source: Any) -> None:
    """`dst` and the other operand must be tensors on chip with as many elements."""
    tiles(rules, **source, dst=dst)
    for name, view in source.items():
        rules.same_elements(dst.form, view.form, ("dst", name))


def form_of(operand: Any) -> Form | None:
    return getattr(operand, "form", None)


def aspect(operand: Any) -> Any:
    """What checks see of an operand: the form of a tensor, of a number whether it is 0, else the type."""
    form = getattr(operand, "form", None)
    if form is not None:
        return form
    return operand != 0 if isinstance(operand, (int, float)) else type(operand)


LAST_AXES = "view.permute(…) brings an axis last; nc_matmul with a column of ones adds up partitions"


def dimensions(axis: int | tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Those that `axis` names, in order; behind the last one what names none."""
    named = (axis,) if isinstance(axis, (int, np.integer)) else axis
    return tuple(sorted(int(each) + rank * (-rank <= each < 0) for each in named))


def rows_of(array: Array) -> Array:
    """A row for each partition, the free dimensions flattened."""
    return array.reshape(len(array), -1)


def column(operand: Any, ndim: int) -> Any:
    """A number as it is; a (P, 1) tensor in a shape that broadcasts over the free dimensions."""
    if isinstance(operand, NkiTensor):
        return operand.floats().reshape(-1, *([1] * (ndim - 1)))
    return np.float32(0 if operand is None else operand)


def bits(operand: Any, ndim: int) -> Any:
    """The same for bitwise operations, which see no floats."""
    if isinstance(operand, NkiTensor):
        return operand.array.reshape(-1, *([1] * (ndim - 1)))
    return whole(operand or 0, "the operand of a bitwise operation")


def step(function: Function, values: Any, other: Any, *, reverse: bool = False) -> Any:
    """values op other, or other op values; a unary operation leaves `other` out. In fp32 unless bitwise."""
    operands = (values,) if function.arity == 1 else (other, values) if reverse else (values, other)
    result = function.apply(*operands)
    return result if function.bitwise else np.asarray(result, np.float32)
