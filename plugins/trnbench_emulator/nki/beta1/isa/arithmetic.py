"""Element by element, and along a row: activations, tensor_tensor, tensor_scalar, scans."""

from __future__ import annotations

from typing import Any

from trnbench_emulator.nki.beta1.index import broadcast
from trnbench_emulator.nki.beta1.isa.returning import returning
from trnbench_emulator.nki.beta1.operation import broadcast_to, of_one_rank
from trnbench_emulator.nki.beta1.pending import settle
from trnbench_emulator.nki.beta1.tile import Tile
from trnbench_emulator.nki.functions import FUNCTIONS
from trnbench_emulator.nki.isa.common import word
from trnbench_emulator.nki.isa.constants import (
    unknown_engine,
)
from trnbench_emulator.nki.recorder import current

activation = returning("activation", "op data bias scale reduce_op reduce_res reduce_cmd", "data")


activation_reduce = returning("activation_reduce", "op data reduce_op reduce_res bias scale", "data")


_tensor_tensor = returning("tensor_tensor", "data1 data2 op", "data1")


def tensor_tensor(data1: Tile, data2: Tile, op: Any, **named: Any) -> Any:
    """data1 op data2; free dimensions of size 1 are read repeatedly."""
    settle()
    if data1.shape != data2.shape:
        data1, data2 = of_one_rank((data1, data2))
        shape = broadcast(data1.shape, data2.shape)
        data1, data2 = (broadcast_to(each, shape) for each in (data1, data2))
    return _tensor_tensor(data1, data2, op, **named)


_tensor_scalar = returning("tensor_scalar", "data op0 operand0 reverse0 op1 operand1 reverse1", "data")


def tensor_scalar(data: Tile, op0: Any, operand0: Any, *args: Any, **named: Any) -> Any:
    """(data op0 operand0) op1 operand1. Products of floats with the engine left open go to Scalar: published
    profiles show them there."""
    alone = not args and not any(named.get(each) for each in ("op1", "dst"))
    opened = word(named.get("engine", unknown_engine)) == "unknown"
    if alone and opened and scaled_by_scalar(op0, data) and current().assumes("engine-choice"):
        kept = {each: named[each] for each in ("mask", "dtype") if each in named}
        return activation(op=FUNCTIONS["copy"], data=data, scale=operand0, **kept)
    return _tensor_scalar(data, op0, operand0, *args, **named)


def scaled_by_scalar(op: Any, data: Any) -> bool:
    """Is this a product that the compiler of Beta 1 gives to Scalar?"""
    name = getattr(op, "name", getattr(op, "__name__", ""))
    return name == "multiply" and isinstance(data, Tile) and data.dtype.is_float


scalar_tensor_tensor = returning(
    "scalar_tensor_tensor", "data op0 operand0 op1 operand1 reverse0 reverse1", "data"
)


tensor_tensor_scan = returning("tensor_tensor_scan", "data0 data1 initial op0 op1 reverse0 reverse1", "data0")


tensor_scalar_reduce = returning(
    "tensor_scalar_reduce", "data op0 operand0 reduce_op reduce_res reverse0", "data"
)


tensor_scalar_cumulative = returning("tensor_scalar_cumulative", "src op0 op1 imm0 imm1 reduce_cmd", "src")


tensor_copy = returning("tensor_copy", "src", "src")


reciprocal = returning("reciprocal", "data", "data")


dropout = returning("dropout", "data prob", "data")
