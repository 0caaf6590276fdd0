"""The work a case asks for, counted from its formula."""

from __future__ import annotations

import msgspec


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """All counts are per unit of the case's scope (one core, one device, …).

    `flops`: operations of the tensor engine, floating-point or integer (a multiply-add is two).
    `engine_flops`: operations of the other engines ("vector", "scalar", "gpsimd"), elementary ones.
    `bytes`: by memory level: "hbm", "sbuf", "psum", "host"; and "payload", the full tensor that a
    collective is asked to move (what algbw divides by the time).
    `link_bytes`: what one rank must send over the links (the collective's lower bound); of the
    collective it is the busbw factor times the payload.
    `network_bytes`: what one host must send to other hosts, where a network joins them.
    `elements`, `instructions`: how many are worked on or issued, where a kernel is about those; `tokens` of a
    model's step.
    `formula`: how flops and bytes follow from the axes, for people.
    """

    flops: float = 0.0
    engine_flops: dict[str, float] = {}
    bytes: dict[str, float] = {}
    link_bytes: float = 0.0
    network_bytes: float = 0.0
    elements: float = 0.0
    instructions: float = 0.0
    tokens: float = 0.0
    formula: str = ""

    def as_counts(self) -> dict[str, float]:
        """Flat form for `Measurement.work`: flops, hbm_bytes, link_bytes, vector_flops, …"""
        counts: dict[str, float] = {}
        if self.flops:
            counts["flops"] = self.flops
        counts.update({f"{engine}_flops": n for engine, n in self.engine_flops.items()})
        counts.update({f"{level}_bytes": n for level, n in self.bytes.items()})
        if self.link_bytes:
            counts["link_bytes"] = self.link_bytes
        if self.network_bytes:
            counts["network_bytes"] = self.network_bytes
        if self.elements:
            counts["elements"] = self.elements
        if self.instructions:
            counts["instructions"] = self.instructions
        if self.tokens:
            counts["tokens"] = self.tokens
        return counts
