"""Logarithmic axes as people label them."""

from __future__ import annotations

import math
from typing import Any

from trnbench_reports import numbers


def log_axis(title: str, low: float, high: float, unit: str = "", *, base: int = 10) -> dict[str, Any]:
    """Axis and scale of an encoding: a tick for each decade (or each few powers of two), labelled by us.

    The labels are written here, not by a format expression, so that prefixes are those of the page.
    """
    first, last = math.floor(math.log(low, base)), math.ceil(math.log(high, base))
    step = max(1, math.ceil((last - first) / 8))
    ticks = [float(base) ** power for power in range(first, last + 1, step) if low <= base**power <= high]
    labels = ", ".join(f"'{numbers.show(tick, unit).replace(numbers.NBSP, ' ')}'" for tick in ticks)
    return {
        "type": "quantitative",
        "scale": {"type": "log", "domain": [low, high], "nice": False, "base": base},
        "axis": {
            "title": title,
            "values": ticks,
            "labelExpr": f"[{labels}][round(datum.index * {max(len(ticks) - 1, 1)})]",
            "grid": True,
            "labelOverlap": True,
        },
    }
