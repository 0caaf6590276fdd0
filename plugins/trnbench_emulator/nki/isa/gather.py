"""Moving elements by index, and finding where they are: GpSimd's gathers, Vector's shuffle."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from typing import Any

import numpy as np

from trnbench_emulator.nki.constraints import Rules, issue, rows_of, tiles
from trnbench_emulator.nki.isa.move import spare
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.op import GPSIMD, VECTOR, Op
from trnbench_emulator.nki.tensor import NkiTensor
from trnbench_emulator.nki.values import whole

GROUP = 16  # partitions that one GpSimd core reaches
QUADRANT = 32
_KEEP = 255
_EACH = (1, 2, 4, 8, 16, 32)
_MOST_INDICES = 4096
_TOPK_ELEMENTS = (8, 65535)
_TOPK_RESULTS = 32767


def nc_stream_shuffle(dst: NkiTensor, src: NkiTensor, shuffle_mask: Any, name: str | None = None) -> None:
    """Within 32 partitions each, partition i of dst from partition shuffle_mask[i] of src; 255 keeps it."""
    mask = tuple(
        whole(partition, "nc_stream_shuffle: a number of shuffle_mask") for partition in shuffle_mask
    )

    def build(rules: Rules) -> Op:
        tiles(rules, src=src, dst=dst)
        rules.require(len(mask) == QUADRANT, f"shuffle_mask has {len(mask)} elements, it must have 32")
        rules.require(
            all(0 <= partition < QUADRANT or partition == _KEEP for partition in mask),
            "shuffle_mask holds numbers other than 0 to 31 and 255",
        )
        rules.require(src.form.dtype is dst.form.dtype, f"src is {src.form.dtype}, dst is {dst.form.dtype}")
        rules.require(
            src.form.free == dst.form.free,
            f"src has {src.form.free} elements per partition, dst has {dst.form.free}",
        )
        return rules.op(VECTOR, (dst,), (src,))

    recorder = issue("nc_stream_shuffle", build, (dst,), (src,), mask)
    if recorder.functional:
        before = rows_of(src.array).copy()
        after = rows_of(dst.array).copy()
        gaps = np.ones(len(after), np.bool_)
        for row in range(len(after)):
            base, wanted = row - row % QUADRANT, mask[row % QUADRANT]
            # One quadrant of source serves every quadrant of a larger destination.
            at = base % max(len(before), 1) + wanted if len(before) > QUADRANT else wanted
            if wanted != _KEEP and at < len(before):
                after[row], gaps[row] = before[at], False
        spare(dst, np.broadcast_to(gaps[:, None], after.shape).reshape(dst.shape))
        dst.put(after)


def local_gather(
    dst: NkiTensor,
    src_buffer: NkiTensor,
    index: NkiTensor,
    num_elem_per_idx: int = 1,
    num_valid_indices: int | None = None,
    name: str | None = None,
) -> None:
    """Gather by the indices that 16 partitions hold together, for each group of 16, on GpSimd.

    An index is the offset of the first of `num_elem_per_idx` neighbours, in elements.
    """
    groups = index.form.partitions // GROUP
    per_group = index.form.elements // max(groups, 1)
    valid = per_group
    if num_valid_indices is not None:
        valid = whole(num_valid_indices, "local_gather: num_valid_indices")

    def build(rules: Rules) -> Op:
        rules.in_sbuf(dst=dst, src_buffer=src_buffer, index=index)
        rules.require(
            src_buffer.form.partitions == index.form.partitions and index.form.partitions % GROUP == 0,
            f"src_buffer has {src_buffer.form.partitions} partitions, index has {index.form.partitions}: "
            "they must be equal and a multiple of 16",
        )
        rules.require(
            num_elem_per_idx in _EACH, f"num_elem_per_idx is {num_elem_per_idx}, it is one of {_EACH}"
        )
        rules.require(index.form.dtype.name == "uint16", f"index is {index.form.dtype}, it must be uint16")
        rules.require(
            src_buffer.form.dtype is dst.form.dtype,
            f"src_buffer is {src_buffer.form.dtype}, dst is {dst.form.dtype}: it does not cast",
        )
        rules.at_most(valid, min(per_group, _MOST_INDICES), "the number of indices per group")
        sizes = {"indices": valid, "each": num_elem_per_idx, "dtype_bytes": src_buffer.form.dtype.size}
        return rules.op(GPSIMD, (dst,), (src_buffer, index), **sizes)

    recorder = issue("local_gather", build, (dst,), (src_buffer, index), num_elem_per_idx, valid)
    if recorder.functional:
        source = rows_of(src_buffer.array)
        picks = rows_of(index.array).astype(np.int64)
        result = rows_of(dst.array).copy()
        offsets = np.arange(num_elem_per_idx)
        for group in range(groups):
            rows = slice(group * GROUP, (group + 1) * GROUP)
            flat = picks[rows].T.reshape(-1)[:valid]  # along the partitions first
            Rules("local_gather", recorder.machine).require(
                bool((flat + num_elem_per_idx <= source.shape[1]).all()),
                f"an index is {int(flat.max())}, src_buffer has {source.shape[1]} elements",
                cause="what an index outside gathers is undefined",
            )
            places = (flat[:, None] + offsets).reshape(-1)
            result[rows, : len(places)] = source[rows][:, places]
        dst.put(result)


def nc_n_gather(dst: NkiTensor, data: NkiTensor, indices: NkiTensor, name: str | None = None) -> None:
    """dst[p, i] = data[p, indices[p, i]] with free dimensions flattened, on GpSimd."""

    def build(rules: Rules) -> Op:
        rules.in_sbuf(dst=dst, data=data, indices=indices)
        rules.same_elements(dst.form, indices.form, ("dst", "indices"))
        rules.require(
            data.form.partitions == dst.form.partitions,
            f"data has {data.form.partitions} partitions, dst has {dst.form.partitions}",
        )
        rules.require(
            indices.form.dtype.name == "uint32", f"indices is {indices.form.dtype}, it must be uint32"
        )
        rules.require(
            data.form.dtype is dst.form.dtype, f"data is {data.form.dtype}, dst is {dst.form.dtype}"
        )
        return rules.op(GPSIMD, (dst,), (data, indices))

    recorder = issue("nc_n_gather", build, (dst,), (data, indices))
    if recorder.functional:
        source = rows_of(data.array)
        picks = rows_of(indices.array).astype(np.int64)
        Rules("nc_n_gather", recorder.machine).require(
            bool((picks < source.shape[1]).all()),
            f"an index is {int(picks.max())}, data has {source.shape[1]}",
        )
        dst.put(np.take_along_axis(source, picks, axis=1))


def nonzero_with_count(
    dst: NkiTensor, src: NkiTensor, index_offset: int = 0, padding_val: int = -1, name: str | None = None
) -> None:
    """Where src is not 0, padding, and how many: partitions 0, 16, 32, … only. GpSimd, NeuronCore-v3."""
    begin = whole(index_offset, "nonzero_with_count: index_offset")
    padding = whole(padding_val, "nonzero_with_count: padding_val")

    def build(rules: Rules) -> Op:
        rules.since(3)
        rules.in_sbuf(src=src, dst=dst)
        rules.require(
            src.form.dtype.name in ("float32", "int32"),
            f"src is {src.form.dtype}, it must be float32 or int32",
        )
        rules.require(dst.form.dtype.name == "int32", f"dst is {dst.form.dtype}, it must be int32")
        rules.require(
            dst.form.partitions == src.form.partitions and dst.form.free == src.form.free + 1,
            f"dst has {dst.form.partitions} × {dst.form.free} elements, "
            f"it must have {src.form.partitions} × {src.form.free + 1}",
        )
        return rules.op(GPSIMD, (dst,), (src,))

    recorder = issue("nonzero_with_count", build, (dst,), (src, dst))
    if recorder.functional:
        source = rows_of(src.array)
        result = rows_of(dst.array).copy()
        for row in range(0, len(source), GROUP):
            positions = np.flatnonzero(source[row])
            result[row] = padding
            result[row, : len(positions)] = positions + begin
            result[row, -1] = len(positions)
        dst.put(result)


def sequence_bounds(dst: NkiTensor, segment_ids: NkiTensor, name: str | None = None) -> None:
    """Start and end of the segment every element belongs to; n and -1 for padding (id 0). GpSimd."""
    count = segment_ids.form.free

    def build(rules: Rules) -> Op:
        tiles(rules, segment_ids=segment_ids, dst=dst)
        for label, view in (("segment_ids", segment_ids), ("dst", dst)):
            rules.require(view.form.partitions == 1, f"{label} has {view.form.partitions} partitions, not 1")
            rules.require(
                view.form.dtype.name in ("float32", "int32"),
                f"{label} is {view.form.dtype}, it must be float32 or int32",
            )
        rules.require(
            dst.form.free == 2 * count, f"dst has {dst.form.free} elements, it must have {2 * count}"
        )
        return rules.op(GPSIMD, (dst,), (segment_ids,))

    recorder = issue("sequence_bounds", build, (dst,), (segment_ids,))
    if recorder.functional:
        ids = segment_ids.array.reshape(-1)
        bounds = np.empty((2, count), np.float64)
        start = 0
        for at in range(1, count + 1):
            if at == count or ids[at] != ids[start]:
                bounds[:, start:at] = [[count], [-1]] if ids[start] == 0 else [[start], [at]]
                start = at
        dst.put(bounds)


def topk(val_dst: NkiTensor, idx_dst: NkiTensor, src: NkiTensor, n: int, name: str | None = None) -> None:
    """The k largest of n bf16 values laid out over 16 partitions, ascending, and where they were. GpSimd."""
    k = val_dst.form.free

    def build(rules: Rules) -> Op:
        rules.since(3)
        for label, view, kind in (
            ("src", src, "bfloat16"),
            ("val_dst", val_dst, "bfloat16"),
            ("idx_dst", idx_dst, "uint32"),
        ):
            rules.within(view.form, Buffer.SBUF, name=label)
            rules.require(view.form.dtype.name == kind, f"{label} is {view.form.dtype}, it must be {kind}")
        rules.require(_TOPK_ELEMENTS[0] <= n <= _TOPK_ELEMENTS[1], f"n is {n}, it is 8 to 65,535")
        rules.require(
            1 <= k <= min(_TOPK_RESULTS, n), f"val_dst has {k} columns, it is 1 to {min(_TOPK_RESULTS, n)}"
        )
        rules.require(
            src.form.free >= -(-n // GROUP),
            f"src has {src.form.free} columns, {n} values need {-(-n // GROUP)}",
        )
        rules.require(
            src.form.partitions % GROUP == 0, f"src has {src.form.partitions} partitions, no multiple of 16"
        )
        rules.same_elements(val_dst.form, idx_dst.form, ("val_dst", "idx_dst"))
        return rules.op(GPSIMD, (val_dst, idx_dst), (src,), n=n, k=k)

    recorder = issue("topk", build, (val_dst, idx_dst), (src,), n)
    if recorder.functional:
        source = rows_of(src.floats())
        values = np.empty((val_dst.form.partitions, k), np.float32)
        places = np.empty((val_dst.form.partitions, k), np.int64)
        for row in range(val_dst.form.partitions):
            base = row - row % GROUP
            snake = source[base : base + GROUP].T.reshape(-1)[:n]
            order = np.argsort(snake, kind="stable")[-k:]
            values[row], places[row] = snake[order], order
        val_dst.put(values)
        idx_dst.put(places)
