"""Families of published points, and who emulates each."""

from __future__ import annotations

import msgspec

from trnbench.reference import Ref


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """`adapter` references `(point: PublishedPoint, bench: Bench) -> Prediction`, "" where no model
    answers for such points. It raises `NotEmulated` with the reason where it cannot."""

    name: str
    title: str
    adapter: Ref = ""


def _of(name: str, title: str, adapter: str = "") -> tuple[str, Family]:
    ref = f"trnbench_fidelity.adapters.{adapter}:predict" if adapter else ""
    return name, Family(name=name, title=title, adapter=ref)


LINKED = ("collective", "collective-graph", "collective-network", "point-to-point")
"""Families whose points are about links between ranks."""

FAMILIES: dict[str, Family] = dict(
    (
        _of("hbm", "HBM streams", "hbm"),
        _of("dma", "DMA transfers", "dma"),
        _of("instruction", "Instruction times", "instruction"),
        _of("gemm", "Matrix products", "product"),
        _of("kernel", "Other NKI kernels", "source"),
        _of("engine", "Parts of a profile"),
        _of("collective", "Collectives inside an instance", "collective"),
        _of("collective-network", "Collectives across the network", "collective"),
        _of("collective-graph", "Collectives in a compiled graph", "collective"),
        _of("point-to-point", "One rank to another", "collective"),
        _of("host-copy", "Copies between host and device", "host_copy"),
        _of("host", "Host, launch and limiter"),
        _of("model", "Whole models"),
        _of("document", "Documented figures"),
    )
)
"""To replace a model, point its family at another adapter; to add a family, add a line."""
