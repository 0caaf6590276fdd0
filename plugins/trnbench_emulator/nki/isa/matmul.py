"""The tensor engine: nc_matmul and nc_transpose."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from typing import Any

import numpy as np

from trnbench_emulator.nki.constraints import INTEGERS, Rules, issue, moved, rows_of, word
from trnbench_emulator.nki.isa.constants import engine as engines
from trnbench_emulator.nki.isa.constants import matmul_perf_mode
from trnbench_emulator.nki.machine import Machine
from trnbench_emulator.nki.memory import Buffer, Form
from trnbench_emulator.nki.op import TENSOR, VECTOR, Op
from trnbench_emulator.nki.recorder import current
from trnbench_emulator.nki.tensor import NkiTensor

_WIDE = ("float32", "tfloat32")
_FP8 = ("float8_e4m3", "float8_e4m3fn", "float8_e5m2")
_MATMUL_TYPES = (*_WIDE, "bfloat16", "float16", *_FP8)
_RIVALS = {"float8_e4m3", "float8_e4m3fn"}  # the older form of e4m3 and that of OCP
_OCP_SINCE = 4  # NeuronCore-v4
_DOUBLE_ROW_SINCE = 3  # NeuronCore-v3
EXACT_TRANSPOSE_SINCE = 3  # NeuronCore-v3, whose tensor engine does not cast what it turns
_ROW_TILE = {2: 64, 3: 32}  # smallest tile of the array by NeuronCore version
_VECTOR_BLOCK = 32  # the Vector engine transposes blocks of 32 × 32


def nc_matmul(
    dst: NkiTensor,
    stationary: NkiTensor,
    moving: NkiTensor,
    is_stationary_onezero: bool = False,
    is_moving_onezero: bool = False,
    is_transpose: bool = False,
    accumulate: bool | None = None,
    tile_position: tuple[int, ...] = (),
    tile_size: tuple[int, ...] = (),
    perf_mode: matmul_perf_mode = matmul_perf_mode.none,
    name: str | None = None,
) -> None:
    """dst[M, N] (+)= stationary[K, M]ᵀ · moving[K, N], into PSUM.

    With `accumulate` unset, PSUM elements that hold nothing yet are overwritten, others added to.
    """
    recorder = current()
    key = (
        "nc_matmul",
        dst.form,
        stationary.form,
        moving.form,
        is_transpose,
        perf_mode,
        tile_position,
        tile_size,
    )
    op = recorder.ops.get(key)
    if op is None:
        op = recorder.ops[key] = _matmul(recorder.machine, *key[1:])
    recorder.prepare("nc_matmul", dst, accumulate)
    recorder.emit(op, (dst,), (stationary, moving))
    if recorder.functional:
        first, second = stationary.floats(), moving.floats()
        if perf_mode == matmul_perf_mode.double_row:
            # The contraction runs over (partition, row) pairs: both are folded into one axis.
            first = first.reshape(-1, first.shape[2])
            second = second.reshape(-1, second.shape[2])
        exact = is_transpose and recorder.machine.nc_version >= EXACT_TRANSPOSE_SINCE
        multiply(dst, rows_of(first), rows_of(second), accumulate, exact=exact)


def _matmul(
    machine: Machine,
    dst: Form,
    stationary: Form,
    moving: Form,
    transpose: bool,
    mode: Any,
    position: Any,
    size: Any,
) -> Op:
    rules = Rules("nc_matmul", machine)
    double = mode == matmul_perf_mode.double_row
    check_tile(rules, position, size, stationary.partitions, stationary.free // (2 if double else 1))
    rules.require(
        not double or not size or int(size[1]) == machine.stationary_free,
        "perf_mode double_row does not go with column tiles",
    )
    _check_operands(rules, dst, stationary, moving)
    if double:
        _check_double_row(rules, stationary, moving)
    rows = 2 if double else 1
    contraction, m, n = stationary.partitions, stationary.free // rows, moving.free // rows
    rules.require(
        contraction == moving.partitions,
        f"stationary has {contraction} partitions, moving has {moving.partitions}: both are the contraction",
    )
    rules.at_most(
        m, machine.stationary_free, "stationary free size", try_="tile M by nl.tile_size.gemm_stationary_fmax"
    )
    most = machine.moving_free_bf16 if dst.dtype.name == "bfloat16" else machine.moving_free
    rules.at_most(n, most, "moving free size", try_="tile N by nl.tile_size.gemm_moving_fmax")
    _check_result(rules, dst, m, n, moving if transpose else None)
    variables = {
        "K": contraction,
        "N_stationary": m,
        "N_moving": n,
        "rows": rows,
        "fp32": "float32" in (stationary.dtype.name, moving.dtype.name),
        "perf_mode": word(mode),
        "transpose": transpose,
        "tile_rows": int(size[0]) if size else machine.partitions,
        "tile_columns": int(size[1]) if size else machine.stationary_free,
    }
    return Op(
        TENSOR,
        "nc_matmul",
        moving.dtype.word,
        variables,
        moved(reads=(stationary, moving), writes=(dst,)),
        flops=0 if transpose else 2 * contraction * rows * m * n,
    )


def _check_result(rules: Rules, dst: Form, m: int, n: int, transposed: Form | None) -> None:
    """Shape and data type of the product of `m` × `n`, or of what is `transposed`."""
    machine = rules.machine
    rules.require(
        dst.partitions == m and dst.free == n,
        f"dst has {dst.partitions} × {dst.free} elements (partitions × free), the product has {m} × {n}",
    )
    rules.require(
        dst.dtype.name not in INTEGERS or transposed is not None,
        f"dst has dtype {dst.dtype}: the accumulation and results of a matmul are always in float32",
        try_="accumulate in float32, and copy the result to a tile of integers",
    )
    rules.require(
        dst.dtype.name in machine.psum_dtypes or (transposed is not None and dst.dtype is transposed.dtype),
        f"dst has dtype {dst.dtype}, a matmul leaves {' or '.join(machine.psum_dtypes)} in PSUM",
    )
    if machine.moving_free * 4 <= machine.psum_bank_bytes:
        rules.at_most(n * dst.dtype.size, machine.psum_bank_bytes, "dst bytes per partition in one PSUM bank")


def _check_operands(rules: Rules, dst: Form, stationary: Form, moving: Form) -> None:
    """Memories, and data types of what is multiplied."""
    rules.within(stationary, Buffer.SBUF, name="stationary")
    rules.within(moving, Buffer.SBUF, name="moving")
    rules.within(dst, Buffer.PSUM, name="dst")
    ocp = rules.machine.nc_version >= _OCP_SINCE
    types = [name for name in _MATMUL_TYPES if ocp or name != "float8_e4m3fn"]
    for name, form in (("stationary", stationary), ("moving", moving)):
        rules.require(
            form.dtype.name in types,
            f"{name} has dtype {form.dtype}, the tensor engine takes {', '.join(types)}",
        )
    rules.require(
        {stationary.dtype.name, moving.dtype.name} != _RIVALS,
        f"stationary is {stationary.dtype}, moving is {moving.dtype}: the two forms of e4m3 do not mix",
    )
    wide = [form.dtype.name in _WIDE for form in (stationary, moving)]
    rules.require(
        wide[0] == wide[1],
        f"stationary is {stationary.dtype}, moving is {moving.dtype}: float32 mixes "
        "only with float32 and tfloat32",
    )


def _check_double_row(rules: Rules, stationary: Form, moving: Form) -> None:
    rules.require(
        rules.machine.nc_version >= _DOUBLE_ROW_SINCE, "perf_mode double_row needs NeuronCore-v3 or later"
    )
    for name, form in (("stationary", stationary), ("moving", moving)):
        rules.require(
            form.dtype.name in _FP8 and len(form.shape) == 3 and form.shape[1] == 2,
            f"{name} is {form!r}, double_row takes 8-bit floats of shape (K, 2, free)",
        )


def multiply(
    dst: NkiTensor, first: Any, second: Any, accumulate: bool | None, *, exact: bool = False
) -> None:
    """Leave the product of two matrices, the first turned, in PSUM, or add it to what is there.

    In an `exact` one 0 hides whatever it meets, also NaN and infinity.
    """
    with np.errstate(all="ignore"):
        product = first.T @ second
        if exact and not np.isfinite(product).all():
            pairs = [(left[:, None], right) for left, right in zip(first, second, strict=True)]
            terms = [np.where((left != 0) & (right != 0), left * right, 0) for left, right in pairs]
            product = np.sum(terms, axis=0)
        product = product.reshape(dst.shape)
        if accumulate is None:
            product = np.where(dst.written(), dst.floats() + product, product)
        elif accumulate:
            product = dst.floats() + product
        dst.put(product)


def check_tile(
    rules: Rules, position: Any, size: Any, rows: int, columns: int, *, columns_too: bool = True
) -> None:
    """Part of the array: its size and where it starts."""
    if not position and not size:
        return
    rules.require(
        bool(position) and bool(size) and len(position) == 2 and len(size) == 2,
        f"tile_position is {position or 'not set'} and tile_size is {size or 'not set'}: "
        "both are set, or neither",
    )
    machine = rules.machine
    limits = machine.partitions, machine.stationary_free
    smallest = _ROW_TILE.get(machine.nc_version, min(_ROW_TILE.values()))
    for label, start, length, limit in zip(("row", "column"), position, size, limits, strict=True):
        allowed = [limit >> shift for shift in range(3) if limit >> shift >= smallest]
        if label == "column" and not columns_too:
            allowed = [limit]
        rules.require(int(length) in allowed, f"tile_size has {label} size {length}, it is one of {allowed}")
        rules.require(
            int(start) % int(length) == 0 and int(start) + int(length) <= limit,
            f"tile_position starts at {label} {start}, it must be a multiple of {length} below {limit}",
        )
    rules.at_most(rows, int(size[0]), "the number of partitions in a row tile")
    rules.at_most(columns, int(size[1]), "the stationary free size in a column tile")


def nc_transpose(
    dst: NkiTensor, data: NkiTensor, engine: engines = engines.unknown, name: str | None = None
) -> None:
    """dst[F, P] = data[P, F]ᵀ: on the tensor engine into PSUM, or on Vector in blocks of 32 × 32.

    With the engine unset, Vector takes what fits one of its blocks, the tensor engine the rest.
    """

    def build(rules: Rules) -> Op:
        return _transpose(rules, dst.form, data.form, engine)

    recorder = issue("nc_transpose", build, (dst,), (data,), engine)
    if recorder.functional:
        values = data.array
        dst.put(values.reshape(values.shape[0], -1).T)


def _transpose(rules: Rules, dst: Form, data: Form, given: Any) -> Op:
    machine = rules.machine
    rules.on_chip(data, name="data")
    rules.on_chip(dst, name="dst")
    small = data.partitions <= _VECTOR_BLOCK and data.free <= _VECTOR_BLOCK
    wanted = word(given)
    if wanted == "unknown":
        wanted = VECTOR if small and dst.buffer is Buffer.SBUF else TENSOR
    engine = rules.engine(wanted, (TENSOR, VECTOR))
    rules.require(
        (dst.partitions, dst.free) == (data.free, data.partitions),
        f"dst has {dst.partitions} × {dst.free} elements (partitions × free), "
        f"the transpose has {data.free} × {data.partitions}",
    )
    if engine == TENSOR:
        rules.within(data, Buffer.SBUF, name="data")
        rules.within(dst, Buffer.PSUM, name="dst")
        rules.at_most(data.free, machine.stationary_free, "data free size", try_="transpose 128 × 128 blocks")
    else:
        rules.require(
            small,
            f"data is {data!r}, the Vector engine transposes at most 32 × 32",
            try_="the tensor engine, which transposes 128 × 128 into PSUM",
        )
    casts = engine == TENSOR and machine.nc_version < EXACT_TRANSPOSE_SINCE
    rules.require(
        casts or dst.dtype is data.dtype,
        f"dst has dtype {dst.dtype}, data has {data.dtype}: they must be the same",
    )
    variables = {"P": data.partitions, "F": data.free, "N": data.free, "fp32": data.dtype.size == 4}
    return Op(
        engine,
        "nc_transpose",
        data.dtype.word,
        variables,
        moved(reads=(data,), writes=(dst,)),
        elements=data.elements,
    )
