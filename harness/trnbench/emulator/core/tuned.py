"""Families whose points say more than FLOP and bytes: instructions and transfers of a stated size."""

from __future__ import annotations

from collections.abc import Callable

from trnbench.emulator.core.costs import CostTable
from trnbench.emulator.core.demand import Demand
from trnbench.kernels.case import Case
from trnbench.kernels.dtype import item_bytes
from trnbench.kernels.families.engine import LANES, OPERATIONS


def engine_throughput(case: Case, table: CostTable) -> Demand | None:
    """Instructions of N elements per partition, back to back on operands in SBUF."""
    point = case.key.point
    engine = case.kernel.name.removesuffix("_throughput")
    operation = OPERATIONS.get(engine, {}).get(str(point.get("op")))
    if operation is None:
        return None
    elements, count = int(point["elements"]), int(point["instructions"])
    dtype = str(point["dtype"])
    variables = {
        "N": elements,
        "P": LANES,
        "psum_operands": 0,
        "psum_inputs": 0,
        "all_sbuf": True,
        "contiguous": True,
        "bits": int(8 * item_bytes(dtype)),
        "all_16bit": dtype in ("bf16", "fp16"),
        "all_bf16": dtype == "bf16",
        "op": {"tensor_tensor": "add", "reduce": "add", "tensor_scalar": "multiply"}.get(
            str(point["op"]), str(point["op"])
        ),
    }
    cycles = table.cycles(operation.instruction, engine, variables)
    return Demand(
        engines={engine: count * cycles / table.clock(engine)},
        how=f"{count} × {operation.instruction} of the cost table",
        counters={f"{engine}_instructions": count},
    )


def dma_transfers(case: Case, table: CostTable) -> Demand | None:
    """Transfers of one run per partition, one behind the other."""
    point = case.key.point
    if not {"bytes_per_partition", "partitions", "transfers"} <= set(point):
        return None
    run, rows, count = (int(point[name]) for name in ("bytes_per_partition", "partitions", "transfers"))
    amount = float(run * rows * count)
    costs = table.transfers
    one = {"bytes": run * rows, "descriptors": rows, "P": rows}
    busy = count * max(costs.engine_s(one, costs.spread(one)), costs.path_s(one))
    return Demand(
        engines={},
        dma_s=busy,
        hbm_bytes=amount,
        fill_s=table.transfers.start_s,
        how=f"{count} transfers of {rows} descriptors",
        counters={"dma_instructions": count, "hbm_bytes": amount},
    )


def transposed_tiles(case: Case, table: CostTable) -> Demand | None:
    """Square tiles through the tensor engine into PSUM, copied back, rows streamed in and out."""
    point = case.key.point
    if not {"size", "dtype"} <= set(point):
        return None
    side, dtype = int(point["size"]), str(point["dtype"])
    tile = int(table.lanes)
    count = (-(-side // tile)) ** 2
    item = item_bytes(dtype)
    sixteen = dtype in ("bf16", "fp16")
    turn = {"P": tile, "F": tile, "N": tile, "fp32": item > 2}
    copy = {
        "N": tile,
        "P": tile,
        "psum_operands": 1,
        "psum_inputs": 1,
        "all_sbuf": False,
        "contiguous": True,
        "bits": int(8 * item),
        "all_16bit": sixteen,
        "all_bf16": dtype == "bf16",
    }
    moved, run = 2.0 * side * side * item, side * item
    return Demand(
        engines={
            "tensor": count * table.cycles("nc_transpose", "tensor", turn) / table.clock("tensor"),
            "vector": count * table.cycles("tensor_copy", "vector", copy) / table.clock("vector"),
        },
        dma_s=table.stream(moved, run),
        hbm_bytes=moved,
        fill_s=2 * table.transfers.start_s,
        lead_s=2 * table.stream(min(moved / 2, run * table.lanes), run),
        how=f"{count} tiles of nc_transpose and tensor_copy of the cost table",
        counters={"tensor_instructions": count, "vector_instructions": count, "hbm_bytes": moved},
    )


TUNED: dict[str, Callable[[Case, CostTable], Demand | None]] = {
    "engine": engine_throughput,
    "dma": dma_transfers,
    "transpose": transposed_tiles,
}
