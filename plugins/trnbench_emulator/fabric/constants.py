"""What the ends and the protocol cost: `[fabric]` of a cost table, each number with its points.

A generation without the table is taken as ideal: full rates, no start, no overhead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from trnbench.errors import FactError
from trnbench_emulator.fabric.algorithms.algorithm import ALL_REDUCE, REDUCE, REDUCE_SCATTER
from trnbench_emulator.fabric.rule import Rule, rules_of
from trnbench_emulator.fabric.schedule import Schedule

NCCOM, GRAPH = "nccom", "graph"
CONTEXTS = (NCCOM, GRAPH)
"""A collective alone, as nccom-test measures it, and inside a compiled graph."""


class Assumed(msgspec.Struct, frozen=True):
    """A value that no published point gives, in base units, and its range."""

    value: float
    low: float
    high: float
    reason: str


class Constants(msgspec.Struct, frozen=True, kw_only=True):
    """Shares are of the documented bandwidth, times in seconds.

    `gather_start` and `reduce_start` are charged once per collective that gathers or moves, and per
    one that reduces; an all-reduce does both. `step` is charged per step. `network_in_flight` messages
    follow each other over EFA before the first is acknowledged, so that a step sees its share of the
    latency. `stream` is what one rank sends to another of the same device while nobody else does, in
    bytes/s (0: what its DMA engines carry). `rules`: what the runtime was observed to take. `assumed` are
    the starts that no point was fitted to, each with its range in seconds.
    """

    hbm_efficiency: float = 1.0
    efa_efficiency: float = 1.0
    gather_start: float = 0.0
    reduce_start: float = 0.0
    step: float = 0.0
    network_in_flight: float = 1.0
    stream: float = 0.0
    rules: tuple[Rule, ...] = ()
    points: dict[str, tuple[str, ...]] = {}  # constant → published points it was fitted to
    assumed: dict[str, Assumed] = {}

    def charged(self, schedule: Schedule, collective: str) -> Schedule:
        """With what the ends are paid beside the links: a start per collective, a share per step."""
        reduces = collective in (ALL_REDUCE, REDUCE_SCATTER, REDUCE)
        gathers = collective not in (REDUCE_SCATTER, REDUCE)
        start = self.reduce_start * reduces + self.gather_start * gathers
        return msgspec.structs.replace(schedule, startup_s=start, per_message_s=self.step)


_SHARES = ("hbm_efficiency", "efa_efficiency")
_TIMES = ("gather_start", "reduce_start", "step")
_UNITS = {**dict.fromkeys(_TIMES, 1e-6), "stream": 1e9}
IDEAL = Constants()


def constants_of(costs: Mapping[str, Any], context: str = NCCOM) -> Constants:
    """Reads `[fabric]`; inside a compiled graph the rows of `[fabric.graph]` stand for those of their name.

    Raises FactError for what makes no sense.
    """
    table = costs.get("fabric", {})
    own = table.get(context, {})
    values: dict[str, float] = {}
    points: dict[str, tuple[str, ...]] = {}
    assumed: dict[str, Assumed] = {}
    for name in (*_SHARES, *_TIMES, "network_in_flight", "stream"):
        key = f"{name}_us" if name in _TIMES else f"{name}_bytes_per_ns" if name == "stream" else name
        row = own.get(key, table.get(key))
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
        unit = _UNITS.get(name, 1.0)
        values[name] = value * unit
        points[name] = tuple(row.get("points", ()))
        if "low" in row:
            low, high = float(row["low"]) * unit, float(row["high"]) * unit
            assumed[name] = Assumed(value * unit, low, high, str(row.get("note", "")))
    rules = rules_of(table.get("rules", ()))
    return Constants(**values, rules=rules, points=points, assumed=assumed)
