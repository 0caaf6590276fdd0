"""What a collective costs, and where the time goes."""

from __future__ import annotations

from typing import Any

import msgspec


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """What no algorithm can beat: bytes that must leave or enter a device over all its links, and one
    message to the farthest rank. `formula` names both; the larger counts.
    """

    latency_s: float
    bandwidth_s: float
    formula: str

    @property
    def time_s(self) -> float:
        return max(self.latency_s, self.bandwidth_s)


class LinkLoad(msgspec.Struct, frozen=True, kw_only=True):
    """`utilisation`: bytes over what the link could have carried in the whole time."""

    src: str
    dst: str
    cls: str
    bytes: float
    utilisation: float


class Waterfall(msgspec.Struct, frozen=True, kw_only=True):
    """Picoseconds that add up to the total exactly.

    `ideal`: the bandwidth bound; `algorithm`: bytes beyond it, and links that the algorithm leaves idle;
    `contention`: flows that share links; `latency`: hops on the way; `endpoint`: memory accesses, start
    and steps.
    """

    ideal: int
    algorithm: int
    contention: int
    latency: int
    endpoint: int

    @property
    def total(self) -> int:
        return self.ideal + self.algorithm + self.contention + self.latency + self.endpoint


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """`size` in bytes as `collective` defines it; bandwidths in bytes/s; `busbw` by `factor`.

    `algorithm` is what ran, `asked` what was asked for; `tried` the seconds of all that `best` tried,
    `left_out` why it did not try others that it might have.
    `links` is only there when asked for. `level` says what a rank is, `context` whether it ran alone or in a
    compiled graph, `choice` by what right `auto` took the algorithm.
    """

    collective: str
    algorithm: str
    asked: str
    ranks: int
    size: float
    time_s: float
    factor: float
    bound: Bound
    waterfall: Waterfall
    link_s: float
    latency_s: float
    memory_s: float
    overhead_s: float
    hottest: tuple[LinkLoad, ...] = ()
    links: tuple[LinkLoad, ...] = ()
    tried: dict[str, float] = {}
    left_out: dict[str, str] = {}
    memory_bytes: float = 0.0  # accesses of one device
    notes: tuple[str, ...] = ()
    way: str = ""
    level: str = "device"
    context: str = "nccom"
    choice: str = ""

    @property
    def algbw(self) -> float:
        return self.size / self.time_s if self.time_s else 0.0

    @property
    def busbw(self) -> float:
        """algbw · factor (nccl-tests' performance notes), in bytes/s: true GB/s after division by 1e9."""
        return self.algbw * self.factor

    def detail(self) -> dict[str, Any]:
        """Small and JSON-safe: the waterfall in seconds, the hottest links, what was tried."""
        fields = ("ideal", "algorithm", "contention", "latency", "endpoint")
        found: dict[str, Any] = {
            "waterfall_s": {name: getattr(self.waterfall, name) / 1e12 for name in fields},
            "bound_s": self.bound.time_s,
            "hottest_links": [
                [f"{each.src} > {each.dst}", each.bytes, round(each.utilisation, 4)] for each in self.hottest
            ],
        }
        if self.tried:
            found["tried_s"] = self.tried
        if self.left_out:
            found["not_tried"] = self.left_out
        return found
