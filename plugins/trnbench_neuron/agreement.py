"""Whether two results are the same but for rounding."""

from __future__ import annotations

from typing import Any

ROUNDINGS = 64
"""Units of round-off, of the result's own size, that an element may be off: sums have another order."""

# Unit round-off of what the result is stored in; for fp32 that of products of split operands.
UNIT = {"bfloat16": 2.0**-8, "float16": 2.0**-10, "float32": 2.0**-12}


def disagreement(want: Any, have: Any, dtype: str) -> str:
    """ "" or what differs. What is no finite number has to be the same one on both sides.

    Integers have no rounding: every one has to be the same.
    """
    import numpy as np

    if want.shape != have.shape:
        return f"shape {have.shape}, not {want.shape}"
    if dtype.startswith(("int", "uint")):
        differ = int((want != have).sum())
        return f"{differ:,} of {want.size:,} integers differ" if differ else ""
    finite = np.isfinite(want)
    if not (np.isfinite(have[finite]).all() and np.array_equal(want[~finite], have[~finite], equal_nan=True)):
        return "it is no finite number where it should be one, or the other way round"
    if not finite.any():
        return ""
    size = float(np.sqrt(np.mean(want[finite] ** 2))) or 1.0
    off = float(np.abs(want[finite] - have[finite]).max()) / size
    allowed = ROUNDINGS * UNIT.get(dtype, 2.0**-8)
    if off <= allowed:
        return ""
    return f"an element is {off:.3g} of its size off; rounding explains {allowed:.3g}"
