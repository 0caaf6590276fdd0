"""What became of one case of a run."""

from __future__ import annotations

from typing import TypeAlias

from trnbench.results.measurement import Measurement

Outcome: TypeAlias = tuple[int, Measurement, bytes]
"""Its position in the plan, its measurement, and this as JSON, which a journal keeps."""
