"""Loops and the program grid."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from trnbench.errors import KernelError
from trnbench.nki import site
from trnbench.nki.recorder import current


def _range(call: str, start: int, stop: int | None, step: int) -> range:
    try:
        return range(start) if stop is None else range(start, stop, step)
    except (TypeError, ValueError) as error:
        raise KernelError(
            f"nl.{call}({start!r}{'' if stop is None else f', {stop!r}, {step!r}'}): {error} ({site.here()})",
            try_="use integers: (size + tile - 1) // tile, not size / tile",
        ) from None


def affine_range(start: int, stop: int | None = None, step: int = 1) -> range:
    """A loop whose rounds do not depend on each other. Carried out in order here."""
    return _range("affine_range", start, stop, step)


def sequential_range(start: int, stop: int | None = None, step: int = 1) -> range:
    """A loop whose rounds depend on each other."""
    return _range("sequential_range", start, stop, step)


def static_range(start: int, stop: int | None = None, step: int = 1) -> range:
    """A loop that is unrolled."""
    return _range("static_range", start, stop, step)


def ds(start: int, size: int) -> slice:
    """The slice of `size` elements from `start`."""
    return slice(start, start + size)


def program_id(axis: int = 0) -> int:
    """Index of this program: one program runs on one core."""
    current()
    if axis != 0:
        raise KernelError(f"nl.program_id({axis}): the grid has one dimension ({site.here()})")
    return 0


def num_programs(axes: int = 0) -> int:
    current()
    return 1


def program_ndim() -> int:
    current()
    return 0
