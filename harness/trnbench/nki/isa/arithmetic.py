"""Vector and Scalar: element-wise, reducing and activation instructions. They compute in fp32."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from typing import Any

import numpy as np

from trnbench.nki.constraints import Rules, elementwise, moved
from trnbench.nki.functions import FUNCTIONS, Function, function_of
from trnbench.nki.instruction import GPSIMD, SCALAR, VECTOR, Op
from trnbench.nki.isa.constants import engine as engines
from trnbench.nki.isa.constants import reduce_cmd as reduce_cmds
from trnbench.nki.memory import Form
from trnbench.nki.recorder import Recorder, current
from trnbench.nki.tensor import NkiTensor


def tensor_tensor(
    dst: NkiTensor,
    data1: NkiTensor,
    data2: NkiTensor,
    op: Any,
    engine: engines = engines.unknown,
    name: str | None = None,
) -> None:
    """dst = data1 op data2. Vector; GpSimd for power and for 32-bit integers."""
    recorder = current()
    key = ("tensor_tensor", dst.form, data1.form, data2.form, op, engine)
    found = recorder.ops.get(key)
    if found is None:
        rules = Rules("tensor_tensor", recorder.machine)
        function = function_of(op, "tensor_tensor", arity=2)
        for label, view in (("data1", data1), ("data2", data2), ("dst", dst)):
            rules.on_chip(view.form, name=label)
        rules.same_elements(data1.form, data2.form, ("data1", "data2"))
        rules.same_elements(dst.form, data1.form, ("dst", "data1"))
        rules.not_both_psum(data1.form, data2.form, ("data1", "data2"))
        integers = all(view.form.dtype.name in ("int32", "uint32") for view in (dst, data1, data2))
        first = GPSIMD if function.name == "power" or (integers and not function.bitwise) else VECTOR
        order = (first, GPSIMD if first == VECTOR else VECTOR)
        chosen = rules.engine(_name(engine), order, dst.form, data1.form, data2.form)
        found = _op(
            recorder, key, chosen, "tensor_tensor", dst.form, (data1.form, data2.form), op=function.name
        )
    recorder.emit(found, (dst,), (data1, data2))
    if recorder.functional:
        function = function_of(op, "tensor_tensor", arity=2)
        left, right = _values(function, data1, data2)
        with np.errstate(all="ignore"):
            dst.put(function.apply(left, right.reshape(left.shape)).reshape(dst.shape))


def tensor_scalar(
    dst: NkiTensor,
    data: NkiTensor,
    op0: Any,
    operand0: float | NkiTensor,
    reverse0: bool = False,
    op1: Any = None,
    operand1: float | NkiTensor | None = None,
    reverse1: bool = False,
    engine: engines = engines.unknown,
    name: str | None = None,
) -> None:
    """dst = (data op0 operand0) op1 operand1, operands being numbers or one per partition."""
    recorder = current()
    forms = getattr(operand0, "form", None), getattr(operand1, "form", None)
    key = ("tensor_scalar", dst.form, data.form, op0, op1, forms, engine)
    found = recorder.ops.get(key)
    if found is None:
        rules = Rules("tensor_scalar", recorder.machine)
        first = function_of(op0, "tensor_scalar", arity=2)
        rules.on_chip(data.form, name="data")
        rules.on_chip(dst.form, name="dst")
        rules.same_elements(dst.form, data.form, ("dst", "data"))
        rules.scalar_operand(operand0, data.form.partitions, name="operand0")
        if op1 is not None:
            second = function_of(op1, "tensor_scalar", arity=2)
            rules.scalar_operand(operand1, data.form.partitions, name="operand1")
            rules.require(
                first.bitwise == second.bitwise, f"{op0!r} and {op1!r} mix arithmetic with bit vectors"
            )
        chosen = rules.engine(_name(engine), (VECTOR, SCALAR, GPSIMD), dst.form, data.form)
        found = _op(recorder, key, chosen, "tensor_scalar", dst.form, (data.form,), op=first.name)
    extra = tuple(each for each in (operand0, operand1) if isinstance(each, NkiTensor))
    recorder.emit(found, (dst,), (data, *extra))
    if recorder.functional:
        values = data.floats()
        steps = [(op0, operand0, reverse0)] + ([(op1, operand1, reverse1)] if op1 is not None else [])
        with np.errstate(all="ignore"):
            for each, operand, reverse in steps:
                function = function_of(each, "tensor_scalar", arity=2)
                other = _column(operand, values.ndim)
                if function.bitwise:
                    values, other = values.astype(np.int64), np.asarray(other).astype(np.int64)
                values = function.apply(other, values) if reverse else function.apply(values, other)
        dst.put(values.reshape(dst.shape))


def scalar_tensor_tensor(
    dst: NkiTensor,
    data: NkiTensor,
    op0: Any,
    operand0: float | NkiTensor,
    op1: Any,
    operand1: NkiTensor,
    reverse0: bool = False,
    reverse1: bool = False,
    name: str | None = None,
) -> None:
    """dst = (data op0 operand0) op1 operand1: a number (or column), then a tensor."""
    recorder = current()
    key = (
        "scalar_tensor_tensor",
        dst.form,
        data.form,
        operand1.form,
        op0,
        op1,
        getattr(operand0, "form", None),
    )
    found = recorder.ops.get(key)
    if found is None:
        rules = Rules("scalar_tensor_tensor", recorder.machine)
        for label, view in (("data", data), ("operand1", operand1), ("dst", dst)):
            rules.on_chip(view.form, name=label)
        rules.same_elements(dst.form, data.form, ("dst", "data"))
        rules.same_elements(data.form, operand1.form, ("data", "operand1"))
        rules.not_both_psum(data.form, operand1.form, ("data", "operand1"))
        rules.scalar_operand(operand0, data.form.partitions, name="operand0")
        names = " ".join(function_of(each, "scalar_tensor_tensor", arity=2).name for each in (op0, op1))
        found = _op(
            recorder, key, VECTOR, "scalar_tensor_tensor", dst.form, (data.form, operand1.form), op=names
        )
    extra = (operand0,) if isinstance(operand0, NkiTensor) else ()
    recorder.emit(found, (dst,), (data, operand1, *extra))
    if recorder.functional:
        first = function_of(op0, "scalar_tensor_tensor", arity=2)
        second = function_of(op1, "scalar_tensor_tensor", arity=2)
        values = data.floats()
        other, third = _column(operand0, values.ndim), operand1.floats().reshape(values.shape)
        with np.errstate(all="ignore"):
            values = first.apply(other, values) if reverse0 else first.apply(values, other)
            values = second.apply(third, values) if reverse1 else second.apply(values, third)
        dst.put(values.reshape(dst.shape))


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
    recorder = current()
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    key = ("tensor_reduce", dst.form, data.form, op, axes)
    found = recorder.ops.get(key)
    rank = len(data.form.shape)
    axes = tuple(sorted(each % rank for each in axes))
    if found is None:
        rules = Rules("tensor_reduce", recorder.machine)
        function = function_of(op, "tensor_reduce", arity=2)
        rules.on_chip(data.form, name="data")
        rules.on_chip(dst.form, name="dst")
        rules.require(
            function.reduce is not None, f"{op!r} does not reduce, add, multiply, maximum and minimum do"
        )
        rules.require(
            axes == tuple(range(rank - len(axes), rank)) and 0 not in axes,
            f"axis {axis} of {data.form!r} is not made of the last free dimensions",
        )
        left = data.form.elements
        for each in axes:
            left //= data.form.shape[each]
        rules.require(
            dst.form.partitions == data.form.partitions and dst.form.elements == left,
            f"dst has {dst.form.elements} elements on {dst.form.partitions} partitions, "
            f"the reduction has {left} on {data.form.partitions}",
        )
        found = _op(recorder, key, VECTOR, "tensor_reduce", dst.form, (data.form,), op=function.name)
    recorder.emit(found, (dst,), (data,))
    if recorder.functional:
        reduce = function_of(op, "tensor_reduce", arity=2).reduce
        assert reduce is not None
        values = reduce(data.floats(), axis=axes)
        dst.put((-values if negate else values).reshape(dst.shape))


def activation(
    dst: NkiTensor,
    op: Any,
    data: NkiTensor,
    bias: float | NkiTensor | None = None,
    scale: float | NkiTensor = 1.0,
    reduce_op: Any = None,
    reduce_res: NkiTensor | None = None,
    reduce_cmd: reduce_cmds = reduce_cmds.idle,
    name: str | None = None,
) -> None:
    """dst = op(data · scale + bias) on Scalar, one function and one affine step for one price."""
    recorder = current()
    forms = getattr(bias, "form", None), getattr(scale, "form", None)
    key = ("activation", dst.form, data.form, op, forms, reduce_op, reduce_cmd)
    found = recorder.ops.get(key)
    if found is None:
        rules = Rules("activation", recorder.machine)
        function = function_of(op, "activation", arity=1)
        rules.require(
            reduce_op is None and reduce_res is None and reduce_cmd == reduce_cmds.idle,
            "reduce_op, reduce_res and reduce_cmd are not emulated",
            try_="reduce with nisa.tensor_reduce",
        )
        rules.on_chip(data.form, name="data")
        rules.on_chip(dst.form, name="dst")
        rules.same_elements(dst.form, data.form, ("dst", "data"))
        rules.scalar_operand(scale, data.form.partitions, name="scale")
        if bias is not None:
            rules.scalar_operand(bias, data.form.partitions, name="bias")
        found = _op(recorder, key, SCALAR, "activation", dst.form, (data.form,), op=function.name)
    extra = tuple(each for each in (bias, scale) if isinstance(each, NkiTensor))
    recorder.emit(found, (dst,), (data, *extra))
    if recorder.functional:
        function = function_of(op, "activation", arity=1)
        values = data.floats()
        with np.errstate(all="ignore"):
            values = values * _column(scale, values.ndim)
            if bias is not None:
                values = values + _column(bias, values.ndim)
            dst.put(function.apply(values).reshape(dst.shape))


def reciprocal(dst: NkiTensor, data: NkiTensor, name: str | None = None) -> None:
    """dst = 1 / data, on Vector."""
    recorder = current()
    key = ("reciprocal", dst.form, data.form)
    found = recorder.ops.get(key)
    if found is None:
        rules = Rules("reciprocal", recorder.machine)
        rules.on_chip(data.form, name="data")
        rules.on_chip(dst.form, name="dst")
        rules.same_elements(dst.form, data.form, ("dst", "data"))
        found = _op(recorder, key, VECTOR, "reciprocal", dst.form, (data.form,), op="reciprocal")
    recorder.emit(found, (dst,), (data,))
    if recorder.functional:
        with np.errstate(all="ignore"):
            dst.put(FUNCTIONS["reciprocal"].apply(data.floats()).reshape(dst.shape))


def _name(engine: Any) -> str:
    return str(getattr(engine, "value", engine))


def _op(
    recorder: Recorder, key: Any, engine: str, opcode: str, dst: Form, sources: tuple[Form, ...], *, op: str
) -> Op:
    made = Op(
        engine,
        opcode,
        sources[0].dtype.word,
        {**elementwise(dst, *sources), "op": op},
        moved(reads=sources, writes=(dst,)),
        elements=max(dst.elements, *(each.elements for each in sources)),
    )
    recorder.ops[key] = made
    return made


def _values(function: Function, left: NkiTensor, right: NkiTensor) -> tuple[Any, Any]:
    if function.bitwise:
        return left.array, right.array
    return left.floats(), right.floats()


def _column(operand: float | NkiTensor | None, ndim: int) -> Any:
    """A number as it is; a (P, 1) tensor in a shape that broadcasts over the free dimensions."""
    if isinstance(operand, NkiTensor):
        return operand.floats().reshape(-1, *([1] * (ndim - 1)))
    return np.float32(0 if operand is None else operand)
