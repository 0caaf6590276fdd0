"""How a time with its band stands to a limit."""

from __future__ import annotations

from enum import Enum

import msgspec

from trnbench.results.nearness import Nearest


class Within(str, Enum):
    """Whether a limit is kept, the surest first."""

    SURELY = "surely"  # the upper end of the band keeps it
    MAYBE = "maybe"  # the modelled time keeps it, the upper end does not
    HARDLY = "hardly"  # the lower end alone does
    UNKNOWN = "unknown"  # the modelled time keeps it, and has no band

    def __str__(self) -> str:
        return self.value

    @property
    def place(self) -> int:
        return list(Within).index(self)


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that are modelled, and the ends of what that lets one expect (0: no band)."""

    time_s: float
    low_s: float = 0.0
    high_s: float = 0.0

    @classmethod
    def of(cls, time_s: float, nearest: Nearest, least_s: float) -> Expected:
        """By the band of `nearest`; no less than `least_s`."""
        if nearest.band is None:
            return cls(time_s=time_s)
        low, high = nearest.band.times(time_s, least_s)
        return cls(time_s=time_s, low_s=low, high_s=high)

    @property
    def banded(self) -> bool:
        return self.high_s > 0

    def plus(self, other: Expected, times: float = 1.0) -> Expected:
        """Both, the other `times` over; without a band where one has none. Both are off alike."""
        banded = self.banded and other.banded
        return Expected(
            time_s=self.time_s + times * other.time_s,
            low_s=self.low_s + times * other.low_s if banded else 0.0,
            high_s=self.high_s + times * other.high_s if banded else 0.0,
        )

    def times(self, factor: float) -> Expected:
        return Expected(time_s=self.time_s * factor, low_s=self.low_s * factor, high_s=self.high_s * factor)

    def within(self, limit_s: float) -> Within | None:
        """None where the limit is not kept: by the lower end of the band, or without one by the time."""
        if not limit_s:
            return Within.SURELY
        if not self.banded:
            return Within.UNKNOWN if self.time_s <= limit_s else None
        for end, verdict in (
            (self.high_s, Within.SURELY),
            (self.time_s, Within.MAYBE),
            (self.low_s, Within.HARDLY),
        ):
            if end <= limit_s:
                return verdict
        return None
