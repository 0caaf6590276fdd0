"""Errors of a time, e = ln(model / published), as people read them."""

from __future__ import annotations

import math

NOTHING = "–"
"""Where there is no number."""
_TWICE = math.log(2)


def size_text(e: float) -> str:
    """The size of an error, which way it may be: `15 %` is a factor of 1.15 either way."""
    return _percent(math.expm1(abs(e)))


def signed_text(e: float) -> str:
    """The model's time beside the published: `+302 %`, `−35 %` (a true minus), `÷2.7` below a half.

    What rounds to nothing has no sign.
    """
    if e <= -_TWICE:
        return f"÷{_factor(-e)}"
    text = _percent(abs(math.expm1(e)))
    return text if text == "0.0 %" else ("+" if e > 0 else "−") + text


def factor_text(e: float) -> str:
    """`×6.4`: how many times the published time the model's is."""
    return f"×{_factor(e)}"


def _percent(fraction: float) -> str:
    """Two significant digits below 10 %, none behind the point above."""
    percent = fraction * 100
    return f"{percent:,.0f} %" if percent >= 9.95 else f"{percent:.1f} %"


def _factor(e: float) -> str:
    factor = math.exp(e)
    return f"{factor:,.0f}" if factor >= 9.95 else f"{factor:.1f}" if factor >= 1.095 else f"{factor:.2f}"
