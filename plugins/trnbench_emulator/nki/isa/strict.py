"""Calls as a kernel makes them, where the type of a number or a column matters.

The language and Beta 1 use the same instructions without these rules: they cast what they are given.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trnbench_emulator.nki.constraints import Rules, form_of
from trnbench_emulator.nki.functions import function_of
from trnbench_emulator.nki.isa import arithmetic, move
from trnbench_emulator.nki.isa.constants import engine as engines
from trnbench_emulator.nki.recorder import current
from trnbench_emulator.nki.tensor import NkiTensor


def memset(dst: NkiTensor, value: float, engine: engines = engines.unknown, name: str | None = None) -> None:
    """Fill with a constant of the type of dst: an integer type takes whole numbers that it can hold."""
    kind = dst.form.dtype
    if not kind.is_float and kind.packed is None and isinstance(value, (int, float, np.number)):
        bounds = (0, 1) if kind.numpy.kind == "b" else (np.iinfo(kind.numpy).min, np.iinfo(kind.numpy).max)
        whole = isinstance(value, (int, np.integer))
        if not whole or not bounds[0] <= value <= bounds[1]:
            raise Rules("memset", current().machine).fail(
                f"value is {value!r}, {kind} takes an integer from {bounds[0]} to {bounds[1]}",
                cause="from NKI 0.3 on the value must be of dst's type, without a cast",
                try_="an integer in that range, or a dst of another type",
            )
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
            try_="nisa.tensor_copy copies it to a tile of float32",
        )
    arithmetic.tensor_scalar(dst, data, op0, operand0, reverse0, op1, operand1, reverse1, engine, name)
