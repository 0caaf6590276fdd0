"""A comparison of one point, a published second, of which a test says what matters to it."""

from __future__ import annotations

import math

import msgspec

from trnbench.results.fidelity import Comparison, Use

_START = Comparison(
    id="x",
    family="hbm",
    generation="trn1",
    use=Use.EMULATED,
    vote="",
    honesty="untouched",
    quantity="latency_s",
    unit="s",
    published=1.0,
)


def comparison(id: str, e: float | None = None, **fields: object) -> Comparison:
    """`e` sets the model's time too, `exp(e)` seconds; the vote is the point's own unless named."""
    given = {"vote": id, "e": e, "emulated": None if e is None else math.exp(e), **fields}
    return msgspec.structs.replace(_START, id=id, **given)
