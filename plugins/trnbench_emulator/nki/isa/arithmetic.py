"""Vector, GpSimd and Scalar: element-wise and reducing instructions. They compute in fp32."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from typing import Any

import numpy as np

from trnbench_emulator.nki.constraints import (
    INTEGERS,
    LAST_AXES,
    Rules,
    alike,
    bits,
    column,
    dimensions,
    form_of,
    issue,
    moved,
    step,
    tiles,
    word,
)
from trnbench_emulator.nki.functions import Function, function_of
from trnbench_emulator.nki.isa.constants import engine as engines
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.op import GPSIMD, SCALAR, VECTOR, Op
from trnbench_emulator.nki.recorder import Recorder, current
from trnbench_emulator.nki.tensor import NkiTensor

_NOT_REDUCED = ("abs_max", "abs_min", "average")  # other instructions reduce by these
_SCALAR_AFFINE_SINCE = 3  # NeuronCore-v3: tensor_scalar on Scalar


def tensor_tensor(
    dst: NkiTensor,
    data1: NkiTensor,
    data2: NkiTensor,
    op: Any,
    engine: engines = engines.unknown,
    name: str | None = None,
) -> None:
    """dst = data1 op data2. Vector; GpSimd for power and for 32-bit integers in SBUF."""
    recorder = current()
    key = ("tensor_tensor", dst.form, data1.form, data2.form, op, engine)
    operation = recorder.ops.get(key)
    if operation is None:
        operation = recorder.ops[key] = _tensor_tensor(recorder, dst, data1, data2, op, engine)
    recorder.emit(operation, (dst,), (data1, data2))
    if recorder.functional:
        function = function_of(op, "tensor_tensor", arity=2)
        whole = operation.engine == GPSIMD and function.name != "power" and _whole(dst, data1, data2)
        if function.bitwise or whole:
            first, second = data1.array, data2.array
        else:
            first, second = data1.floats(), data2.floats()
        with np.errstate(all="ignore"):
            dst.put(function.apply(first, second.reshape(first.shape)))


def _tensor_tensor(recorder: Recorder, dst: Any, data1: Any, data2: Any, op: Any, engine: Any) -> Op:
    rules = Rules("tensor_tensor", recorder.machine)
    function = function_of(op, "tensor_tensor", arity=2, kind="alu")
    pair(rules, dst, data1=data1, data2=data2)
    _bit_types(rules, function, dst, data1, data2)
    views = (dst, data1, data2)
    integers = _whole(*views) and not any(view.form.buffer is Buffer.PSUM for view in views)
    first = GPSIMD if function.name == "power" or (integers and not function.bitwise) else VECTOR
    order = (first, GPSIMD if first == VECTOR else VECTOR)
    chosen = rules.engine(word(engine), order, dst.form, data1.form, data2.form)
    return rules.op(chosen, (dst,), (data1, data2), op=function.name)


def _whole(*views: NkiTensor) -> bool:
    """32-bit integers alone, for which GpSimd has arithmetic of its own; all else is computed in fp32."""
    return all(view.form.dtype.name in ("int32", "uint32") for view in views)


def pair(rules: Rules, dst: Any, **data: Any) -> None:
    """Two operands and their result must have as many elements; one of the two may be in PSUM."""
    (name, first), (other, second) = data.items()
    tiles(rules, **data, dst=dst)
    column = "nisa.tensor_scalar takes a column as operand0"
    rules.same_elements(first.form, second.form, (name, other), column=column)
    rules.same_elements(dst.form, first.form, ("dst", name))
    rules.not_both_psum(first.form, second.form, (name, other))


def tensor_scalar(
    dst: NkiTensor,
    data: NkiTensor,
    op0: Any,
    operand0: float | NkiTensor | None,
    reverse0: bool = False,
    op1: Any = None,
    operand1: float | NkiTensor | None = None,
    reverse1: bool = False,
    engine: engines = engines.unknown,
    name: str | None = None,
) -> None:
    """dst = (data op0 operand0) op1 operand1, operands being numbers or one per partition."""

    def build(rules: Rules) -> Op:
        return _tensor_scalar(rules, dst, data, op0, operand0, op1, operand1, engine)

    recorder = issue("tensor_scalar", build, (dst,), (data, operand0, operand1), op0, op1, engine)
    if recorder.functional:
        first = function_of(op0, "tensor_scalar")
        take = bits if first.bitwise else column
        values = data.array if first.bitwise else data.floats()
        with np.errstate(all="ignore"):
            values = step(first, values, _typed(take(operand0, values.ndim), values), reverse=reverse0)
            if op1 is not None:
                second = function_of(op1, "tensor_scalar")
                other = _typed(take(operand1, values.ndim), values)
                values = step(second, values, other, reverse=reverse1)
        dst.put(values)


def _tensor_scalar(
    rules: Rules, dst: Any, data: Any, op0: Any, operand0: Any, op1: Any, operand1: Any, engine: Any
) -> Op:
    first = function_of(op0, "tensor_scalar", kind="alu")
    alike(rules, dst, data=data)
    operand(rules, first, operand0, data.form.partitions, "operand0")
    names = first.name
    if op1 is not None:
        second = function_of(op1, "tensor_scalar", kind="alu")
        operand(rules, second, operand1, data.form.partitions, "operand1")
        rules.require(first.bitwise == second.bitwise, f"{op0!r} and {op1!r} mix arithmetic with bit vectors")
        names = f"{first.name} {second.name}"
    _bit_types(rules, first, dst, data)
    allowed = (VECTOR,) if first.bitwise else (VECTOR, SCALAR, GPSIMD)
    chosen = rules.engine(word(engine), allowed, dst.form, data.form)
    if chosen == SCALAR:
        rules.require(
            rules.machine.nc_version >= _SCALAR_AFFINE_SINCE,
            "engine scalar has it from NeuronCore-v3 on",
            try_="nisa.activation(dst, nl.copy, data, scale=…, bias=…), or leave the engine open",
        )
        rules.require(
            names in ("multiply add", "multiply", "add") or rules.machine.nc_version > _SCALAR_AFFINE_SINCE,
            f"engine scalar does multiply, add, or multiply and add, not {names}",
            try_="leave the engine open",
        )
    reads = tuple(tensor.form for tensor in (data, operand0, operand1) if isinstance(tensor, NkiTensor))
    op = rules.op(chosen, (dst,), (data,), op=first.name)
    op.traffic = moved(reads=reads, writes=(dst.form,))
    return op


def operand(rules: Rules, function: Function, given: Any, partitions: int, name: str) -> None:
    """The second operand of a binary operation; a unary one takes None or 0."""
    if function.arity == 1:
        rules.require(
            given is None or (isinstance(given, (int, float)) and given == 0) or form_of(given) is not None,
            f"{name} is {given!r}, nl.{function.name} takes one operand: it must be None or 0",
        )
        return
    rules.scalar_operand(given, partitions, name=name)
    if form_of(given) is not None:
        _bit_types(rules, function, given)


def _typed(other: Any, values: Any) -> Any:
    """A number beside bit patterns, in their type; -1 is all ones."""
    if isinstance(other, int):
        size = values.dtype.itemsize * 8
        return np.array(other & ((1 << size) - 1), f"u{size // 8}").view(values.dtype)
    return other


def _bit_types(rules: Rules, function: Function, *views: Any) -> None:
    if not function.bitwise:
        return
    for view in views:
        rules.require(
            view.form.dtype.name in (*INTEGERS, "bool_"),
            f"nl.{function.name} works on integers, an operand is {view.form.dtype}",
            try_="tile.view(nl.uint32) reads the bits of floats as integers",
        )


def scalar_tensor_tensor(
    dst: NkiTensor,
    data: NkiTensor,
    op0: Any,
    operand0: float | NkiTensor | None,
    op1: Any,
    operand1: NkiTensor,
    reverse0: bool = False,
    reverse1: bool = False,
    name: str | None = None,
) -> None:
    """dst = (data op0 operand0) op1 operand1: a number (or column), then a tensor."""

    def build(rules: Rules) -> Op:
        pair(rules, dst, data=data, operand1=operand1)
        first = function_of(op0, "scalar_tensor_tensor", kind="alu")
        second = function_of(op1, "scalar_tensor_tensor", arity=2, kind="alu")
        operand(rules, first, operand0, data.form.partitions, "operand0")
        rules.require(
            not (first.bitwise or second.bitwise), "bitwise operations are not among its operations"
        )
        return rules.op(VECTOR, (dst,), (data, operand1), op=f"{first.name} {second.name}")

    recorder = issue("scalar_tensor_tensor", build, (dst,), (data, operand1, operand0), op0, op1)
    if recorder.functional:
        values = data.floats()
        third = operand1.floats().reshape(values.shape)
        with np.errstate(all="ignore"):
            first = function_of(op0, "scalar_tensor_tensor")
            values = step(first, values, column(operand0, values.ndim), reverse=reverse0)
            values = step(function_of(op1, "scalar_tensor_tensor"), values, third, reverse=reverse1)
        dst.put(values)


def tensor_reduce(
    dst: NkiTensor,
    op: Any,
    data: NkiTensor,
    axis: int | tuple[int, ...],
    negate: bool = False,
    keepdims: bool = False,
    name: str | None = None,
) -> None:
    """dst = op over the trailing free axes of data."""
    rank = len(data.form.shape)
    axes = dimensions(axis, rank)

    def build(rules: Rules) -> Op:
        function = function_of(op, "tensor_reduce", arity=2, kind="fold")
        rules.require(
            function.name not in _NOT_REDUCED, f"nl.{function.name} is no reduction of this instruction"
        )
        tiles(rules, data=data, dst=dst)
        rules.require(
            axes == tuple(range(rank - len(axes), rank)) and len(axes) > 0 and 0 not in axes,
            f"axis {axis} of {data.form!r} is not made of the last free dimensions",
            try_=LAST_AXES,
        )
        remaining = data.form.elements
        for number in axes:
            remaining //= data.form.shape[number]
        rules.require(
            dst.form.partitions == data.form.partitions and dst.form.elements == remaining,
            f"dst has {dst.form.elements} elements on {dst.form.partitions} partitions, "
            f"the reduction has {remaining} on {data.form.partitions}",
        )
        _bit_types(rules, function, dst, data)
        rules.require(not (negate and function.bitwise), "negate= goes with arithmetic operations")
        return rules.op(VECTOR, (dst,), (data,), op=function.name)

    recorder = issue("tensor_reduce", build, (dst,), (data,), op, axes, negate)
    if recorder.functional:
        function = function_of(op, "tensor_reduce")
        assert function.fold is not None
        elements = data.array if function.bitwise else data.floats()
        shape = elements.shape[: rank - len(axes)]
        values = function.fold(elements.reshape(*shape, -1), axis=len(shape))
        dst.put(-values if negate else values)
