"""What one process saw of a measured case: its samples, and what the machine was like meanwhile."""

from __future__ import annotations

import msgspec


class Conditions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From the warm-up to the last sample; None where the system does not tell.

    Shares are of the time that passed: 1.0 is all of it. `clock_hz` is what the processor reported before and
    after.
    """

    wall_s: float
    cpu_s: float | None = None  # processor time of the process, all its threads
    queued_s: float | None = None  # in which its threads could have run and had no processor, all of them
    preempted: int | None = None  # involuntary context switches
    waited: int | None = None  # voluntary ones
    others: float | None = (
        None  # share of the processors that other processes had: its own or all, the larger
    )
    stolen: float | None = None  # share of processor time that went to other virtual machines
    pressure: float | None = None  # share of the time in which something waited for a processor (PSI)
    clock_hz: tuple[float, ...] = ()


class ProcessSamples(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seconds per repetition, in the order taken, and the median that this process would have told.

    Beside each sample `cpu_s` is the processor time of the process per repetition, all its threads, and
    `preempted` how often it lost its processor; both empty where they are not known. What the system tells in
    ticks of 10 ms (steal, pressure, what others used) and its clock is in `conditions`, of all samples
    together.

    `doubts` speak against the number whatever the machine did meanwhile, `doubts_of_time` only where the
    times can be relied on.
    """

    samples: tuple[float, ...]
    time_s: float
    cpu_s: tuple[float, ...] = ()
    preempted: tuple[int, ...] = ()
    conditions: Conditions | None = None
    doubts: tuple[str, ...] = ()
    doubts_of_time: tuple[str, ...] = ()
