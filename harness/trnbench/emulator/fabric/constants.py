"""What the ends and the protocol cost: `[fabric]` of a cost table, each number with its points.

A generation without the table is taken as ideal: full rates, no start, no overhead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from trnbench.errors import FactError


class Threshold(msgspec.Struct, frozen=True):
    """`algorithm` is taken below `max_bytes` of the full buffer."""

    algorithm: str
    max_bytes: float


class Constants(msgspec.Struct, frozen=True, kw_only=True):
    """Shares are of the documented bandwidth, times in seconds.

    `gather_start` and `reduce_start` are charged once per collective that gathers or moves, and per
    one that reduces; an all-reduce does both. `step` is charged per step. `network_in_flight` messages
    follow each other over EFA before the first is acknowledged, so that a step sees its share of the
    latency. `stream` is what one rank sends to another of the same device while nobody else does, in
    bytes/s (0: what its DMA engines carry). `auto` holds the thresholds of the documents, in order.
    """

    hbm_efficiency: float = 1.0
    efa_efficiency: float = 1.0
    gather_start: float = 0.0
    reduce_start: float = 0.0
    step: float = 0.0
    network_in_flight: float = 1.0
    stream: float = 0.0
    auto: tuple[Threshold, ...] = ()
    points: dict[str, tuple[str, ...]] = {}  # constant → published points it was fitted to
    source: str = ""  # of the thresholds


_SHARES = ("hbm_efficiency", "efa_efficiency")
_TIMES = ("gather_start", "reduce_start", "step")
_UNITS = {**dict.fromkeys(_TIMES, 1e-6), "stream": 1e9}
IDEAL = Constants()


def constants_of(costs: Mapping[str, Any]) -> Constants:
    """Reads `[fabric]` and the thresholds of `[collectives]`. Raises FactError for what makes no sense."""
    table = costs.get("fabric", {})
    values: dict[str, float] = {}
    points: dict[str, tuple[str, ...]] = {}
    for name in (*_SHARES, *_TIMES, "network_in_flight", "stream"):
        key = f"{name}_us" if name in _TIMES else f"{name}_bytes_per_ns" if name == "stream" else name
        row = table.get(key)
        if row is None:
            continue
        value = float(row["value"])
        if (
            value < 0
            or (name in _SHARES and not 0 < value <= 1)
            or (name == "network_in_flight" and value < 1)
        ):
            raise FactError(
                f"[fabric.{key}] of the cost table: {value:g} makes no sense",
                cause="shares lie above 0 and up to 1, times are not negative, messages are 1 or more",
                try_="correct the value in costs.toml",
            )
        values[name] = value * _UNITS.get(name, 1.0)
        points[name] = tuple(row.get("points", ()))
    collectives = costs.get("collectives", {})
    auto = table.get("auto") or [
        {"algorithm": name, "max_bytes": row.get("max_bytes", float("inf"))}
        for name, row in collectives.items()
        if isinstance(row, dict) and {"max_bytes", "min_bytes"} & set(row)
    ]
    order = sorted(
        (Threshold(row["algorithm"], float(row.get("max_bytes", float("inf")))) for row in auto),
        key=lambda each: each.max_bytes,
    )
    source = str(table.get("auto_source") or collectives.get("source", ""))
    return Constants(**values, auto=tuple(order), points=points, source=source)
