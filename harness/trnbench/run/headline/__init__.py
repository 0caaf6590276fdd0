"""What a run says first: one line for each question and machine, the same words wherever it is printed."""

from __future__ import annotations

from trnbench.run.headline.axes import axis_text
from trnbench.run.headline.cards import Card as HeadlineCard
from trnbench.run.headline.cards import Row as HeadlineRow
from trnbench.run.headline.line import Cause, Line, PerCore, Promised, Sweep
from trnbench.run.headline.line import Line as HeadlineLine
from trnbench.run.headline.lines import Headline, headline
from trnbench.run.headline.promised import superseding

__all__ = [
    "Cause",
    "Headline",
    "HeadlineCard",
    "HeadlineLine",
    "HeadlineRow",
    "Line",
    "PerCore",
    "Promised",
    "Sweep",
    "axis_text",
    "headline",
    "superseding",
]
