"""What `nl.add(x, y)` and its like do: allocate the result, issue the instruction."""

from __future__ import annotations

from typing import Any

import numpy as np

from trnbench.errors import KernelError
from trnbench_emulator.nki import isa, site
from trnbench_emulator.nki.constraints import issue
from trnbench_emulator.nki.functions import EVERYWHERE, Function
from trnbench_emulator.nki.language.composite import broadcast_to
from trnbench_emulator.nki.language.creation import fill, ndarray, sbuf
from trnbench_emulator.nki.op import VECTOR
from trnbench_emulator.nki.recording import STATE
from trnbench_emulator.nki.tensor import NkiTensor


def apply(
    function: Function, operands: tuple[Any, ...], dtype: Any, dst: NkiTensor | None = None
) -> NkiTensor:
    """Unary on Scalar; two tensors by tensor_tensor, tensor and number (or column) by tensor_scalar.

    The result is `dst` where it is given, else a new tile.
    """
    first = next((each for each in operands if isinstance(each, NkiTensor)), None)
    if first is None:
        raise KernelError(
            f"nl.{function.name}: no operand is a tensor ({site.here()})",
            cause="it is an instruction, and computes on tiles",
            try_="Python's own operators, or math, for numbers known before the kernel runs",
        )
    if len(operands) == 1:
        return _unary(function, first, dtype, dst)
    left_side, right = operands
    both = isinstance(left_side, NkiTensor) and isinstance(right, NkiTensor)
    if both and left_side.form.partitions != right.form.partitions:
        left_side, right = _of_as_many_partitions(left_side, right)
        operands = left_side, right
    wide = max((each for each in operands if isinstance(each, NkiTensor)), key=lambda each: each.form.free)
    if dst is None:
        dst = ndarray(wide.shape, dtype or wide.dtype, sbuf)
    if both and left_side.form.free == right.form.free:
        isa.tensor_tensor(dst, left_side, right, function)
    elif wide is left_side:
        isa.tensor_scalar(dst, left_side, function, right)
    else:
        isa.tensor_scalar(dst, right, function, left_side, reverse0=True)
    return dst


def _of_as_many_partitions(left: NkiTensor, right: NkiTensor) -> tuple[NkiTensor, NkiTensor]:
    """One partition beside many is spread over as many; other numbers are for the instruction to refuse."""
    most = max(left.form.partitions, right.form.partitions)

    def spread(side: NkiTensor) -> NkiTensor:
        single = side.form.on_chip and side.form.partitions == 1
        return broadcast_to(side, (most, *side.shape[1:])) if single else side

    return spread(left), spread(right)


def assign(dst: NkiTensor, value: Any) -> None:
    """`tile[…] = value`."""
    if not isinstance(value, NkiTensor):
        fill(dst, value, "assignment")
        return
    if dst.form.on_chip and value.form.on_chip:
        isa.tensor_copy(dst=dst, src=value)
    else:
        isa.dma_copy(dst=dst, src=value)


def _unary(function: Function, x: NkiTensor, dtype: Any, given: NkiTensor | None) -> NkiTensor:
    dst = ndarray(x.shape, dtype or x.dtype, sbuf) if given is None else given
    if function.table:
        isa.activation(dst, EVERYWHERE.get(function.name, function), x)
    elif function.alu:
        isa.tensor_scalar(dst, x, function, None)
    elif function.name == "negative":
        isa.tensor_scalar(dst, x, np.multiply, -1.0)
    else:
        # No document says which instructions ceil, cos, … become: one on Vector stands for them.
        recorder = issue(
            "tensor_scalar",
            lambda rules: rules.op(VECTOR, (dst,), (x,), op=function.name),
            (dst,),
            (x,),
            function,
        )
        if recorder.functional:
            with np.errstate(all="ignore"):
                dst.put(function.apply(x.floats()))
    return dst


STATE.apply, STATE.assign = apply, assign
