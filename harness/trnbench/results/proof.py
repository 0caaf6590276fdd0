"""Why a measured number can be believed: each field is the answer to a known way of being fooled."""

from __future__ import annotations

import msgspec

from trnbench.facts.units import show

GROWTH_LEAST = 0.25
"""Of the work that was added, at least this share has to be seen in the time."""

COUNTERS_WITHIN = 0.05
"""How far what the device counted may lie from what the formula counts."""


class Growth(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two amounts of the same work and their times; `floor_s` is what a call without work takes."""

    work_ratio: float
    time_s: float  # of the whole work
    less_s: float  # of `work_ratio` times less of it
    floor_s: float = 0.0

    @property
    def time_ratio(self) -> float:
        """Both times without what starting a call takes."""
        less = self.less_s - self.floor_s
        return (self.time_s - self.floor_s) / less if less > 0.0 else float("inf")

    @property
    def hidden(self) -> bool:
        """Whether the time is that of starting a call, so that no growth could be seen."""
        return self.time_s <= 3.0 * self.floor_s

    @property
    def flat(self) -> bool:
        """Whether the time did not grow with the work, though it had to."""
        return not self.hidden and (self.time_ratio - 1.0) < GROWTH_LEAST * (self.work_ratio - 1.0)

    def __str__(self) -> str:
        took = self.time_s / self.less_s if self.less_s > 0.0 else float("inf")
        words = f"{self.work_ratio:.3g} times the work took {took:.3g} times as long"
        return f"{words} (a call without work takes as long)" if self.hidden else words


class Clocks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One call by two clocks; `floor_s` is what the host takes for a call without work."""

    host_s: float
    device_s: float
    floor_s: float = 0.0

    @property
    def apart(self) -> str:
        """Empty, or how the two contradict each other."""
        host, device = show(self.host_s, "s"), show(self.device_s, "s")
        if self.device_s > 1.05 * self.host_s:
            return f"the device's clock tells of {device} while the host's went {host}: not of this call"
        left = self.host_s - self.floor_s
        if self.host_s > 3.0 * self.floor_s and left > 2.0 * self.device_s:
            return (
                f"the device's clock saw {device} of the {host} that the host waited: most likely the work "
                "ran where that clock does not look (another stream)"
            )
        return ""


class Proof(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Empty fields are missing evidence."""

    device: str = ""  # how the device named itself
    completion: str = ""  # how the end of the work was awaited inside the timed region
    output: str = ""  # what the output was held against
    growth: Growth | None = None
    counted: dict[str, float] = {}  # by the device, where it has counters
    clocks: Clocks | None = None  # where the device has one of its own
    contradicted: tuple[str, ...] = ()  # what the machine said of itself meanwhile that speaks against it
    backlog: tuple[str, ...] = ()  # that the calls returned before their work was done

    def missing(self) -> tuple[str, ...]:
        """What a number cannot be without."""
        wanted = {
            "which device it was, told by the device itself": self.device,
            "how the end of the work was awaited": self.completion,
            "what the output was held against": self.output,
        }
        return tuple(what for what, found in wanted.items() if not found)

    def doubts(self, asked: dict[str, float]) -> tuple[str, ...]:
        """Why a number that has all it cannot be without is still not to be believed, whatever the machine
        did meanwhile."""
        reasons = [] if self.growth is not None else ["nobody looked whether the time grows with the work"]
        reasons += self.contradicted
        for name, counted in self.counted.items():
            wanted = asked.get(name)
            if wanted and abs(counted / wanted - 1.0) > COUNTERS_WITHIN:
                reasons.append(
                    f"the device counted {counted:.4g} {name}, the formula {wanted:.4g}: "
                    "work was left out, or done more than once"
                )
        return tuple(reasons)

    def doubts_of_time(self) -> tuple[str, ...]:
        """The same, from times held against each other: on a busy machine they say nothing."""
        reasons = []
        if self.growth is not None and self.growth.flat:
            reasons.append(
                f"the time does not grow with the work: {self.growth}; most likely the timer stopped "
                "before the work was done, or the work was optimised away"
            )
        if self.clocks is not None and self.clocks.apart:
            reasons.append(self.clocks.apart)
        return (*reasons, *self.backlog)
