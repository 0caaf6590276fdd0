"""MX formats of NeuronCore-v4: quantize_mx and nc_matmul_mx.

A group is 8 partitions × the 4 elements of one packed element, and has one scale. Scales of a
32-partition quadrant lie in 4 of its partitions: from 0, 4, 8 or 12 on, so that a tile holds those of
four; a view that begins there says which. Where the data has 32 partitions or fewer, all lie in one
quadrant.
"""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from typing import Any

import numpy as np

from trnbench_emulator.nki.constraints import Rules, issue, moved, rows_of
from trnbench_emulator.nki.dtype import PACK, pack, unpack
from trnbench_emulator.nki.isa.matmul import check_tile, multiply
from trnbench_emulator.nki.memory import Buffer, Form
from trnbench_emulator.nki.op import TENSOR, VECTOR, Op
from trnbench_emulator.nki.recorder import current
from trnbench_emulator.nki.tensor import NkiTensor

SINCE = 4
_ROWS = 8  # partitions of a group
_QUADRANT = 32
_BIAS = 127
_LARGEST_EXPONENT = {"float8_e4m3fn_x4": 8, "float8_e5m2_x4": 15}
_PSUM = ("float32", "bfloat16")


def _scale_rows(groups: int) -> Any:
    at = np.arange(groups)
    return at if groups * _ROWS <= _QUADRANT else at // 4 * _QUADRANT + at % 4


