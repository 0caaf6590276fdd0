"""What a rank says of itself when it comes."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trnbench.kernels.case import Case
from trnbench.run.attempt import Attempts
from trnbench.version import VERSION


def hello(attempts: Attempts, cases: Sequence[Case]) -> dict[str, Any]:
    """JSON-safe. `machine` is the same for ranks of one machine, and names none."""
    settings = (attempts.timeout_s, attempts.seed, str(attempts.judge.policy))
    return {
        "trnbench": VERSION,
        "backend": attempts.backend.name,
        "instance": attempts.backend.detect().instance,
        "cases": _digest("\n".join(each.id for each in cases)),
        "settings": _digest(repr(settings)),
        "machine": _digest(_boot() + platform.node()),
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        return ""
