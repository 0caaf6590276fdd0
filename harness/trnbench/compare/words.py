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


def change_text(each: Change) -> str:
    """`+8.5 % (exact), slower`, `+1.0 % (−0.9 to +3.0 %), no difference shown`; "" where nothing is known."""
    if each.effect is None:
        return ""
    if each.exact and not each.effect:
        return "the same"
    interval = interval_text(each)
    shown = f"{signed_percent(each.effect)}{f' ({interval})' if interval else ''}"
    return f"{shown}, {each.verdict}" if each.verdict else shown
