"""What a number speaks of: one engine or the whole cluster. Numbers of two scopes never mix."""

from __future__ import annotations

from enum import Enum


class Scope(str, Enum):
    """From the smallest to the largest part of a system."""

    ENGINE = "engine"
    CORE = "core"  # one physical NeuronCore (or CPU core, or GPU SM's whole device: see plugin)
    LOGICAL_CORE = "logical-core"  # LNC=2: two physical cores programmed as one
    DEVICE = "device"  # one Trainium chip
    INSTANCE = "instance"  # what EC2 rents: host plus devices
    ULTRASERVER = "ultraserver"  # one scale-up domain of several servers
    CLUSTER = "cluster"  # many instances on a network

    rank: int
    """0 for the smallest."""

    def __init__(self, _value: str) -> None:
        self.rank = len(type(self).__members__)

    def __str__(self) -> str:
        return str(self.value)


class Direction(str, Enum):
    """How a link figure counts: documents seldom say, so "unstated" is a value of its own."""

    NONE = ""  # the metric has no direction
    ONE_WAY = "one-way"
    BOTH_WAYS = "both-ways"
    UNSTATED = "unstated"

    def __str__(self) -> str:
        return self.value
