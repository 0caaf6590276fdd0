"""Statistics and rankings per partition: bn_stats, bn_aggr, the instructions on 8 values."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from typing import Any

import numpy as np

from trnbench_emulator.nki.constraints import Rules, alike, issue, rows_of, tiles
from trnbench_emulator.nki.functions import function_of
from trnbench_emulator.nki.memory import Form
from trnbench_emulator.nki.op import GPSIMD, VECTOR, Op
from trnbench_emulator.nki.tensor import NkiTensor

BN_STATS_MOST = 512
_EIGHT = 8
_MOST = 16384
_PARTITION_FOLDS = ("add", "average", "maximum", "bitwise_or", "bitwise_and")


def bn_stats(dst: NkiTensor, data: NkiTensor, name: str | None = None) -> None:
    """count, mean, variance · count of the even elements, then of the odd ones."""

    def build(rules: Rules) -> Op:
        tiles(rules, data=data, dst=dst)
        rules.at_most(
            data.form.free, BN_STATS_MOST, "data free size", try_="tile by nl.tile_size.bn_stats_fmax"
        )
        _rows(rules, dst.form, data.form, 6)
        return rules.op(VECTOR, (dst,), (data,), N=data.form.free)

    recorder = issue("bn_stats", build, (dst,), (data,))
    if recorder.functional:
        values = rows_of(data.floats())
        parts = []
        for half in (values[:, 0::2], values[:, 1::2]):
            count = half.shape[1]
            mean = half.mean(axis=1) if count else np.zeros(len(half), np.float32)
            spread = ((half - mean[:, None]) ** 2).sum(axis=1)
            parts += [np.full(len(half), count, np.float32), mean, spread]
        dst.put(np.stack(parts, axis=1))


def bn_aggr(dst: NkiTensor, data: NkiTensor, name: str | None = None) -> None:
    """Mean and variance out of any number of (count, mean, variance · count)."""

    def build(rules: Rules) -> Op:
        tiles(rules, data=data, dst=dst)
        rules.require(
            data.form.free % 3 == 0, f"data has {data.form.free} elements per partition, no multiple of 3"
        )
        _rows(rules, dst.form, data.form, 2)
        return rules.op(VECTOR, (dst,), (data,), N=data.form.free)

    recorder = issue("bn_aggr", build, (dst,), (data,))
    if recorder.functional:
        parts = data.floats().reshape(data.form.partitions, -1, 3)
        count, mean, spread = parts[..., 0], parts[..., 1], parts[..., 2]
        total = count.sum(axis=1)
        with np.errstate(all="ignore"):
            middle = (count * mean).sum(axis=1) / total
            variance = (spread + count * (mean - middle[:, None]) ** 2).sum(axis=1) / total
        dst.put(np.stack([middle, variance], axis=1))


def _rows(rules: Rules, dst: Form, data: Form, columns: int) -> None:
    rules.require(
        dst.partitions == data.partitions and dst.free == columns,
        f"dst has {dst.partitions} × {dst.free} elements (partitions × free), "
        f"it must have {data.partitions} × {columns}",
    )


def tensor_partition_reduce(dst: NkiTensor, op: Any, data: NkiTensor, name: str | None = None) -> None:
    """dst[0] = op over the partitions of data, on GpSimd."""

    def build(rules: Rules) -> Op:
        tiles(rules, data=data, dst=dst)
        function = function_of(op, "tensor_partition_reduce", arity=2, kind="fold")
        rules.require(
            function.name in _PARTITION_FOLDS, f"op is {op!r}, it has {', '.join(_PARTITION_FOLDS)}"
        )
        rules.require(
            dst.form.partitions == 1 and dst.form.free == data.form.free,
            f"dst has {dst.form.partitions} × {dst.form.free} elements, it must have 1 × {data.form.free}",
        )
        rules.engine("gpsimd", (GPSIMD,), dst.form, data.form)
        return rules.op(GPSIMD, (dst,), (data,), op=function.name)

    recorder = issue("tensor_partition_reduce", build, (dst,), (data,), op)
    if recorder.functional:
        function = function_of(op, "tensor_partition_reduce")
        assert function.fold is not None
        values = data.array if function.bitwise else data.floats()
        dst.put(function.fold(values, axis=0))


def _eight(rules: Rules, searched: Form, **eights: NkiTensor) -> None:
    rules.require(
        _EIGHT <= searched.free <= _MOST,
        f"{searched!r} has {searched.free} elements per partition, 8 to 16,384 it takes",
    )
    for label, view in eights.items():
        rules.on_chip(view.form, name=label)
        rules.require(
            view.form.partitions == searched.partitions and view.form.free == _EIGHT,
            f"{label} has {view.form.partitions} × {view.form.free} elements, "
            f"it must have {searched.partitions} × 8",
        )


def max8(dst: NkiTensor, src: NkiTensor, name: str | None = None) -> None:
    """The 8 largest values of each partition, descending."""

    def build(rules: Rules) -> Op:
        tiles(rules, src=src)
        _eight(rules, src.form, dst=dst)
        rules.at_most(len(src.form.shape), 3, "the number of dimensions of src")
        rules.at_most(len(dst.form.shape), 2, "the number of dimensions of dst")
        return rules.op(VECTOR, (dst,), (src,))

    recorder = issue("max8", build, (dst,), (src,))
    if recorder.functional:
        values = np.sort(rows_of(src.floats()), axis=1)
        dst.put(values[:, ::-1][:, :_EIGHT])


def nc_find_index8(dst: NkiTensor, data: NkiTensor, vals: NkiTensor, name: str | None = None) -> None:
    """Where each of 8 values occurs first; equal values take the next occurrence; all ones where none."""

    def build(rules: Rules) -> Op:
        tiles(rules, data=data)
        _eight(rules, data.form, vals=vals, dst=dst)
        _unsigned(rules, dst.form, "dst")
        return rules.op(VECTOR, (dst,), (data, vals))

    recorder = issue("nc_find_index8", build, (dst,), (data, vals))
    if recorder.functional:
        dst.put(_matches(data, vals, range(_EIGHT), dst.form))


def nc_match_replace8(
    dst: NkiTensor,
    data: NkiTensor,
    vals: NkiTensor,
    imm: float,
    dst_idx: NkiTensor | None = None,
    name: str | None = None,
) -> None:
    """dst = data with one occurrence of each of 8 values replaced by imm; dst_idx tells where."""

    def build(rules: Rules) -> Op:
        alike(rules, dst, data=data)
        _eight(rules, data.form, vals=vals)
        if dst_idx is not None:
            _eight(rules, data.form, dst_idx=dst_idx)
            _unsigned(rules, dst_idx.form, "dst_idx")
        return rules.op(VECTOR, (dst,), (data, vals))

    writes = (dst,) if dst_idx is None else (dst, dst_idx)
    recorder = issue("nc_match_replace8", build, writes, (data, vals))
    if recorder.functional:
        # Values are matched from the last to the first, which decides where equal ones go.
        form = dst.form if dst_idx is None else dst_idx.form
        matches = _matches(data, vals, range(_EIGHT - 1, -1, -1), form)
        result = rows_of(data.floats())
        for row, places in enumerate(matches):
            result[row, [at for at in places if 0 <= at < result.shape[1]]] = imm
        dst.put(result)
        if dst_idx is not None:
            dst_idx.put(matches)


def _unsigned(rules: Rules, form: Form, name: str) -> None:
    rules.require(
        form.dtype.name in ("uint16", "uint32", "int32"),
        f"{name} is {form.dtype}, it must be uint16 or uint32",
    )


def _matches(data: NkiTensor, vals: NkiTensor, order: range, form: Form) -> Any:
    values = rows_of(data.floats())
    wanted = rows_of(vals.floats())
    absent = -1 if form.dtype.name == "int32" else (1 << (8 * form.dtype.size)) - 1
    matched = np.full(wanted.shape, absent, np.int64)
    for row in range(len(values)):
        free = np.ones(values.shape[1], bool)
        for slot in order:
            places = np.flatnonzero((values[row] == wanted[row, slot]) & free)
            if len(places):
                matched[row, slot] = places[0]
                free[places[0]] = False
    return matched
