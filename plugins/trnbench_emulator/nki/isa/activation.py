"""Scalar's activation functions, and what Vector has of the kind: reciprocal, exponential."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from typing import Any

import numpy as np

from trnbench_emulator.nki.constraints import Rules, alike, aspect, column, form_of, issue, step, word
from trnbench_emulator.nki.functions import BYPASS, FUNCTIONS, Function, function_of
from trnbench_emulator.nki.isa.accumulate import accumulate, check_result, read_out, store
from trnbench_emulator.nki.isa.constants import reduce_cmd as reduce_cmds
from trnbench_emulator.nki.op import SCALAR, VECTOR, Op
from trnbench_emulator.nki.recorder import current
from trnbench_emulator.nki.tensor import NkiTensor

_SCALAR_BIAS_SINCE = 3  # NeuronCore-v3
_V4 = 4
_FOLDS = ("add", "maximum", "minimum", "abs_max", "abs_min")  # of activate2
_PAIRS = (
    ("multiply", "add"), ("multiply", "subtract"), ("multiply", "bypass"),
    ("add", "bypass"), ("subtract", "bypass"), ("bypass", "bypass"),
)  # fmt: skip


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
    """dst = op(data · scale + bias) on Scalar, and a sum over the free dimensions when asked for.

    `reduce_res` costs a second instruction, which reads the sums out.
    """

    def build(rules: Rules) -> Op:
        return _activation(rules, dst, op, data, bias, scale, reduce_op, reduce_res, reduce_cmd)

    numbers = _changed_by_numbers(bias, scale)
    options = (op, reduce_op, reduce_cmd, aspect(reduce_res), numbers)
    recorder = issue("activation", build, (dst,), (data, bias, scale), *options)
    if recorder.functional:
        values = _activated(dst, op, data, bias, scale)
        if reduce_op is not None or word(reduce_cmd) == "reset":
            accumulate(recorder, SCALAR, FUNCTIONS["add"], reduce_cmd, data, values)
    read_out(SCALAR, data, reduce_res)


def _activation(
    rules: Rules,
    dst: Any,
    op: Any,
    data: Any,
    bias: Any,
    scale: Any,
    reduce_op: Any,
    reduce_res: Any,
    command: Any,
) -> Op:
    function = function_of(op, rules.call, arity=1, kind="table")
    alike(rules, dst, data=data)
    rules.scalar_operand(scale, data.form.partitions, name="scale")
    if bias is not None:
        rules.scalar_operand(bias, data.form.partitions, name="bias")
        kind = None if form_of(bias) is None else bias.form.dtype.name
        rules.require(kind != "tfloat32", "bias is tfloat32, it may be of any other type")
        rules.require(
            form_of(bias) is not None or bias == 0 or rules.machine.nc_version >= _SCALAR_BIAS_SINCE,
            f"bias is the number {bias!r}, before NeuronCore-v3 it is a ({data.form.partitions}, 1) tensor",
            try_="nisa.memset a column and pass it as bias",
        )
    if reduce_op is not None:
        reducing = function_of(reduce_op, rules.call, arity=2, kind="fold")
        rules.require(reducing.name == "add", f"reduce_op is {reduce_op!r}, Scalar adds")
    rules.require(
        reduce_op is not None or word(command) in ("idle", "reset"),
        f"reduce_cmd is {word(command)}, but reduce_op is not set",
        try_="reduce_op=nl.add",
    )
    rules.require(word(command) != "load_reduce", "reduce_cmd load_reduce is Vector's")
    check_result(rules, reduce_res, data.form.partitions)
    scaled = reduce_op is not None or _changed_by_numbers(bias, scale)
    if function.name == "copy" and scaled:  # the result is not what was there
        return rules.op(SCALAR, (dst,), (data,), op=function.name, scaled=True)
    return rules.op(SCALAR, (dst,), (data,), op=function.name)


def _changed_by_numbers(bias: Any, scale: Any) -> bool:
    """Do numbers, which an instruction does not carry, make another value of its data?"""
    return not (
        (bias is None or isinstance(bias, NkiTensor) or bias == 0)
        and (isinstance(scale, NkiTensor) or scale == 1)
    )


def _activated(dst: NkiTensor, op: Any, data: NkiTensor, bias: Any, scale: Any) -> Any:
    values = data.floats()
    with np.errstate(all="ignore"):
        values = values * column(scale, values.ndim)
        if bias is not None:
            values = values + column(bias, values.ndim)
        values = _looked_up(function_of(op, "activation"), data, values)
    dst.put(values)
    return values


def _looked_up(function: Function, data: NkiTensor, values: Any, *more: Any) -> Any:
    """The function's values by Scalar's table, and a note of those outside its domain."""
    shadow = current().shadow
    if shadow is not None and function.domain is not None:
        shadow.domain(function, data, values)
    return np.asarray(function.apply(values, *more), np.float32)


def activation_reduce(
    dst: NkiTensor,
    op: Any,
    data: NkiTensor,
    reduce_op: Any,
    reduce_res: NkiTensor | None,
    bias: float | NkiTensor | None = None,
    scale: float | NkiTensor = 1.0,
    name: str | None = None,
) -> None:
    """`activation` and the sum of its results, in one instruction."""

    def build(rules: Rules) -> Op:
        return _activation(rules, dst, op, data, bias, scale, reduce_op, reduce_res, "reset_reduce")

    writes = (dst,) if reduce_res is None else (dst, reduce_res)
    recorder = issue("activation_reduce", build, writes, (data, bias, scale), op, reduce_op)
    if recorder.functional:
        values = _activated(dst, op, data, bias, scale)
        accumulate(recorder, SCALAR, FUNCTIONS["add"], "reset_reduce", data, values)
        if reduce_res is not None:
            store(recorder, SCALAR, data, reduce_res)


def activate2(
    dst: NkiTensor,
    op: Any,
    data: NkiTensor,
    imm0: float | NkiTensor,
    imm1: float | NkiTensor,
    op0: Any,
    op1: Any,
    relu_param: float | NkiTensor = 0.0,
    reverse0: bool = False,
    reverse1: bool = False,
    reduce_op: Any = None,
    reduce_res: NkiTensor | None = None,
    reduce_cmd: reduce_cmds = reduce_cmds.idle,
    name: str | None = None,
) -> None:
    """dst = op((data op0 imm0) op1 imm1) on Scalar of NeuronCore-v4, reduced when asked for."""
    function = (
        op if getattr(op, "name", "") == "prelu" else function_of(op, "activate2", arity=1, kind="table")
    )
    steps = tuple(
        BYPASS if entry is None or getattr(entry, "name", "") == "bypass" else function_of(entry, "activate2")
        for entry in (op0, op1)
    )

    def build(rules: Rules) -> Op:
        rules.since(_V4)
        alike(rules, dst, data=data)
        _check_steps(rules, steps, (imm0, imm1), (reverse0, reverse1))
        for label, operand in (("imm0", imm0), ("imm1", imm1), ("relu_param", relu_param)):
            rules.scalar_operand(0.0 if operand is None else operand, data.form.partitions, name=label)
        if reduce_op is not None:
            folding = function_of(reduce_op, "activate2", arity=2, kind="fold")
            rules.require(folding.name in _FOLDS, f"reduce_op is {reduce_op!r}, it has {', '.join(_FOLDS)}")
        rules.require(word(reduce_cmd) != "load_reduce", "reduce_cmd load_reduce is Vector's")
        check_result(rules, reduce_res, data.form.partitions)
        return rules.op(SCALAR, (dst,), (data,), op=function.name)

    reads = (data, imm0, imm1, relu_param)
    recorder = issue(
        "activate2", build, (dst,), reads, function, *steps, reduce_op, reduce_cmd, form_of(reduce_res),
        reverse0, reverse1,
    )  # fmt: skip
    if recorder.functional:
        values = data.floats()
        with np.errstate(all="ignore"):
            for entry, imm, reverse in zip(steps, (imm0, imm1), (reverse0, reverse1), strict=True):
                values = step(entry, values, column(imm, values.ndim), reverse=reverse)
            more = () if function.arity == 1 else (column(relu_param, values.ndim),)
            values = _looked_up(function, data, values, *more)
        dst.put(values)
        if reduce_op is not None:
            folding = function_of(reduce_op, "activate2", arity=2, kind="fold")
            accumulate(recorder, SCALAR, folding, reduce_cmd, data, values)
    read_out(SCALAR, data, reduce_res)


def _check_steps(
    rules: Rules, steps: tuple[Function, ...], immediates: tuple[Any, ...], reverses: tuple[bool, ...]
) -> None:
    """Of `activate2`: op0 and op1 are a pair, their tensors of one type, and what is reversed is there."""
    names = tuple(entry.name for entry in steps)
    rules.require(
        names in _PAIRS,
        f"op0 and op1 are {names[0]} and {names[1]}",
        cause="pairs: " + ", ".join(f"{first} {second}" for first, second in _PAIRS),
    )
    kinds = {form.dtype.name for form in map(form_of, immediates) if form is not None}
    rules.require(len(kinds) < 2, f"imm0 and imm1 are {' and '.join(sorted(kinds))}, they must be alike")
    for number, (name, reverse) in enumerate(zip(names, reverses, strict=True)):
        rules.require(not reverse or name != "bypass", f"reverse{number} has no op{number} to reverse")


def reciprocal(dst: NkiTensor, data: NkiTensor, name: str | None = None) -> None:
    """dst = 1 / data, on Vector."""

    def build(rules: Rules) -> Op:
        alike(rules, dst, data=data)
        return rules.op(VECTOR, (dst,), (data,), op="reciprocal")

    recorder = issue("reciprocal", build, (dst,), (data,))
    if recorder.functional:
        with np.errstate(all="ignore"):
            dst.put(FUNCTIONS["reciprocal"].apply(data.floats()))


def exponential(
    dst: NkiTensor,
    src: NkiTensor,
    max_value: float | NkiTensor = 0.0,
    reduce_res: NkiTensor | None = None,
    reduce_cmd: reduce_cmds = reduce_cmds.idle,
    reduce_init: float | NkiTensor = 0.0,
    name: str | None = None,
) -> None:
    """dst = exp(src - max_value) on Vector of NeuronCore-v4, summed when asked for."""

    def build(rules: Rules) -> Op:
        rules.since(_V4)
        alike(rules, dst, src=src)
        rules.scalar_operand(max_value, src.form.partitions, name="max_value")
        rules.scalar_operand(reduce_init, src.form.partitions, name="reduce_init")
        command = word(reduce_cmd)
        rules.require(command != "reset", "reduce_cmd reset is Scalar's")
        rules.require(
            command == "load_reduce" or (form_of(reduce_init) is None and reduce_init == 0),
            f"reduce_init goes with reduce_cmd load_reduce, not with {command}",
        )
        rules.require(
            not isinstance(reduce_res, NkiTensor) or reduce_res.form.dtype.is_float,
            "reduce_res must be of a float type",
        )
        check_result(rules, reduce_res, src.form.partitions)
        return rules.op(VECTOR, (dst,), (src,), op="exp")

    reads = (src, max_value, reduce_init)
    recorder = issue("exponential", build, (dst,), reads, form_of(reduce_res), reduce_cmd)
    if recorder.functional:
        values = src.floats()
        with np.errstate(all="ignore"):
            values = np.exp(values - column(max_value, values.ndim))
        dst.put(values)
        load = column(reduce_init, 1)
        accumulate(recorder, VECTOR, FUNCTIONS["add"], reduce_cmd, src, values, load)
    read_out(VECTOR, src, reduce_res)
