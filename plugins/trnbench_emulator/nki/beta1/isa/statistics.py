"""Instructions whose result has a shape of its own: statistics, the eight largest, gathers."""

from __future__ import annotations

from typing import Any

from trnbench_emulator.nki.beta1.isa.returning import returning
from trnbench_emulator.nki.dtype import DTYPES

range_select = returning("range_select", "on_true_tile comp_op0 comp_op1 bound0 bound1", "on_true_tile")


select_reduce = returning("select_reduce", "predicate on_true on_false", "on_true")


def _eight(given: dict[str, Any]) -> tuple[int, ...]:
    data = given["src"] if "src" in given else given["data"]
    return (data.shape[0], 8)


bn_stats = returning("bn_stats", "data", "data", lambda given: (given["data"].shape[0], 6))


bn_aggr = returning("bn_aggr", "data", "data", lambda given: (given["data"].shape[0], 2))


max8 = returning("max8", "src", "src", _eight)


nc_find_index8 = returning("nc_find_index8", "data vals", "data", _eight, DTYPES["uint32"])


nc_match_replace8 = returning("nc_match_replace8", "data vals imm dst_idx", "data")


local_gather = returning(
    "local_gather", "src_buffer index num_elem_per_idx num_valid_indices", "src_buffer",
    lambda given: (*given["index"].shape, 16, given.get("num_elem_per_idx", 1)),
)  # fmt: skip


sequence_bounds = returning(
    "sequence_bounds", "segment_ids", "segment_ids", lambda given: (1, 2, given["segment_ids"].shape[-1])
)
