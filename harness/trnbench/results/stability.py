"""Whether samples tell one time."""

from __future__ import annotations

import msgspec


class Stability(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether the samples tell one time, and what to do when they do not."""

    verdict: str  # "stable", "noisy" or "unstable"
    why: str = ""
    advice: str = ""
