"""The whole run as strict JSON: what trnbench itself reads back."""

from __future__ import annotations

from collections.abc import Sequence

import trnbench
from trnbench import Run


def write(runs: Sequence[Run]) -> bytes:
    """One run is an object, several are an array. Raises `BadInput` for what JSON cannot hold."""
    made = [trnbench.dumps(run) for run in runs]
    return (made[0] if len(made) == 1 else b"[" + b",\n".join(made) + b"]") + b"\n"
