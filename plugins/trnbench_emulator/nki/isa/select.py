"""Patterns and choices: iota, affine_select, range_select, select_reduce, tensor_copy_predicated."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from trnbench_emulator.nki.constraints import Rules, alike, column, form_of, issue, rows_of, tiles, word
from trnbench_emulator.nki.functions import FUNCTIONS, function_of
from trnbench_emulator.nki.isa.accumulate import accumulate, check_result, read_out
from trnbench_emulator.nki.isa.arithmetic import pair
from trnbench_emulator.nki.isa.constants import reduce_cmd as reduce_cmds
from trnbench_emulator.nki.op import GPSIMD, VECTOR, Op
from trnbench_emulator.nki.tensor import NkiTensor
from trnbench_emulator.nki.values import whole

FP32_MIN = -3.4028234663852886e38
_PREDICATES = ("bool_", "uint8", "uint16", "int8", "int16")
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def _affine(rules: Rules, pattern: Any, dst: NkiTensor) -> None:
    rules.in_sbuf(dst=dst)
    rules.at_most(len(pattern), 4, "the number of pattern dimensions")
    total = prod(count for _, count in pattern)
    rules.require(
        total == dst.form.free,
        f"pattern {[list(pair) for pair in pattern]} has {total} elements, "
        f"dst has {dst.form.free} per partition",
    )


def _maximum(rules: Rules, reduce_op: Any, command: Any) -> None:
    rules.require(word(command) != "load_reduce", "reduce_cmd load_reduce has nothing to load here")
    rules.require(
        function_of(reduce_op, rules.call, arity=2).name == "maximum",
        f"reduce_op is {reduce_op!r}, it takes the maximum",
    )


def _ramp(pattern: Any, partitions: int, offset: Any, multiplier: Any) -> Any:
    values = np.zeros((1,), np.int64)
    for step, count in pattern:
        values = (values[:, None] + step * np.arange(count, dtype=np.int64)).reshape(-1)
    return offset + multiplier * np.arange(partitions, dtype=np.int64)[:, None] + values


def _integers(call: str, pattern: Any, **named: Any) -> tuple[Any, ...]:
    """The pattern and what else an affine value is made of."""
    sizes = tuple(tuple(whole(value, f"{call}: a number of pattern") for value in pair) for pair in pattern)
    return sizes, *(whole(value, f"{call}: {name}") for name, value in named.items())


def iota(
    dst: NkiTensor, pattern: Any, offset: int = 0, channel_multiplier: int = 0, name: str | None = None
) -> None:
    """dst[p, w, z, y, x] = offset + p · channel_multiplier + w · step_w + …, on GpSimd."""
    sizes, start, step = _integers("iota", pattern, offset=offset, channel_multiplier=channel_multiplier)

    def build(rules: Rules) -> Op:
        _affine(rules, sizes, dst)
        return rules.op(GPSIMD, (dst,), ())

    recorder = issue("iota", build, (dst,), (), sizes)
    if recorder.functional:
        values = _ramp(sizes, dst.form.partitions, start, step)
        dst.put(values.astype(np.int32))


def affine_select(
    dst: NkiTensor,
    pattern: Any,
    channel_multiplier: int,
    on_true_tile: NkiTensor,
    on_false_value: float,
    cmp_op: Any = FUNCTIONS["equal"],
    offset: int = 0,
    name: str | None = None,
) -> None:
    """dst = on_true_tile where the affine value compares true with 0, else on_false_value, on GpSimd."""
    sizes, start, step = _integers(
        "affine_select", pattern, offset=offset, channel_multiplier=channel_multiplier
    )

    def build(rules: Rules) -> Op:
        rules.in_sbuf(on_true_tile=on_true_tile)
        rules.same_elements(dst.form, on_true_tile.form, ("dst", "on_true_tile"))
        _affine(rules, sizes, dst)
        function = function_of(cmp_op, "affine_select", arity=2)
        rules.require(function.name in _COMPARISONS, f"cmp_op is {cmp_op!r}, it must compare")
        return rules.op(GPSIMD, (dst,), (on_true_tile,), op=function.name)

    recorder = issue("affine_select", build, (dst,), (on_true_tile,), sizes, cmp_op)
    if recorder.functional:
        ramp = _ramp(sizes, dst.form.partitions, start, step)
        chosen = function_of(cmp_op, "affine_select").apply(ramp, 0)
        values = on_true_tile.array.reshape(chosen.shape)
        if values.dtype != dst.form.dtype.numpy:
            values = values.astype(np.float32)
        fill = np.float32(on_false_value).astype(values.dtype) if dst.form.dtype.is_float else on_false_value
        dst.put(np.where(chosen, values, fill))


def range_select(
    dst: NkiTensor,
    on_true_tile: NkiTensor,
    comp_op0: Any,
    comp_op1: Any,
    bound0: NkiTensor,
    bound1: NkiTensor,
    reduce_cmd: reduce_cmds = reduce_cmds.reset_reduce,
    reduce_res: NkiTensor | None = None,
    reduce_op: Any = FUNCTIONS["maximum"],
    range_start: int = 0,
    on_false_value: float = FP32_MIN,
    name: str | None = None,
) -> None:
    """dst = on_true_tile where its free index lies between two bounds, else the least float; and the
    maximum of each partition. Vector, from NeuronCore-v3 on."""
    first = whole(range_start, "range_select: range_start")

    def build(rules: Rules) -> Op:
        rules.since(3)
        tiles(rules, on_true_tile=on_true_tile, dst=dst, bound0=bound0, bound1=bound1)
        rules.same_elements(dst.form, on_true_tile.form, ("dst", "on_true_tile"))
        for label, view in (("bound0", bound0), ("bound1", bound1)):
            rules.scalar_operand(view, on_true_tile.form.partitions, name=label)
            rules.require(
                view.form.dtype.name == "float32", f"{label} is {view.form.dtype}, it must be float32"
            )
        for comparison in (comp_op0, comp_op1):
            named = function_of(comparison, "range_select", arity=2).name
            rules.require(
                named in _COMPARISONS and named != "not_equal", f"{comparison!r} is no comparison it has"
            )
        _maximum(rules, reduce_op, reduce_cmd)
        rules.require(
            on_true_tile.form.dtype.is_float, f"on_true_tile is {on_true_tile.form.dtype}, no float"
        )
        rules.require(
            np.float32(on_false_value) == np.float32(FP32_MIN) or on_false_value == -np.inf,
            f"on_false_value is {on_false_value!r}, it must be the least fp32 number, {FP32_MIN}",
        )
        check_result(rules, reduce_res, on_true_tile.form.partitions)
        return rules.op(VECTOR, (dst,), (on_true_tile,), op=str(comp_op0))

    options = (comp_op0, comp_op1, reduce_op, repr(on_false_value), reduce_cmd, form_of(reduce_res))
    recorder = issue("range_select", build, (dst,), (on_true_tile, bound0, bound1), *options)
    if recorder.functional:
        index = np.float32(first) + np.arange(on_true_tile.form.free, dtype=np.float32)[None]
        chosen = function_of(comp_op0, "range_select").apply(index, column(bound0, 2)) & function_of(
            comp_op1, "range_select"
        ).apply(index, column(bound1, 2))
        values = np.where(chosen, rows_of(on_true_tile.floats()), np.float32(on_false_value))
        dst.put(values)
        accumulate(recorder, VECTOR, FUNCTIONS["maximum"], reduce_cmd, on_true_tile, values)
    read_out(VECTOR, on_true_tile, reduce_res)


def select_reduce(
    dst: NkiTensor,
    predicate: NkiTensor,
    on_true: NkiTensor,
    on_false: float | NkiTensor,
    reduce_res: NkiTensor | None = None,
    reduce_cmd: reduce_cmds = reduce_cmds.idle,
    reduce_op: Any = FUNCTIONS["maximum"],
    reverse_pred: bool = False,
    name: str | None = None,
) -> None:
    """dst = on_true where predicate, else on_false; and the maximum of each partition, on Vector."""

    def build(rules: Rules) -> Op:
        pair(rules, dst, on_true=on_true, predicate=predicate)
        rules.scalar_operand(on_false, on_true.form.partitions, name="on_false")
        rules.require(
            predicate.form.dtype.name in _PREDICATES,
            f"predicate is {predicate.form.dtype}, it must be an integer of 8 or 16 bits",
        )
        rules.require(
            not isinstance(reduce_res, NkiTensor) or reduce_res.form.dtype.is_float,
            "reduce_res must be of a float type",
        )
        rules.require(
            on_true.form.dtype.name not in ("tfloat32", "int32", "uint32"),
            f"on_true is {on_true.form.dtype}, which it does not take",
        )
        _maximum(rules, reduce_op, reduce_cmd)
        check_result(rules, reduce_res, on_true.form.partitions)
        return rules.op(VECTOR, (dst,), (on_true, predicate))

    reads = (predicate, on_true, on_false)
    recorder = issue("select_reduce", build, (dst,), reads, form_of(reduce_res), reduce_op, reduce_cmd)
    if recorder.functional:
        values = on_true.floats()
        chosen = (predicate.array != 0).reshape(values.shape) != reverse_pred
        values = np.where(chosen, values, column(on_false, values.ndim)).astype(np.float32)
        dst.put(values)
        accumulate(recorder, VECTOR, FUNCTIONS["maximum"], reduce_cmd, on_true, values)
    read_out(VECTOR, on_true, reduce_res)


def tensor_copy_predicated(
    dst: NkiTensor,
    src: float | NkiTensor,
    predicate: NkiTensor,
    reverse_pred: bool = False,
    name: str | None = None,
) -> None:
    """dst = src where predicate; the rest of dst stays. Vector."""
    form = form_of(src)

    def build(rules: Rules) -> Op:
        alike(rules, dst, predicate=predicate)
        rules.require(
            predicate.form.dtype.name in ("bool_", "uint8", "uint16", "uint32"),
            f"predicate is {predicate.form.dtype}, it must be uint8, uint16 or uint32",
        )
        if form is not None:
            rules.on_chip(form, name="src")
            rules.same_elements(dst.form, form, ("dst", "src"))
            rules.not_both_psum(form, predicate.form, ("src", "predicate"))
            rules.require(form.dtype is dst.form.dtype, f"src is {form.dtype}, dst is {dst.form.dtype}")
        reads = (src, predicate) if isinstance(src, NkiTensor) else (predicate,)
        return rules.op(VECTOR, (dst,), reads)

    recorder = issue("tensor_copy_predicated", build, (dst,), (src, predicate, dst))
    if recorder.functional:
        chosen = (predicate.array != 0).reshape(dst.shape) != reverse_pred
        if recorder.shadow is not None:
            recorder.shadow.spared(dst, ~chosen)
        given = src.array.reshape(dst.shape) if isinstance(src, NkiTensor) else np.asarray(src)
        values = dst.form.dtype.cast(given)
        dst.put(np.where(chosen, values, dst.array))
