"""Whether a machine is quiet enough to be measured, and waiting until it is."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from trnbench.measure.conditions import Watch
from trnbench.results.disturbance import Disturbance, likeliest
from trnbench.results.process_samples import Conditions, ProcessSamples

LOOK_S = 0.5
"""How long one look takes: fifty ticks of the system's accounting of each processor."""


def seen(seconds: float = LOOK_S) -> Conditions:
    """What the machine is busy with while this process sleeps."""
    watch = Watch()
    time.sleep(seconds)
    # Nothing is to be told from how long a process that sleeps waited for a processor.
    return msgspec.structs.replace(watch.conditions(), queued_s=None)


def disturbed(conditions: Conditions) -> Disturbance | None:
    """What disturbed a measurement under these conditions; None where nothing did."""
    cause = likeliest((ProcessSamples(samples=(), time_s=0.0, conditions=conditions),))
    return cause if cause.disturbs else None


def busy(look: Callable[[], Conditions] | None = None) -> Disturbance | None:
    """What disturbs measurements right now; None where nothing does."""
    return disturbed((look or seen)())


def quiet_within(
    seconds: float,
    look: Callable[[], Conditions] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Disturbance | None:
    """Looks until the machine is quiet or `seconds` are over, once at least; what disturbs it then."""
    until = clock() + seconds
    while (cause := busy(look)) is not None and clock() < until:
        pass
    return cause
