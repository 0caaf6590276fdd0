"""A kernel's values against those of a NumPy function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trnbench.errors import KernelError
from trnbench.record import Record
from trnbench_emulator.nki import site
from trnbench_emulator.nki.dtype import Array, Sizes

TOLERANCES = {
    "float32": 1e-5,
    "tfloat32": 4e-3,
    "float16": 4e-3,
    "bfloat16": 3e-2,
    "float8_e4m3": 0.25,
    "float8_e4m3fn": 0.25,
    "float8_e5m2": 0.5,
}
"""Of the largest value of an output: four units in the last place of its coarsest data type, more for
fp32, whose sums add up in another order. Integers have to be equal."""


class Agreement(Record, kw_only=True):
    """One output against the reference. `error` is the largest difference, `scale` the largest value."""

    output: int
    shape: Sizes
    dtype: str
    error: float
    scale: float
    tolerance: float  # times `scale`
    wrong: int  # elements beyond it, or NaN in one of the two alone
    elements: int
    where: tuple[int, ...] = ()  # of the largest difference

    @property
    def ok(self) -> bool:
        return self.wrong == 0


def call(function: Any, ref: str, arguments: Mapping[str, Any]) -> tuple[Array, ...]:
    """The reference's arrays. It gets the kernel's arguments in their order, floats as float32.

    Raises `KernelError` when it fails or returns something else.
    """
    arrays = [_wide(array) for array in arguments.values()]
    try:
        result = function(*arrays)
    except Exception as error:
        source_line = site.of_error(error.__traceback__.tb_next if error.__traceback__ else None)
        raise KernelError(
            f"reference {ref} failed: {type(error).__name__}: {error}"
            + (f" ({source_line})" if source_line else ""),
            cause="it gets the kernel's arguments in their order, as NumPy arrays",
        ) from error
    results = result if isinstance(result, tuple | list) else (result,)
    if not results or not all(isinstance(array, np.ndarray | np.generic | int | float) for array in results):
        raise KernelError(
            f"reference {ref} returns {type(result).__name__}, not arrays",
            cause="its result is compared with the kernel's outputs, one by one",
        )
    return tuple(np.asarray(array) for array in results)


def compare(
    outputs: Sequence[Array],
    dtypes: Sequence[str],
    wanted: Sequence[Array],
    inputs: Sequence[str],
    tolerance: float | None = None,
) -> tuple[Agreement, ...]:
    """Output by output. `dtypes` are those of the outputs, `inputs` those of the arguments: the
    coarsest of both sets the tolerance unless one is given. Raises `KernelError` for other shapes."""
    if not outputs:
        raise KernelError(
            "the kernel returns nothing that could be compared",
            cause="outputs are the tensors it returns",
            try_="return the tensor that was allocated with buffer=nl.shared_hbm",
        )
    if len(outputs) != len(wanted):
        raise KernelError(f"the kernel returns {len(outputs)} outputs, the reference {len(wanted)}")
    return tuple(
        _one(number, got, dtype, ref, inputs, tolerance)
        for number, (got, dtype, ref) in enumerate(zip(outputs, dtypes, wanted, strict=True))
    )


def _one(
    number: int,
    got: Array,
    dtype: str,
    wanted: Array,
    inputs: Sequence[str],
    tolerance: float | None,
) -> Agreement:

    if got.shape != wanted.shape:
        raise KernelError(
            f"output {number} has shape {list(got.shape)}, the reference {list(wanted.shape)}",
            cause="both have to be arrays of the same shape",
        )
    ours = np.asarray(got, np.float64)
    theirs = np.asarray(wanted, np.float64)
    limit = tolerance if tolerance is not None else _tolerance(dtype, inputs)
    finite = np.abs(theirs[np.isfinite(theirs)])
    scale = float(finite.max()) if finite.size else 0.0
    with np.errstate(invalid="ignore"):
        apart = np.abs(ours - theirs)
    equal = (np.isnan(ours) & np.isnan(theirs)) | (ours == theirs)
    apart = np.where(equal, 0.0, np.where(np.isfinite(apart), apart, np.inf))
    wrong = int((apart > limit * scale).sum())
    worst = int(apart.argmax()) if apart.size else 0
    position = tuple(int(i) for i in np.unravel_index(worst, apart.shape)) if apart.size else ()
    return Agreement(
        output=number,
        shape=got.shape,
        dtype=dtype,
        error=float(apart.flat[worst]) if apart.size else 0.0,
        scale=scale,
        tolerance=limit,
        wrong=wrong,
        elements=int(apart.size),
        where=position,
    )


def _tolerance(dtype: str, inputs: Sequence[str]) -> float:
    if dtype not in TOLERANCES:
        return 0.0
    return max(TOLERANCES.get(dtype_name, 0.0) for dtype_name in (dtype, *inputs))


def _wide(value: Any) -> Any:
    """float32 holds every value of the narrower floats, and NumPy computes with it."""
    if isinstance(value, np.ndarray) and value.dtype.kind not in "iub" and value.dtype != np.float64:
        return value.astype(np.float32)
    return value