def quantize_mx(dst: NkiTensor, src: NkiTensor, dst_scale: NkiTensor, name: str | None = None) -> None:
    """dst = src / scale in 8-bit floats, packed by four, one power of two as scale for 32 values."""

    def build(rules: Rules) -> Op:
        rules.since(SINCE)
        rules.in_sbuf(dst=dst, src=src, dst_scale=dst_scale)
        rules.require(
            src.form.dtype.name in ("bfloat16", "float16"),
            f"src is {src.form.dtype}, it must be float16 or bfloat16",
        )
        rules.require(
            dst.form.dtype.name in _LARGEST_EXPONENT,
            f"dst is {dst.form.dtype}, it must be {' or '.join(_LARGEST_EXPONENT)}",
        )
        _scale_type(rules, dst_scale.form, "dst_scale")
        rules.require(
            src.form.partitions % _QUADRANT == 0 and src.form.free % PACK == 0,
            f"src has {src.form.partitions} × {src.form.free} elements: partitions must be a multiple of 32, "
            "elements per partition of 4",
        )
        rules.require(
            dst.form.partitions == src.form.partitions and dst.form.free * PACK == src.form.free,
            f"dst has {dst.form.partitions} × {dst.form.free} elements, "
            f"it must have {src.form.partitions} × {src.form.free // PACK}",
        )
        op = rules.op(VECTOR, (dst, dst_scale), (src,))
        op.traffic["sbuf_write"] = dst.form.nbytes + _scales(dst.form)
        return op

    recorder = issue("quantize_mx", build, (dst, dst_scale), (src,))
    if recorder.functional:
        rows, columns = src.form.partitions, src.form.free // PACK
        groups = src.floats().reshape(rows // _ROWS, _ROWS, columns, PACK)
        largest = np.abs(groups).max(axis=(1, 3))
        with np.errstate(all="ignore"):
            exponent = np.floor(np.log2(largest)) - (_LARGEST_EXPONENT[dst.form.dtype.name] - 1)
        exponent = np.clip(np.where(largest > 0, exponent, -_BIAS), -_BIAS, _BIAS)
        scaled = groups / np.exp2(exponent)[:, None, :, None]
        dst.put(pack(scaled.reshape(rows, columns, PACK), dst.form.dtype))
        scales = rows_of(dst_scale.array.view(np.uint8))
        exponents = scales.copy()
        exponents[_scale_rows(rows // _ROWS), :columns] = (exponent + _BIAS).astype(np.uint8)
        dst_scale.put(exponents.view(dst_scale.form.dtype.numpy))


def nc_matmul_mx(
    dst: NkiTensor,
    stationary: NkiTensor,
    moving: NkiTensor,
    stationary_scale: NkiTensor,
    moving_scale: NkiTensor,
    tile_position: tuple[int, ...] | None = None,
    tile_size: tuple[int, ...] | None = None,
    accumulate: bool | None = None,
    name: str | None = None,
) -> None:
    """dst (+)= stationaryᵀ · moving of packed 8- or 4-bit floats and their scales, into PSUM."""
    recorder = current()
    reads = (stationary, moving, stationary_scale, moving_scale)

    def build(rules: Rules) -> Op:
        rules.since(SINCE)
        scales = stationary_scale.form, moving_scale.form
        return _product(rules, dst.form, stationary.form, moving.form, *scales, tile_position, tile_size)

    recorder.prepare("nc_matmul_mx", dst, accumulate)
    issue("nc_matmul_mx", build, (dst,), reads, tile_position, tile_size)
    if recorder.functional:
        first = _dequantised(stationary, stationary_scale)
        multiply(dst, first, _dequantised(moving, moving_scale), accumulate)


def _product(
    rules: Rules,
    dst: Form,
    stationary: Form,
    moving: Form,
    scale0: Form,
    scale1: Form,
    position: Any,
    size: Any,
) -> Op:
    for label, form in (("stationary", stationary), ("moving", moving)):
        rules.within(form, Buffer.SBUF, name=label)
        rules.require(form.dtype.packed is not None, f"{label} is {form.dtype}, it must be an x4 type")
    for label, form, data in (("stationary_scale", scale0, stationary), ("moving_scale", scale1, moving)):
        rules.within(form, Buffer.SBUF, name=label)
        _scale_type(rules, form, label)
        groups = data.partitions // _ROWS
        least = groups if data.partitions <= _QUADRANT else int(_scale_rows(groups)[-1]) + 1
        rules.require(
            form.partitions >= least and form.free >= data.free,
            f"{label} has {form.partitions} × {form.free} elements, "
            f"{data.partitions} partitions of data need {least} × {data.free}",
        )
    rules.within(dst, Buffer.PSUM, name="dst")
    k, m, n = stationary.partitions, stationary.free, moving.free
    rules.require(
        k == moving.partitions and k % _QUADRANT == 0,
        f"stationary has {k} partitions, moving has {moving.partitions}: "
        "they must be equal and a multiple of 32",
    )
    machine = rules.machine
    rules.at_most(m, machine.stationary_free, "stationary free size")
    rules.require(m % 2 == 0, f"stationary free size is {m}, it must be even")
    rules.at_most(n, machine.psum_partition_bytes // dst.dtype.size, "moving free size")
    rules.require(dst.dtype.name in _PSUM, f"dst is {dst.dtype}, it must be float32 or bfloat16")
    rules.require(
        (dst.partitions, dst.free) == (m, n),
        f"dst has {dst.partitions} × {dst.free} elements (partitions × free), the product has {m} × {n}",
    )
    check_tile(rules, position, size, k, m, columns_too=False)
    variables = {"K": k, "N_stationary": m, "N_moving": n, "rows": 1, "fp32": False, "perf_mode": "mx"}
    variables["transpose"] = False
    traffic = moved(reads=(stationary, moving), writes=(dst,))
    traffic["sbuf_read"] += _scales(stationary) + _scales(moving)
    return Op(
        TENSOR,
        "nc_matmul_mx",
        moving.dtype.word,
        variables,
        traffic,
        flops=2 * PACK * k * m * n,
    )


def _scales(data: Form) -> int:
    """Bytes of the scales of `data`; their tile has room between them."""
    return data.partitions // _ROWS * data.free


def _scale_type(rules: Rules, form: Form, name: str) -> None:
    rules.require(
        form.dtype.name in ("uint8", "float8_e8m0fnu"),
        f"{name} is {form.dtype}, it must be float8_e8m0fnu or uint8",
    )


def _dequantised(data: NkiTensor, scale: NkiTensor) -> Any:
    rows, columns = data.form.partitions, data.form.free
    values = unpack(data.array.reshape(rows, columns), data.form.dtype)
    raw = rows_of(np.ascontiguousarray(scale.array).view(np.uint8))
    exponents = raw[_scale_rows(rows // _ROWS), :columns].astype(np.float32) - _BIAS
    values = values * np.repeat(np.exp2(exponents), _ROWS, axis=0)[:, :, None]
    # The contraction runs over partitions and over the four elements of a pack.
    return values.transpose(0, 2, 1).reshape(rows * PACK, columns)
