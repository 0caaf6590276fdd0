"""Vector instructions with a state that runs along the free dimension, or is kept for the next one."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from typing import Any

import numpy as np

from trnbench_emulator.nki.constraints import Rules, alike, column, issue, rows_of, step, word
from trnbench_emulator.nki.functions import Function, function_of
from trnbench_emulator.nki.isa.accumulate import accumulate, check_result, registers, store
from trnbench_emulator.nki.isa.arithmetic import operand, pair
from trnbench_emulator.nki.isa.constants import reduce_cmd as reduce_cmds
from trnbench_emulator.nki.op import VECTOR, Op
from trnbench_emulator.nki.tensor import NkiTensor

_CUMULATIVE = ("add", "subtract", "multiply", "maximum", "minimum")
_FOLDS = ("add", "multiply", "maximum", "minimum")
_COMMANDS = ("reset_reduce", "reduce", "load_reduce")


def tensor_tensor_scan(
    dst: NkiTensor,
    data0: NkiTensor,
    data1: NkiTensor,
    initial: float | NkiTensor,
    op0: Any,
    op1: Any,
    reverse0: bool = False,
    reverse1: bool = False,
    name: str | None = None,
) -> None:
    """dst[i] = (data0[i] op0 dst[i-1]) op1 data1[i] along the free dimension, in fp32."""

    def build(rules: Rules) -> Op:
        first = function_of(op0, "tensor_tensor_scan", arity=2, kind="alu")
        second = function_of(op1, "tensor_tensor_scan", arity=2, kind="alu")
        pair(rules, dst, data0=data0, data1=data1)
        rules.scalar_operand(initial, data0.form.partitions, name="initial")
        rules.require(
            not (first.bitwise or second.bitwise), "bitwise operations are not among its operations"
        )
        return rules.op(VECTOR, (dst,), (data0, data1), op=f"{first.name} {second.name}")

    recorder = issue("tensor_tensor_scan", build, (dst,), (data0, data1, initial), op0, op1)
    if recorder.functional:
        decays, inputs = rows_of(data0.floats()), rows_of(data1.floats())
        first, second = function_of(op0, "tensor_tensor_scan"), function_of(op1, "tensor_tensor_scan")
        state = np.broadcast_to(column(initial, 1), (len(decays),)).astype(np.float32)
        result = np.empty_like(decays)
        with np.errstate(all="ignore"):
            for at in range(decays.shape[1]):
                state = step(first, decays[:, at], state, reverse=reverse0)
                state = step(second, state, inputs[:, at], reverse=reverse1)
                result[:, at] = state
        dst.put(result)


def tensor_scalar_cumulative(
    dst: NkiTensor,
    src: NkiTensor,
    op0: Any,
    op1: Any,
    imm0: float | NkiTensor,
    imm1: float | NkiTensor | None = None,
    reduce_cmd: reduce_cmds = reduce_cmds.reset_reduce,
    name: str | None = None,
) -> None:
    """dst[i] = (src[i] op0 imm0) op1 dst[i-1]; the last value stays in Vector's accumulator."""

    def build(rules: Rules) -> Op:
        alike(rules, dst, src=src)
        first = function_of(op0, "tensor_scalar_cumulative", kind="alu")
        second = function_of(op1, "tensor_scalar_cumulative", arity=2)
        rules.require(second.name in _CUMULATIVE, f"op1 is {op1!r}, it has {', '.join(_CUMULATIVE)}")
        operand(rules, first, imm0, src.form.partitions, "imm0")
        rules.require(not first.bitwise, "bitwise operations are not among its operations")
        for label, view in (("src", src), ("dst", dst)):
            rules.require(
                view.form.dtype.name not in ("int32", "uint32"),
                f"{label} is {view.form.dtype}, it takes 8 and 16 bit",
            )
        rules.require(
            word(reduce_cmd) in _COMMANDS,
            f"reduce_cmd {word(reduce_cmd)} is not its",
        )
        rules.require(
            word(reduce_cmd) != "load_reduce" or imm1 is not None,
            "reduce_cmd load_reduce starts from imm1, which is None",
        )
        return rules.op(VECTOR, (dst,), (src,), op=f"{first.name} {second.name}")

    recorder = issue("tensor_scalar_cumulative", build, (dst,), (src, imm0, imm1), op0, op1, reduce_cmd)
    if recorder.functional:
        values = rows_of(src.floats())
        second = function_of(op1, "tensor_scalar_cumulative")
        held = registers(recorder, VECTOR, src)
        if word(reduce_cmd) == "reset_reduce":
            held[:] = second.start
        elif word(reduce_cmd) == "load_reduce":
            held[:] = np.broadcast_to(column(imm1, 1), held.shape)
        with np.errstate(all="ignore"):
            values = step(function_of(op0, "tensor_scalar_cumulative"), values, column(imm0, 2))
            for at in range(values.shape[1]):
                held[:] = second.apply(values[:, at], held)
                values[:, at] = held
        dst.put(values)


def tensor_scalar_reduce(
    dst: NkiTensor,
    data: NkiTensor,
    op0: Any,
    operand0: float | NkiTensor | None,
    reduce_op: Any,
    reduce_res: NkiTensor | None = None,
    reverse0: bool = False,
    reduce_cmd: reduce_cmds = reduce_cmds.reset_reduce,
    reduce_init: float | NkiTensor | None = None,
    reduce_res_negate: bool = False,
    name: str | None = None,
) -> None:
    """dst = data op0 operand0, and its reduction over the free dimensions, in one instruction."""
    folding: Function = function_of(reduce_op, "tensor_scalar_reduce", arity=2, kind="fold")

    def build(rules: Rules) -> Op:
        first = function_of(op0, "tensor_scalar_reduce", kind="alu")
        alike(rules, dst, data=data)
        operand(rules, first, operand0, data.form.partitions, "operand0")
        rules.require(not first.bitwise, "bitwise operations are not among its operations")
        rules.require(not reverse0, "reverse0 is not supported by NKI yet")
        rules.require(
            word(reduce_cmd) in _COMMANDS,
            f"reduce_cmd {word(reduce_cmd)} is not its, {', '.join(_COMMANDS)} are",
        )
        rules.require(folding.name in _FOLDS, f"reduce_op is {reduce_op!r}, it has {', '.join(_FOLDS)}")
        rules.require(
            (word(reduce_cmd) == "load_reduce") == (reduce_init is not None),
            "reduce_init goes with reduce_cmd load_reduce, and only with it",
        )
        check_result(rules, reduce_res, data.form.partitions)
        return rules.op(VECTOR, (dst,), (data,), op=first.name)

    writes = (dst,) if reduce_res is None else (dst, reduce_res)
    reads = (data, operand0, reduce_init)
    recorder = issue("tensor_scalar_reduce", build, writes, reads, op0, reduce_op, reduce_cmd, reverse0)
    if recorder.functional:
        values = data.floats()
        with np.errstate(all="ignore"):
            first = function_of(op0, "tensor_scalar_reduce")
            values = step(first, values, column(operand0, values.ndim), reverse=reverse0)
        dst.put(values)
        load = None if reduce_init is None else column(reduce_init, 1)
        accumulate(recorder, VECTOR, folding, reduce_cmd, data, values, load)
        if reduce_res is not None:
            store(recorder, VECTOR, data, reduce_res, negate=reduce_res_negate)
