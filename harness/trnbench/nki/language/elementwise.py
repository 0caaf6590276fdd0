"""What `nl.add(x, y)` and its like do: allocate the result, issue the instruction."""

from __future__ import annotations

from typing import Any

from trnbench.errors import KernelError
from trnbench.nki import isa, site
from trnbench.nki.functions import Function
from trnbench.nki.language.creation import ndarray, sbuf
from trnbench.nki.tensor import NkiTensor


def apply(function: Function, operands: tuple[Any, ...], dtype: Any) -> NkiTensor:
    """Unary on Scalar; two tensors by tensor_tensor, tensor and number (or column) by tensor_scalar."""
    first = next((each for each in operands if isinstance(each, NkiTensor)), None)
    if first is None:
        raise KernelError(f"nl.{function.name}: no operand is a tensor ({site.here()})")
    if len(operands) == 1:
        dst = ndarray(first.shape, dtype or first.dtype, sbuf)
        isa.activation(dst, function, first)
        return dst
    left, right = operands
    both = isinstance(left, NkiTensor) and isinstance(right, NkiTensor)
    wide = max((each for each in operands if isinstance(each, NkiTensor)), key=lambda each: each.form.free)
    dst = ndarray(wide.shape, dtype or wide.dtype, sbuf)
    if both and left.form.free == right.form.free:
        isa.tensor_tensor(dst, left, right, function)
    elif wide is left:
        isa.tensor_scalar(dst, left, function, right)
    else:
        isa.tensor_scalar(dst, right, function, left, reverse0=True)
    return dst
