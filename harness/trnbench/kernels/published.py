"""What published measurements call the thing that a kernel does, so that the nearest one can be found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from trnbench.results.measurement import Value

Point: TypeAlias = Mapping[str, Value]
Sizes: TypeAlias = Mapping[str, float]
"""Axis, by the word that published shapes have for it → size."""


def _no_sizes(_: Point) -> Sizes:
    return {}


def _no_point(_: Mapping[str, Any]) -> Point | None:
    return None


class PublishedAs(msgspec.Struct, frozen=True, kw_only=True):
    """How published points speak of this kernel.

    - `group`: families of points that are evidence for it: "core" (kernels and products), "hbm", "dma",
      "instruction", "collective", "point-to-point", "host-copy". The last three are evidence inside an
      instance; whoever classifies a result sets those across a network or an UltraServer apart.
    - `operation(point)`: the word of published points for what is done: "gemm", "attention", "mamba".
    - `program(point)`: the name of the published thing that this very kernel stands for, "" where the
      published programs are others that do the same. A stream or an instruction is one program, whoever
      writes it; a matrix product is not.
    - `sizes(point)`: the axes as published shapes name them; an empty mapping where no size compares.
    - `point(shape)`: a published shape as a point whose work the kernel can count, None where it is not that
      kernel's; it turns a published time into a rate.
    """

    group: str = "core"
    operation: Callable[[Point], str]
    program: Callable[[Point], str] = lambda _: ""
    sizes: Callable[[Point], Sizes] = _no_sizes
    point: Callable[[Mapping[str, Any]], Point | None] = _no_point


def always(word: str) -> Callable[[Point], str]:
    """The same word at every point."""
    return lambda _: word


def renamed(axes: Mapping[str, str]) -> Callable[[Point], Sizes]:
    """`sizes` for published axis → axis of the kernel."""
    return lambda point: {theirs: float(point[ours]) for theirs, ours in axes.items()}


def read_back(axes: Mapping[str, str], **fixed: Value) -> Callable[[Mapping[str, Any]], Point | None]:
    """`point` for the same mapping: whole numbers only, and what published points take for granted."""

    def point(shape: Mapping[str, Any]) -> Point | None:
        found = {ours: shape.get(theirs) for theirs, ours in axes.items()}
        whole = all(isinstance(each, int) for each in found.values())
        return {**fixed, **found} if whole else None  # type: ignore[dict-item]

    return point
