"""Arithmetic that engines can apply: `nl.add`, `nl.exp`, … each both an operand and a call."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.recording import STATE

if TYPE_CHECKING:
    from trnbench_emulator.nki.tensor import NkiTensor

_erf = np.vectorize(math.erf, otypes=[np.float32])
_ROOT_2_PI = math.sqrt(2 / math.pi)


class Function(msgspec.Struct, frozen=True, eq=False):
    """`apply` works on NumPy arrays. As an argument (`op=nl.add`) it names the operation; called
    on tiles it allocates the result in SBUF and issues the instruction that computes it.

    `bitwise` functions see bit patterns, no casts. `table`: Scalar has it as an activation function.
    `alu`: the element-wise engines have it. `fold` reduces over the last axis; `start` is what an
    accumulator holds before. `since`: the NeuronCore version that has it first. `domain`: the least and the
    largest value that Scalar's table is made for; of a reciprocal, sizes of the value.
    """

    name: str
    arity: int
    apply: Callable[..., Any]
    bitwise: bool = False
    table: bool = False
    alu: bool = False
    fold: Callable[..., Any] | None = None
    start: float = 0.0
    since: int = 2
    domain: tuple[float, float] | None = None

    def __repr__(self) -> str:
        return f"nl.{self.name}"

    def __call__(self, *operands: Any, dtype: Any = None, **named: Any) -> NkiTensor:
        operands += tuple(named[name] for name in ("x", "y") if name in named)
        if len(operands) != self.arity:
            raise KernelError(
                f"nl.{self.name} takes {self.arity} operands, got {len(operands)} ({site.here()})"
            )
        assert STATE.apply is not None, "the language brings what a call does"
        tile: NkiTensor = STATE.apply(self, operands, dtype)
        return tile


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _normal(x: Any) -> Any:
    return np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def _gelu_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(_ROOT_2_PI * (x + 0.044715 * x**3)))


def _softplus(x: Any) -> Any:
    return np.logaddexp(np.zeros_like(x), x)


def _sigmoid_product_dx(x: Any, slope: float) -> Any:
    share = _sigmoid(slope * x)
    return share * (1 + slope * x * (1 - share))


def _shift(move: Callable[..., Any]) -> Callable[..., Any]:
    def shifted(values: Any, by: Any) -> Any:
        # Shifts are logical: bit patterns without a sign.
        values = np.asarray(values)
        bits = values.view(f"u{values.itemsize}") if values.dtype.kind == "i" else values
        return move(bits, np.asarray(by).astype(bits.dtype)).view(values.dtype)

    return shifted


def _truth(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *operands: function(*(np.asarray(operand) != 0 for operand in operands))


def _last(pick: Callable[..., Any]) -> Callable[..., Any]:
    """The element picked by its magnitude, with its sign; the last of equal ones."""

    def fold(x: Any, axis: int) -> Any:
        x = np.flip(x, axis)
        return np.take_along_axis(x, pick(np.abs(x), axis=axis, keepdims=True), axis).squeeze(axis)

    return fold


_BINARY: tuple[Function, ...] = (
    Function("add", 2, np.add, alu=True, fold=np.sum),
    Function("subtract", 2, np.subtract, alu=True, fold=np.subtract.reduce),
    Function("multiply", 2, np.multiply, alu=True, fold=np.prod, start=1.0),
    Function("divide", 2, np.divide, alu=True),
    Function("maximum", 2, np.maximum, alu=True, fold=np.max, start=-math.inf),
    Function("minimum", 2, np.minimum, alu=True, fold=np.min, start=math.inf),
    Function("abs_max", 2, lambda x, y: np.where(np.abs(x) > np.abs(y), x, y), alu=True, since=4,
             fold=_last(np.argmax)),
    Function("abs_min", 2, lambda x, y: np.where(np.abs(x) < np.abs(y), x, y), alu=True, since=4,
             fold=_last(np.argmin), start=math.inf),
    Function("power", 2, np.power, alu=True),
    Function("mod", 2, np.mod, alu=True),
    Function("fmod", 2, np.fmod, alu=True),
    Function("equal", 2, np.equal, alu=True),
    Function("not_equal", 2, np.not_equal, alu=True),
    Function("less", 2, np.less, alu=True),
    Function("less_equal", 2, np.less_equal, alu=True),
    Function("greater", 2, np.greater, alu=True),
    Function("greater_equal", 2, np.greater_equal, alu=True),
    Function("logical_and", 2, _truth(np.logical_and), alu=True,
             fold=lambda x, axis: np.all(x != 0, axis=axis), start=1.0),
    Function("logical_or", 2, _truth(np.logical_or), alu=True,
             fold=lambda x, axis: np.any(x != 0, axis=axis)),
    Function("logical_xor", 2, _truth(np.logical_xor), alu=True,
             fold=lambda x, axis: np.logical_xor.reduce(x != 0, axis=axis)),
    Function("bitwise_and", 2, np.bitwise_and, bitwise=True, alu=True, fold=np.bitwise_and.reduce),
    Function("bitwise_or", 2, np.bitwise_or, bitwise=True, alu=True, fold=np.bitwise_or.reduce),
    Function("bitwise_xor", 2, np.bitwise_xor, bitwise=True, alu=True, fold=np.bitwise_xor.reduce),
    Function("left_shift", 2, _shift(np.left_shift), bitwise=True, alu=True),
    Function("right_shift", 2, _shift(np.right_shift), bitwise=True, alu=True),
    Function("average", 2, lambda x, y: (x + y) / 2, fold=np.mean),
    Function("prelu", 2, lambda x, slope: np.where(x >= 0, x, slope * x)),
)  # fmt: skip

_UNARY: tuple[Function, ...] = (
    Function("copy", 1, lambda x: x, table=True),
    Function("square", 1, np.square, table=True, alu=True),
    Function("abs", 1, np.abs, table=True, alu=True),
    Function("relu", 1, lambda x: np.maximum(x, 0), table=True, alu=True),
    Function("rsqrt", 1, lambda x: 1 / np.sqrt(x), table=True, alu=True, domain=(2.0**-87, 2.0**97)),
    Function("reciprocal", 1, lambda x: 1 / x, table=True, alu=True, domain=(2.0**-42, 2.0**42)),
    Function("invert", 1, np.invert, bitwise=True, alu=True),
    Function("logical_not", 1, lambda x: np.asarray(x) == 0, alu=True),
    Function("exp", 1, np.exp, table=True),
    Function("log", 1, np.log, table=True, domain=(2.0**-64, 2.0**64)),
    Function("sqrt", 1, np.sqrt, table=True, domain=(2.0**-116, 2.0**118)),
    Function("sign", 1, np.sign, table=True),
    Function("tanh", 1, np.tanh, table=True),
    Function("sigmoid", 1, _sigmoid, table=True),
    Function("silu", 1, lambda x: x * _sigmoid(x), table=True),
    Function("silu_dx", 1, lambda x: _sigmoid_product_dx(x, 1.0), table=True),
    Function("gelu", 1, lambda x: 0.5 * x * (1 + _erf(x / math.sqrt(2))), table=True),
    Function("gelu_dx", 1, lambda x: 0.5 * (1 + _erf(x / math.sqrt(2))) + x * _normal(x), table=True),
    Function("gelu_apprx_tanh", 1, _gelu_tanh, table=True),
    Function("gelu_apprx_sigmoid", 1, lambda x: x * _sigmoid(1.702 * x), table=True),
    Function("gelu_apprx_sigmoid_dx", 1, lambda x: _sigmoid_product_dx(x, 1.702), table=True),
    Function("softplus", 1, _softplus, table=True),
    Function("mish", 1, lambda x: x * np.tanh(_softplus(x)), table=True),
    Function("erf", 1, _erf, table=True),
    Function("erf_dx", 1, lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x), table=True),
    Function("sin", 1, np.sin, table=True, domain=(-math.pi, math.pi)),
    Function("arctan", 1, np.arctan, table=True, domain=(-math.pi / 2, math.pi / 2)),
    Function("cos", 1, np.cos),
    Function("tan", 1, np.tan),
    Function("ceil", 1, np.ceil),
    Function("floor", 1, np.floor),
    Function("trunc", 1, np.trunc),
    Function("negative", 1, np.negative),
)  # fmt: skip

FUNCTIONS: dict[str, Function] = {function.name: function for function in (*_BINARY, *_UNARY)}

EVERYWHERE = {
    name: msgspec.structs.replace(function, domain=None)
    for name, function in FUNCTIONS.items()
    if function.domain is not None
}
"""What `nl.sin(x)` and its like compute: documents give them no domain, and say that more instructions bring
the argument of a sine into that of the table."""

BYPASS = Function("bypass", 1, lambda x: x)
"""`nl.bypass`: no operation, where activate2 asks for one."""

_NUMPY = {
    "absolute": "abs", "true_divide": "divide", "amax": "maximum", "max": "maximum", "amin": "minimum",
    "min": "minimum", "sum": "add", "prod": "multiply", "remainder": "mod",
}  # fmt: skip


def function_of(op: Any, call: str, *, arity: int = 0, kind: str = "") -> Function:
    """The Function meant by `op`; NumPy's own (np.add, …) and nl.max, nl.sum are taken as their names.

    `kind`: "table" for an activation function, "alu" for what element-wise engines do, "fold" for a
    reduction. Raises `KernelError` when it is none of that kind, or takes another number of operands.
    """
    function = op
    if not isinstance(function, Function):
        name = getattr(op, "__name__", "")
        function = FUNCTIONS.get(_NUMPY.get(name, name), op)
    if (
        isinstance(function, Function)
        and (not arity or function.arity == arity)
        and (not kind or getattr(function, kind))
    ):
        return function
    wanted = [
        candidate
        for candidate in FUNCTIONS.values()
        if (not arity or candidate.arity == arity) and (not kind or getattr(candidate, kind))
    ]
    noun = {"table": "activation function", "fold": "reduction"}.get(kind, "operation")
    suffix = f" of {arity} operand{'s' * (arity > 1)}" if arity and noun == "operation" else ""
    raise KernelError(
        f"{call}: {op!r} is no {noun}{suffix} ({site.here()})",
        cause="provided: " + ", ".join(f"nl.{candidate.name}" for candidate in wanted),
    )
