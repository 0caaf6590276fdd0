"""The work a case asks for, counted from its formula."""

from __future__ import annotations

import msgspec


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """All counts are per unit of the case's scope (one core, one device, …).

    `flops`: floating-point operations (a multiply-add is two), or integer operations.
    `engine_flops`: by engine where it is not all on the tensor engine ("vector", "scalar", …),
    in elementary operations. `bytes`: by memory level: "hbm", "sbuf", "psum", "host".
    `link_bytes`: what one rank must send over the links (the collective's lower bound).
    `formula`: how flops and bytes follow from the axes, for people.
    """

    flops: float = 0.0
    engine_flops: dict[str, float] = {}
    bytes: dict[str, float] = {}
    link_bytes: float = 0.0
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
        return counts
