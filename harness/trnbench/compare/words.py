"""A change in words and figures that people read."""

from __future__ import annotations

from trnbench.compare.change import Change


def interval_text(each: Change) -> str:
    """`+1.2 to +3.4 %`, `exact` for a model; "" where there is none."""
    if each.interval is None:
        return "exact" if each.exact else ""
    low, high = (signed_percent(end).removesuffix(" %") for end in (each.interval.low, each.interval.high))
    return f"{low} to {high} %"


def signed_percent(effect: float) -> str:
    """`+5.0 %`, `−0.03 %`: as many digits as tell it from nothing."""
    share = 100.0 * effect
    if not share:
        return "0 %"
    size = round(abs(share), 6)  # 0.09999999 is 0.1
    digits = 1 if size >= 0.1 else 2 if size >= 0.01 else 3
    text = f"{size:,.0f}" if size >= 1000 else f"{size:.{digits}f}"
    if not text.strip("0."):
        text = "<0.001"
    return f"{'+' if share > 0 else '−'}{text} %"
