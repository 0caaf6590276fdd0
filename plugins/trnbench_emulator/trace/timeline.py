"""What a viewer shows of an emulation: slices on tracks, arrows between them, curves below.

Times are picoseconds since the launch, whole numbers as everywhere in the emulator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec


class Slice(msgspec.Struct, frozen=True):
    """One instruction, transfer or wait. `process` is the core; `track` an engine or a queue of it."""

    process: int
    track: str
    name: str
    start: int
    duration: int
    args: Mapping[str, Any] = {}


class Flow(msgspec.Struct, frozen=True):
    """A dependency: `target` could not start before `source` had ended. Both index `Timeline.slices`."""

    source: int
    target: int
    why: str = "dependency"


class Counter(msgspec.Struct, frozen=True):
    """A curve: (time, value), in order of time."""

    process: int
    name: str
    unit: str
    samples: Sequence[tuple[int, float]]


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """`processes`: the name of each core. `tracks`: those to show first and in which order.

    `missing` says in words what the emulation did not keep, "" where it kept everything.
    """

    processes: Mapping[int, str]
    slices: Sequence[Slice]
    tracks: Sequence[str] = ()
    flows: Sequence[Flow] = ()
    counters: Sequence[Counter] = ()
    missing: str = ""
