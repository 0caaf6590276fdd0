"""+ - * / and comparisons of tiles and numbers: each an instruction."""

from __future__ import annotations

from typing import Any

from trnbench_emulator.nki.beta1.calls import CALLS


class Arithmetic:
    """The operators of a tile."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return _operate("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _operate("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _operate("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _operate("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return _operate("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _operate("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _operate("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _operate("divide", other, self)

    def __neg__(self) -> Any:
        return _operate("multiply", self, -1.0)

    def __lt__(self, other: Any) -> Any:
        return _operate("less", self, other)

    def __le__(self, other: Any) -> Any:
        return _operate("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return _operate("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return _operate("greater_equal", self, other)


def _operate(name: str, left: Any, right: Any) -> Any:
    return CALLS.apply(name, (left, right))
