"""Which figure a result is held against, and what the clocks allow."""

from __future__ import annotations

from trnbench.peaks.choose import choose_peak, scaled
from trnbench.peaks.engine import engine_bound, engine_rate

__all__ = ["choose_peak", "engine_bound", "engine_rate", "scaled"]
