"""What a run says first: one line for each question and machine, the same words wherever it is printed."""

from __future__ import annotations

from trnbench.run.headline.line import Cause, Line, Promised, Sweep
from trnbench.run.headline.lines import Headline, headline

__all__ = ["Cause", "Headline", "Line", "Promised", "Sweep", "headline"]
