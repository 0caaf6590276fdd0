"""What instructions have in common: their Op, made once, and operands that are numbers or columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trnbench_emulator.nki.constraints import Rules, elementwise, moved
from trnbench_emulator.nki.functions import Function
from trnbench_emulator.nki.memory import Form
from trnbench_emulator.nki.op import Op
from trnbench_emulator.nki.recorder import Recorder
from trnbench_emulator.nki.tensor import NkiTensor

INTEGERS = ("int8", "int16", "int32", "uint8", "uint16", "uint32")


def word(value: Any) -> str:
    """The name of an enumeration's member, however it was given."""
    return str(getattr(value, "value", value))


def issue(
    recorder: Recorder,
    key: tuple[Any, ...],
    build: Callable[[], Op],
    writes: tuple[NkiTensor, ...],
    reads: tuple[Any, ...],
) -> None:
    """Emit the instruction of `key`; its checks and variables are worked out the first time only.

    Of `reads`, what is no tensor (numbers, None) is left out.
    """
    op = recorder.ops.get(key)
    if op is None:
        op = recorder.ops[key] = build()
    recorder.emit(op, writes, tuple([each for each in reads if isinstance(each, NkiTensor)]))


def made(engine: str, opcode: str, writes: tuple[Form, ...], reads: tuple[Form, ...], **variables: Any) -> Op:
    """An Op of an engine that walks its elements."""
    forms = (*writes, *reads)
    return Op(
        engine,
        opcode,
        (reads or writes)[0].dtype.word,
        {**elementwise(writes[0], *writes[1:], *reads), **_inputs(reads), **variables},
        moved(reads=reads, writes=writes),
        elements=max(each.elements for each in forms),
    )


def _inputs(reads: tuple[Form, ...]) -> dict[str, Any]:
    return {"psum_inputs": sum(each.buffer.memory == "psum" for each in reads)}


def tiles(rules: Rules, **named: Any) -> None:
    """Every named operand must be a tensor on chip; None is let through."""
    for name, view in named.items():
        if view is None:
            continue
        form = getattr(view, "form", None)
        rules.require(form is not None, f"{name} is {type(view).__name__}, it must be a tensor")
        rules.on_chip(view.form, name=name)


def form_of(operand: Any) -> Form | None:
    return getattr(operand, "form", None)


def column(operand: Any, ndim: int) -> Any:
    """A number as it is; a (P, 1) tensor in a shape that broadcasts over the free dimensions."""
    if isinstance(operand, NkiTensor):
        return operand.floats().reshape(-1, *([1] * (ndim - 1)))
    return np.float32(0 if operand is None else operand)


def bits(operand: Any, ndim: int) -> Any:
    """The same for bitwise operations, which see no floats."""
    if isinstance(operand, NkiTensor):
        return operand.array.reshape(-1, *([1] * (ndim - 1)))
    return int(operand or 0)


def step(function: Function, values: Any, other: Any, *, reverse: bool = False) -> Any:
    """values op other, or other op values; a unary operation leaves `other` out."""
    if function.arity == 1:
        return function.apply(values)
    return function.apply(other, values) if reverse else function.apply(values, other)
