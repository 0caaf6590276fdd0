"""How far to trust a ratio of two emulated times: what is known of published pairs of versions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from trnbench.facts.units import percent
from trnbench.results.fidelity import LEAST_GAIN, OrderKept, order_kept
from trnbench.run.expectation import fidelity_of
from trnbench_emulator.commands.session.answer import digits

if TYPE_CHECKING:
    from trnbench.registry import Registry

BACKEND = "emulated"


def order_of(registry: Registry, generation: str, ratio: float) -> OrderKept | None:
    """Of published pairs of all kernels with a gain like `ratio`; None where no plugin knows any."""
    fidelity = fidelity_of(registry, BACKEND, [generation], [], linked=False)
    return order_kept(fidelity.steps, math.log(ratio)) if fidelity is not None else None


def sentence(registry: Registry, generation: str, first: float, second: float) -> str:
    """What two times of one problem say, and how far to trust it."""
    ratio = max(first, second) / min(first, second)
    if digits(first) == digits(second):
        return "the model cannot tell them apart: both take the same time"
    if math.log(ratio) <= LEAST_GAIN:
        return (
            f"the model cannot tell them apart: {percent(ratio - 1.0)} is within the 3 % that repeated "
            "measurements differ by"
        )
    order = order_of(registry, generation, ratio)
    if order is None or not order.pairs:
        return "nothing is published of pairs with such a gain"
    return (
        f"of {order.pairs} published pairs that differ by {order.gain}, the model has {order.kept} in order"
    )
