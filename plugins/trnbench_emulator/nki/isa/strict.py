"""Calls as a kernel makes them, where the type of a number or a column matters.

The language and Beta 1 use the same instructions without these rules: they cast what they are given.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

from trnbench_emulator.nki.constraints import Rules, form_of
from trnbench_emulator.nki.functions import function_of
from trnbench_emulator.nki.isa import activation, activation_reduce, arithmetic, exponential, move, scan
from trnbench_emulator.nki.isa.constants import engine as engines
from trnbench_emulator.nki.recorder import current
from trnbench_emulator.nki.tensor import NkiTensor
from trnbench_emulator.nki.values import VirtualRegister


def _float32(function: Callable[..., None], *names: str) -> Callable[..., None]:
    """The instruction, whose operands of these names are numbers or columns of float32."""
    positions = tuple((name, list(signature(function).parameters).index(name)) for name in names)

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> None:
        for name, position in positions:
            operand = args[position] if position < len(args) else kwargs.get(name)
            form = form_of(operand)
            if form is not None and form.dtype.name != "float32":
                raise Rules(function.__name__, current().machine).fail(
                    f"{name} is {form.dtype}, it must be float32", try_=_WIDEN
                )
        function(*args, **kwargs)

    return checked


_WIDEN = "nisa.tensor_copy copies it to a tile of float32"
FLOAT32 = {
    function.__name__: _float32(function, *names)
    for function, *names in (
        (activation, "scale"),
        (activation_reduce, "scale"),
        (exponential, "max_value", "reduce_init"),
        (scan.tensor_scalar_cumulative, "imm0", "imm1"),
        (scan.tensor_scalar_reduce, "operand0", "reduce_init"),
    )
}
"""Instructions whose columns documents say are of float32."""


def memset(dst: NkiTensor, value: float, engine: engines = engines.unknown, name: str | None = None) -> None:
    """Fill with a constant of the type of dst: an integer type takes whole numbers that it can hold."""
    rules = Rules("memset", current().machine)
    rules.require(
        not isinstance(value, VirtualRegister),
        f"value is {value!r}, it must be known when the kernel is built",
    )
    rules.constant(dst.form.dtype, value, cast=False)
    move.memset(dst, value, engine, name)


def tensor_scalar(
    dst: NkiTensor,
    data: NkiTensor,
    op0: Any,
    operand0: float | NkiTensor | None,
    reverse0: bool = False,
    op1: Any = None,
    operand1: float | NkiTensor | None = None,
    reverse1: bool = False,
    engine: engines = engines.unknown,
    name: str | None = None,
) -> None:
    """dst = (data op0 operand0) op1 operand1, operands being numbers or float32 columns."""
    for label, op, operand in (("operand0", op0, operand0), ("operand1", op1, operand1)):
        if op is None and operand is not None:
            raise Rules("tensor_scalar", current().machine).fail(
                f"{label} is {operand!r} without an operation",
                cause=f"op{label[-1]} is None, so that {label} is unused: then it must be None too",
                try_=f"op{label[-1]}=nl.add, or leave {label} out",
            )
        form = form_of(operand)
        if form is None or form.dtype.name == "float32" or function_of(op, "tensor_scalar").bitwise:
            continue
        raise Rules("tensor_scalar", current().machine).fail(
            f"{label} is {form.dtype}, beside an arithmetic operation it must be float32",
            try_=_WIDEN,
        )
    arithmetic.tensor_scalar(dst, data, op0, operand0, reverse0, op1, operand1, reverse1, engine, name)
