"""Our own product beside a published one: what the model makes of a shape that others have measured."""

from __future__ import annotations

import msgspec


class OwnProduct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Our own product beside the best published one of the same shape, data type and number of cores.

    Rates in FLOP/s of all `cores`, work being 2·M·N·K of the shape; the model's time without the launch, as
    in every comparison with a published kernel. `e` = ln(model time / published time): below 0 the model is
    the faster one. Two programs, so `e` holds what the other program loses too: the best published one bounds
    it. `others`: points of the same shape that are slower.
    """

    id: str  # of the published point
    generation: str
    m: int
    n: int
    k: int
    dtype: str
    cores: int
    kernel: str
    model_flops_per_s: float
    published_flops_per_s: float
    e: float
    source: str
    others: tuple[str, ...] = ()
