"""What merely runs a kernel's Python: stand-ins for `nl` and `nisa` that list names, shapes and types.

It has no values, no times, no rules and no dependencies: the least that executing a kernel can cost.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

Call = tuple[str, list[tuple[tuple[int, ...], Any]]]


class Counters:
    """What `nl.arange` and sums with it are, of two dimensions: a shape."""

    __slots__ = ("shape",)

    def __init__(self, *shape: int) -> None:
        self.shape = shape

    def __getitem__(self, index: Any) -> Counters:
        return Counters(1, *self.shape) if index[0] is None else Counters(*self.shape, 1)

    def __add__(self, other: Any) -> Counters:
        return self

    __radd__ = __mul__ = __rmul__ = __add__


class Tile:
    """A shape and a type; what slicing and calls of Beta 1 make of it."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype

    def __getitem__(self, index: Any) -> Tile:
        if type(index) is not tuple:
            index = (index,)
        shape = [
            (size if part.stop is None else part.stop) - (part.start or 0)
            for part, size in zip(index, self.shape, strict=False)
            if type(part) is slice
        ]
        if not shape and index and type(index[-1]) is Counters:
            rows, columns = (part.shape for part in index if type(part) is Counters)
            return Tile((rows[0], columns[1]), self.dtype)
        return Tile((*shape, *self.shape[len(index) :]), self.dtype)

    def __setitem__(self, index: Any, value: Any) -> None:
        pass

    def __iadd__(self, other: Any) -> Tile:  # into PSUM, in Beta 1
        return self


class Names(ModuleType):
    """`nl` or `nisa`: any name is a call that is listed, or stands for itself as an operation or a type."""

    def __init__(self, name: str, calls: list[Call], results: dict[str, Callable[..., Any]]) -> None:
        super().__init__(name)
        self.calls = calls
        self.results = results

    def __getattr__(self, name: str) -> Any:
        calls, result = self.calls, self.results.get(name)

        def called(*values: Any, **named: Any) -> Any:
            operands = [(v.shape, v.dtype) for v in (*values, *named.values()) if type(v) is Tile]
            calls.append((name, operands))
            return None if result is None else result(*values, **named)

        setattr(self, name, called)
        return called


def _new(shape: tuple[int, ...], *values: Any, dtype: Any = None, **_: Any) -> Tile:
    return Tile(shape, dtype or values[-1])


def _same(first: Tile, *_: Any, dtype: Any = None, **named: Any) -> Tile:
    return Tile(first.shape, dtype or first.dtype)


def _product(left: Tile, right: Tile, **_: Any) -> Tile:
    return Tile((left.shape[1], right.shape[1]), "float32")


def _column(operation: Any, data: Tile, **_: Any) -> Tile:
    return Tile((data.shape[0], 1), data.dtype)


_CREATED = dict.fromkeys(("ndarray", "zeros", "full"), _new)
_BETA1 = dict.fromkeys(("load", "copy", "activation", "tensor_scalar", "tensor_tensor"), _same) | {
    "nc_matmul": _product,
    "tensor_reduce": _column,
}


def traced(source: Path, name: str) -> tuple[Callable[..., Any], list[Call]]:
    """The kernel `name` of a file, bound to stand-ins, and the list that its calls go to."""
    text = source.read_text()
    calls: list[Call] = []
    results: dict[str, Callable[..., Any]] = _CREATED | (_BETA1 if "neuronxcc" in text else {})
    language, isa = (Names(module, calls, results) for module in ("language", "isa"))
    constants = {
        "arange": Counters, "affine_range": range, "sequential_range": range, "static_range": range,
        "par_dim": int,
        "tile_size": SimpleNamespace(pmax=128, gemm_stationary_fmax=128, gemm_moving_fmax=512),
    }  # fmt: skip
    vars(language).update(constants)
    engines = SimpleNamespace(tensor="tensor", vector="vector", scalar="scalar", gpsimd="gpsimd")
    versions = SimpleNamespace(gen2=2, gen3=3, gen4=4)
    vars(isa).update(get_nc_version=lambda: 3, nc_version=versions, engine=engines)
    package = ModuleType("nki")
    vars(package).update(isa=isa, language=language, jit=lambda function: function)
    outer = ModuleType("neuronxcc")
    vars(outer).update(nki=package)
    modules = {"nki": package, "nki.isa": isa, "nki.language": language, "neuronxcc": outer}
    modules |= {f"neuronxcc.{path}": module for path, module in modules.items() if path != "neuronxcc"}
    namespace: dict[str, Any] = {"__name__": "traced"}
    with mock.patch.dict(sys.modules, modules):
        exec(compile(text, str(source), "exec"), namespace)
    return namespace[name], calls
