"""Arithmetic that engines can apply: `nl.add`, `nl.exp`, … each both an operand and a call."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from trnbench.errors import KernelError
from trnbench.nki import site

if TYPE_CHECKING:
    from trnbench.nki.tensor import NkiTensor

_erf = np.vectorize(math.erf, otypes=[np.float32])


class Function:
    """`apply` works on NumPy arrays. As an argument (`op=nl.add`) it names the operation; called
    on tiles it allocates the result in SBUF and issues the instruction that computes it.
    """

    __slots__ = ("apply", "arity", "bitwise", "name", "reduce")

    def __init__(
        self,
        name: str,
        arity: int,
        apply: Callable[..., Any],
        *,
        bitwise: bool = False,
        reduce: Callable[..., Any] | None = None,
    ) -> None:
        self.name = name
        self.arity = arity
        self.apply = apply
        self.bitwise = bitwise
        self.reduce = reduce  # over axes, for tensor_reduce

    def __repr__(self) -> str:
        return f"nl.{self.name}"

    def __call__(self, *operands: Any, dtype: Any = None) -> NkiTensor:
        from trnbench.nki.language.elementwise import apply

        if len(operands) != self.arity:
            raise KernelError(
                f"nl.{self.name} takes {self.arity} operands, got {len(operands)} ({site.here()})"
            )
        return apply(self, operands, dtype)


def _gelu_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


_BINARY: tuple[Function, ...] = (
    Function("add", 2, np.add, reduce=np.sum),
    Function("subtract", 2, np.subtract),
    Function("multiply", 2, np.multiply, reduce=np.prod),
    Function("divide", 2, np.divide),
    Function("maximum", 2, np.maximum, reduce=np.max),
    Function("minimum", 2, np.minimum, reduce=np.min),
    Function("power", 2, np.power),
    Function("equal", 2, np.equal),
    Function("not_equal", 2, np.not_equal),
    Function("less", 2, np.less),
    Function("less_equal", 2, np.less_equal),
    Function("greater", 2, np.greater),
    Function("greater_equal", 2, np.greater_equal),
    Function("bitwise_and", 2, np.bitwise_and, bitwise=True),
    Function("bitwise_or", 2, np.bitwise_or, bitwise=True),
    Function("bitwise_xor", 2, np.bitwise_xor, bitwise=True),
)

_UNARY: tuple[Function, ...] = (
    Function("copy", 1, lambda x: x),
    Function("exp", 1, np.exp),
    Function("log", 1, np.log),
    Function("sqrt", 1, np.sqrt),
    Function("rsqrt", 1, lambda x: 1 / np.sqrt(x)),
    Function("square", 1, np.square),
    Function("abs", 1, np.abs),
    Function("negative", 1, np.negative),
    Function("sign", 1, np.sign),
    Function("reciprocal", 1, lambda x: 1 / x),
    Function("tanh", 1, np.tanh),
    Function("sigmoid", 1, _sigmoid),
    Function("relu", 1, lambda x: np.maximum(x, 0)),
    Function("silu", 1, lambda x: x * _sigmoid(x)),
    Function("gelu", 1, lambda x: 0.5 * x * (1 + _erf(x / math.sqrt(2)))),
    Function("gelu_apprx_tanh", 1, _gelu_tanh),
    Function("erf", 1, _erf),
    Function("sin", 1, np.sin),
    Function("cos", 1, np.cos),
)

FUNCTIONS: dict[str, Function] = {each.name: each for each in (*_BINARY, *_UNARY)}


def function_of(op: Any, call: str, *, arity: int) -> Function:
    """The Function meant by `op`; NumPy's own (np.add, …) are taken as their names.

    Raises `KernelError` when it is none, or takes another number of operands.
    """
    if not isinstance(op, Function):
        op = FUNCTIONS.get(
            {"absolute": "abs", "true_divide": "divide"}.get(n := getattr(op, "__name__", ""), n), op
        )
    if not isinstance(op, Function) or op.arity != arity:
        names = ", ".join(f"nl.{each.name}" for each in FUNCTIONS.values() if each.arity == arity)
        raise KernelError(
            f"{call}: {op!r} is no operation of {arity} operand{'s' * (arity > 1)} ({site.here()})",
            cause=f"provided: {names}",
        )
    return op
