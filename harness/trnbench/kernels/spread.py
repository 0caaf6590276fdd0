"""How a kernel lies on a machine larger than one core."""

from __future__ import annotations

from enum import Enum


class Spread(str, Enum):
    """What takes part, and whether it works alone or together.

    Independent problems scale weakly: every core (or device) has one of its own, of the size that
    the point states, so that a system's rate can be held against the system's figure.
    """

    CORES = "cores"  # each core a problem of its own
    SHARED = "shared"  # the cores of a logical core or a device share one: a launch of as many programs
    DEVICES = "devices"  # each device a problem of its own: copies between host and device
    PAIR = "pair"  # two devices with each other
    TOGETHER = "together"  # all devices with each other, one rank each

    def __str__(self) -> str:
        return self.value

    @property
    def linked(self) -> bool:
        """Whether devices talk to each other."""
        return self in (Spread.PAIR, Spread.TOGETHER)
