"""Another metric of a case than its time, as a change."""

from __future__ import annotations

import math

import msgspec

from trnbench.compare.change import Change
from trnbench.results.measurement import Measurement, Metric

_ROUNDING = 1e-6


def of_metric(name: str, change: Change, before: Measurement, after: Measurement) -> Change:
    """`change` told of the metric `name`: its effect positive for the worse, as that of a time is.

    What follows from the time, as rates do, has the interval of the time. Anything else is exact of a model,
    and has none where it was measured.
    """
    old, new = before.metrics.get(name), after.metrics.get(name)
    if old is None or new is None:
        side = "the baseline" if old is None else "this run"
        known = ", ".join(sorted((before if old is None else after).metrics)) or "none"
        return _without(change, name, f"{side} has no metric {name!r} of it (known: {known})")
    if old.value <= 0.0 or new.value <= 0.0:
        return _without(change, name, f"{name} is not above zero")
    told = msgspec.structs.replace(
        change,
        metric=name,
        unit=new.unit,
        better=new.better,
        before=msgspec.structs.replace(change.before, value=old.value),
        after=msgspec.structs.replace(change.after, value=new.value),
    )
    if _follows(old, new, before, after):
        return told
    effect = (old.value / new.value if new.better == "higher" else new.value / old.value) - 1.0
    if change.exact:
        return msgspec.structs.replace(told, effect=effect)
    return _without(told, name, f"{name} was measured without samples of its own")


def _without(change: Change, name: str, why: str) -> Change:
    return msgspec.structs.replace(
        change, metric=name, effect=None, interval=None, p=None, exact=False, verdict=None, why=why
    )


def _follows(old: Metric, new: Metric, before: Measurement, after: Measurement) -> bool:
    """Whether the metric went exactly as the time did, or the other way where more is better."""
    if not before.time_s or not after.time_s:
        return False
    ratio = old.value / new.value if new.better == "higher" else new.value / old.value
    return math.isclose(ratio, after.time_s / before.time_s, rel_tol=_ROUNDING)
