"""The address of a figure on the page: what a click on a number opens."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from trnbench import Measurement

SHARE, PEAK, SINCE, CLOCK = "share", "peak", "since", "clock"
EXPECT, PUBLISHED, LOSS, BUSY, TIME = "expect", "published", "loss", "busy", "time_s"
"""Parts of an explanation that are no metric of the case."""

_PLAIN = ":@,[]"
"""Stand for themselves in a fragment; all else that is no letter or digit is written in per cent."""


def figure_of(index: int, measurement: Measurement, metric: str = "") -> str:
    """`case=trn2-16.48xlarge::gemm[dtype%3Dbf16]@core&metric=share`: without the `#`.

    `index` is the run's on its page; `metric` a metric of the case or a part, its primary metric where empty.
    """
    return figure_by_id(index, measurement.id, metric or measurement.primary)


def figure_by_id(index: int, case_id: str, metric: str) -> str:
    """`figure_of` a case by its id."""
    # Lone surrogates cannot be encoded; the embedded data have them as the same replacement.
    known = case_id.encode("utf-8", "replace").decode()
    run = f"&run={index}" if index else ""
    return f"case={quote(known, safe=_PLAIN)}&metric={quote(metric, safe='')}{run}"
