"""A published point of Trainium2: a time of a microsecond, of which a test says what matters to it."""

from __future__ import annotations

import msgspec

from trnbench_fidelity.point import Kind, PublishedPoint, Quantity, Usable

_START = PublishedPoint(
    id="x",
    generation="trn2",
    family="kernel",
    kind=Kind.MEASURED,
    hardware="",
    source="github:owner/repo@0123456:kernels",
    usable=Usable.SOURCE,
    quantity=Quantity.LATENCY,
    metric="latency",
    op="op",
    unit="us",
    system="trn2-16.48xlarge",
    dtype="fp32",
    printed="1",
    value=1e-6,
)


def published_point(**fields: object) -> PublishedPoint:
    return msgspec.structs.replace(_START, **fields)
