"""Arithmetic that engines can apply: `nl.add`, `nl.exp`, … each both an operand and a call."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from trnbench.errors import KernelError
from trnbench.record import Record
from trnbench_emulator.nki import site
from trnbench_emulator.nki.recording import STATE

if TYPE_CHECKING:
    from trnbench_emulator.nki.tensor import NkiTensor

_erf = np.vectorize(math.erf, otypes=[np.float32])
_ROOT_2_PI = math.sqrt(2 / math.pi)


class Function(Record, eq=False):
    """`apply` works on NumPy arrays. As an argument (`op=nl.add`) it names the operation; called
    on tiles it allocates the result in SBUF and issues the instruction that computes it.

    `bitwise` functions see bit patterns, no casts. `table`: Scalar has it as an activation function.
    `alu`: the element-wise engines have it. `fold` reduces over the last axis; `start` is what an
    accumulator holds before. `since`: the NeuronCore version that has it first. `domain`: the least and the
    largest value that Scalar's table is made for; of a reciprocal, sizes of the value.
    """

    name: str
    apply: Callable[..., Any]
    arity: int = 1
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


_alu, _table = partial(Function, arity=2, alu=True), partial(Function, table=True)

_FUNCTIONS: tuple[Function, ...] = (
    _alu("add", np.add, fold=np.sum),
    _alu("subtract", np.subtract, fold=np.subtract.reduce),
    _alu("multiply", np.multiply, fold=np.prod, start=1.0),
    _alu("divide", np.divide),
    _alu("maximum", np.maximum, fold=np.max, start=-math.inf),
    _alu("minimum", np.minimum, fold=np.min, start=math.inf),
    _alu("abs_max", lambda x, y: np.where(np.abs(x) > np.abs(y), x, y), since=4,
         fold=_last(np.argmax)),
    _alu("abs_min", lambda x, y: np.where(np.abs(x) < np.abs(y), x, y), since=4,
         fold=_last(np.argmin), start=math.inf),
    _alu("power", np.power),
    _alu("mod", np.mod),
    _alu("fmod", np.fmod),
    _alu("equal", np.equal),
    _alu("not_equal", np.not_equal),
    _alu("less", np.less),
    _alu("less_equal", np.less_equal),
    _alu("greater", np.greater),
    _alu("greater_equal", np.greater_equal),
    _alu("logical_and", _truth(np.logical_and),
         fold=lambda x, axis: np.all(x != 0, axis=axis), start=1.0),
    _alu("logical_or", _truth(np.logical_or),
         fold=lambda x, axis: np.any(x != 0, axis=axis)),
    _alu("logical_xor", _truth(np.logical_xor),
         fold=lambda x, axis: np.logical_xor.reduce(x != 0, axis=axis)),
    _alu("bitwise_and", np.bitwise_and, bitwise=True, fold=np.bitwise_and.reduce),
    _alu("bitwise_or", np.bitwise_or, bitwise=True, fold=np.bitwise_or.reduce),
    _alu("bitwise_xor", np.bitwise_xor, bitwise=True, fold=np.bitwise_xor.reduce),
    _alu("left_shift", _shift(np.left_shift), bitwise=True),
    _alu("right_shift", _shift(np.right_shift), bitwise=True),
    Function("average", lambda x, y: (x + y) / 2, 2, fold=np.mean),
    Function("prelu", lambda x, slope: np.where(x >= 0, x, slope * x), 2),
    _table("copy", lambda x: x),
    _table("square", np.square, alu=True),
    _table("abs", np.abs, alu=True),
    _table("relu", lambda x: np.maximum(x, 0), alu=True),
    _table("rsqrt", lambda x: 1 / np.sqrt(x), alu=True, domain=(2.0**-87, 2.0**97)),
    _table("reciprocal", lambda x: 1 / x, alu=True, domain=(2.0**-42, 2.0**42)),
    Function("invert", np.invert, bitwise=True, alu=True),
    Function("logical_not", lambda x: np.asarray(x) == 0, alu=True),
    _table("exp", np.exp),
    _table("log", np.log, domain=(2.0**-64, 2.0**64)),
    _table("sqrt", np.sqrt, domain=(2.0**-116, 2.0**118)),
    _table("sign", np.sign),
    _table("tanh", np.tanh),
    _table("sigmoid", _sigmoid),
    _table("silu", lambda x: x * _sigmoid(x)),
    _table("silu_dx", lambda x: _sigmoid_product_dx(x, 1.0)),
    _table("gelu", lambda x: 0.5 * x * (1 + _erf(x / math.sqrt(2)))),
    _table("gelu_dx", lambda x: 0.5 * (1 + _erf(x / math.sqrt(2))) + x * _normal(x)),
    _table("gelu_apprx_tanh", _gelu_tanh),
    _table("gelu_apprx_sigmoid", lambda x: x * _sigmoid(1.702 * x)),
    _table("gelu_apprx_sigmoid_dx", lambda x: _sigmoid_product_dx(x, 1.702)),
    _table("softplus", _softplus),
    _table("mish", lambda x: x * np.tanh(_softplus(x))),
    _table("erf", _erf),
    _table("erf_dx", lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x)),
    _table("sin", np.sin, domain=(-math.pi, math.pi)),
    _table("arctan", np.arctan, domain=(-math.pi / 2, math.pi / 2)),
    Function("cos", np.cos),
    Function("tan", np.tan),
    Function("ceil", np.ceil),
    Function("floor", np.floor),
    Function("trunc", np.trunc),
    Function("negative", np.negative),
)  # fmt: skip

FUNCTIONS: dict[str, Function] = {function.name: function for function in _FUNCTIONS}

EVERYWHERE = {
    name: replace(function, domain=None)
    for name, function in FUNCTIONS.items()
    if function.domain is not None
}
"""What `nl.sin(x)` and its like compute: documents give them no domain, and say that more instructions bring
the argument of a sine into that of the table."""

BYPASS = Function("bypass", lambda x: x)
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
