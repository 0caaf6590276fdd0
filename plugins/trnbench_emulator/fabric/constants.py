"""What the ends and the protocol cost: `[fabric]` of a cost table, each number with its points.

A generation without the table is taken as ideal: full rates, no start, no overhead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import msgspec
from msgspec.structs import replace

from trnbench.errors import FactError
from trnbench.record import Record
from trnbench_emulator.fabric.algorithms.algorithm import ALL_REDUCE, REDUCE, REDUCE_SCATTER
from trnbench_emulator.fabric.schedule import Schedule


class Threshold(Record):
    """`algorithm` is taken below `below_bytes` of the full buffer."""

    algorithm: str
    below_bytes: float = inf


class Rule(Record, kw_only=True):
    """What was observed: on a generation, in a context, for these collectives of so many ranks (cores,
    logical or physical) of so many instances. `points` are published; `*` at the end stands for many.
    `source` names a document that says the same, "" where none does; `why` says what was seen.
    """

    generation: str
    context: str
    collectives: tuple[str, ...]
    ranks: tuple[int, ...]
    instances: int
    take: tuple[Threshold, ...]
    why: str
    points: tuple[str, ...]
    source: str = ""

    def taken(self, size: float) -> str:
        """The algorithm for `size` bytes."""
        return next(each.algorithm for each in self.take if size < each.below_bytes)

    @property
    def sentence(self) -> str:
        """`mesh below 1 MB, rdh below 56 MB, kangaring above (cc-intra; …)`."""
        steps = ", ".join(
            f"{each.algorithm} below {each.below_bytes / 1e6:g} MB"
            if each.below_bytes != inf
            else f"{each.algorithm}{' above' if len(self.take) > 1 else ''}"
            for each in self.take
        )
        said = ": ".join(filter(None, (self.source, self.why)))
        return f"{steps} ({said}; observed: {', '.join(self.points)})"


def rules_of(rows: Sequence[Mapping[str, Any]]) -> tuple[Rule, ...]:
    """`[[fabric.rules]]` of a cost table. Raises FactError for a row that lacks something."""
    rules = []
    for number, row in enumerate(rows):
        try:
            rule = msgspec.convert(row, Rule, strict=True)
        except msgspec.ValidationError as error:
            raise FactError(
                f"[[fabric.rules]] number {number + 1} of the cost table cannot be read: {error}",
                cause="a rule names generation, context, collectives, ranks, instances, take, source, points",
                try_="correct the row in costs.toml",
            ) from None
        take = tuple(sorted(rule.take, key=lambda each: each.below_bytes))
        if not take or take[-1].below_bytes != inf:
            raise FactError(
                f"[[fabric.rules]] number {number + 1} of the cost table names nothing for large messages",
                cause="the last algorithm of take has no below_bytes",
                try_="correct the row in costs.toml",
            )
        rules.append(replace(rule, take=take))
    return tuple(rules)


NCCOM, GRAPH = "nccom", "graph"
CONTEXTS = (NCCOM, GRAPH)
"""A collective alone, as nccom-test measures it, and inside a compiled graph."""


class Ranged(Record, kw_only=True):
    """A value that published evidence gives no closer than a range; `path` leads to its row of the costs."""

    value: float
    low: float
    high: float
    path: tuple[str, ...]
    reason: str


class Constants(Record, kw_only=True):
    """Shares are of the documented bandwidth, times in seconds.

    `gather_start` and `reduce_start` are charged once per collective that gathers or moves, and per
    one that reduces; an all-reduce does both. `step` is charged per step. `network_in_flight` messages
    follow each other over EFA before the first is acknowledged, so that a step sees its share of the
    latency. `stream` is what one rank sends to another of the same device where no bytes leave a device, in
    bytes/s (0: what its DMA engines carry). `rules`: what the runtime was observed to take.

    Inside a compiled graph both starts are `start_share` of those alone, and what a collective takes beside
    its start is longer by `residue` of it: what published steps leave unexplained. `ranged` has the two.
    """

    hbm_efficiency: float = 1.0
    efa_efficiency: float = 1.0
    gather_start: float = 0.0
    reduce_start: float = 0.0
    step: float = 0.0
    network_in_flight: float = 1.0
    stream: float = 0.0
    start_share: float = 1.0
    residue: float = 0.0
    rules: tuple[Rule, ...] = ()
    points: dict[str, tuple[str, ...]] = {}  # constant → published points it was fitted to
    ranged: dict[str, Ranged] = {}

    def charged(self, schedule: Schedule, collective: str) -> Schedule:
        """With what the ends are paid beside the links: a start per collective, a share per step."""
        reduces = collective in (ALL_REDUCE, REDUCE_SCATTER, REDUCE)
        gathers = collective not in (REDUCE_SCATTER, REDUCE)
        start = self.reduce_start * reduces + self.gather_start * gathers
        return replace(schedule, startup_s=start * self.start_share, per_message_s=self.step)

    def residue_s(self, solved_s: float, start_s: float) -> float:
        """What is added to a collective solved in `solved_s`, `start_s` of which are its start."""
        return (solved_s - start_s) * self.residue

    def range_s(self, solved_s: float, start_s: float) -> tuple[float, float]:
        """Its seconds at both ends of what is known no closer than a range."""
        share, residue = (self.ranged.get(name) for name in (START_SHARE, RESIDUE))
        low = high = start_s
        if share is not None and self.start_share:
            low, high = (start_s * end / self.start_share for end in (share.low, share.high))
        least, most = (residue.low, residue.high) if residue is not None else (0.0, 0.0)
        moving_s = solved_s - start_s
        return low + moving_s * (1.0 + least), high + moving_s * (1.0 + most)


_SHARES = ("hbm_efficiency", "efa_efficiency")
_TIMES = ("gather_start", "reduce_start", "step")
_UNITS = {**dict.fromkeys(_TIMES, 1e-6), "stream": 1e9}
START_SHARE, RESIDUE = "start_share", "residue"
_GRAPH = {START_SHARE: ("fabric", "graph", START_SHARE), RESIDUE: ("step", "collective_residue")}
"""Where the costs have what is known of collectives in a graph; the residue is fitted with whole steps."""
IDEAL = Constants()


def constants_of(costs: Mapping[str, Any], context: str = NCCOM) -> Constants:
    """Reads `[fabric]`, and of a compiled graph what is known of collectives in one.

    Raises FactError for what makes no sense.
    """
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
    ranged = _in_a_graph(costs) if context == GRAPH else {}
    values |= {name: each.value for name, each in ranged.items()}
    return Constants(**values, rules=rules_of(table.get("rules", ())), points=points, ranged=ranged)


def _in_a_graph(costs: Mapping[str, Any]) -> dict[str, Ranged]:
    """What only published graphs say, by name."""
    ranged: dict[str, Ranged] = {}
    for name, path in _GRAPH.items():
        row: Any = costs
        for key in path:
            row = row.get(key, {})
        if not row:
            continue
        value, low, high = (float(row[end]) for end in ("value", "low", "high"))
        if not 0 <= low <= value <= high:
            raise FactError(
                f"[{'.'.join(path)}] of the cost table: {low:g} ≤ {value:g} ≤ {high:g} makes no sense",
                cause="a value lies in its range, and none of them below 0",
                try_="correct the row",
            )
        reason = str(row.get("note", row.get("method", "")))
        ranged[name] = Ranged(value=value, low=low, high=high, path=path, reason=reason)
    return ranged
