"""Steps repeated very often come to a steady state; one period of it is computed once.

Where in the middle of a repeated step every class of flows arrives just as it did some repetitions
before, and that for longer than any flow lasts, then the same flows are under way with the same bytes
left: from there on everything repeats until the step ends. Repetitions out of the middle can then be
left out and their time added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from trnbench_emulator.fabric.equivalence import Classes
from trnbench_emulator.fabric.flow import Flow, Together, follow, late_begin, timing
from trnbench_emulator.fabric.fluid import Outcome, simulate
from trnbench_emulator.fabric.maxmin import Floats, Indices
from trnbench_emulator.fabric.rates import Rates

Ticks = NDArray[np.int64]

LONG = 64
"""Repetitions above which a step is looked at for a steady state."""
KEPT = 48
"""Repetitions carried out of such a step; its period is looked for in the middle third."""
LATER = 4 * KEPT
"""As `KEPT`, where the chains come to it so long after each other that no period showed: of steps that have
at least twice as many.
"""
LONGEST = 4
"""Repetitions of the longest period looked for."""


def simulated(
    classes: Classes,
    rates: Rates,
    before: int,
    most: int,
    late: Sequence[int] = (),
    scale: float = 1.0,
) -> Outcome | None:
    """The outcome of all flows, `scale` times their size; `arrival` has one entry per chain, the tick at
    which its last flow came. `rates` are those of all resources.

    None where it takes more than `most` (0: any amount) of what `Classes.effort` counts. Raises ValueError
    when a flow can never end.
    """
    long = [[n for n in times if n > LONG] for times in classes.times]
    whole = not most or classes.effort(classes.times) <= most
    if not long[0] or any(each != long[0] for each in long):
        return _simulated(classes, classes.times, rates, before, late, scale)[0] if whole else None
    for kept in (KEPT, LATER):
        if kept > KEPT and not (whole and min(long[0]) >= 2 * kept):
            break
        cut = [tuple(kept if n > LONG else n for n in times) for times in classes.times]
        if most and classes.effort(cut) > most:
            return None
        outcome, ticks, number = _simulated(classes, cut, rates, before, late, scale)
        arrivals = {each: ticks[number == each] for each in range(len(classes.first))}
        found = [period_of(classes, block, arrivals) for block in range(len(long[0]))]
        periods = [period for period in found if period is not None]
        if len(periods) < len(found):
            continue
        each_kept = [kept + (n - kept) % length for n, (length, _) in zip(long[0], periods, strict=True)]
        if any(n != kept for n in each_kept):
            cut = [_with(time, each_kept) for time in classes.times]
            outcome = _simulated(classes, cut, rates, before, late, scale)[0]
        left_out = sum(
            (times - carried_out) // length * period
            for times, carried_out, (length, period) in zip(long[0], each_kept, periods, strict=True)
        )
        arrival = [each + left_out for each in outcome.arrival]
        return Outcome(arrival, outcome.carried, max(arrival, default=0), outcome.watched)
    return _simulated(classes, classes.times, rates, before, late, scale)[0] if whole else None


def of_each_class(classes: Classes, rates: Rates, before: int, scale: float) -> Outcome:
    """The outcome of flows that all begin at once; `arrival` has one entry per class."""
    outcome, ticks, number = _simulated(classes, classes.times, rates, before, (), scale)
    last = _last(classes, ticks, number).tolist()
    return Outcome(last, outcome.carried, outcome.total, outcome.watched)


def _with(times: Sequence[int], kept: Sequence[int]) -> tuple[int, ...]:
    following = iter(kept)
    return tuple(next(following) if n > LONG else n for n in times)


def _simulated(
    classes: Classes,
    times: Sequence[tuple[int, ...]],
    rates: Rates,
    before: int,
    late: Sequence[int],
    scale: float,
) -> tuple[Outcome, Ticks, Indices]:
    """The outcome, and of every flow the tick of its arrival and its class."""
    key = ("member flows", tuple(times), before)
    if key not in classes.memo:
        classes.memo[key] = member_flows(classes, times, before, late)
    flows, number = classes.memo[key]
    outcome = simulate(flows, rates, scale, classes.carried * scale)
    ticks = np.array(outcome.arrival, dtype=np.int64)
    last = _last(classes, ticks, number)
    done = [int(last[each].max(initial=0)) for each in classes.by_chain]
    return Outcome(done, outcome.carried, max(done, default=0), outcome.watched), ticks, number


def _last(classes: Classes, ticks: Ticks, number: Indices) -> Ticks:
    """Of every class the tick at which the last of its flows came."""
    last = np.zeros(len(classes.first) + 1, dtype=np.int64)
    np.maximum.at(last, number, ticks)
    return last[:-1]


def period_of(classes: Classes, block: int, arrivals: Mapping[int, Ticks]) -> tuple[int, int] | None:
    """(repetitions, ticks) of the period of a long step, the same for all its classes; None without one.

    `block` numbers the long steps, `arrivals` are the ticks of every class of flows.
    """
    long_steps = [[step for step, n in enumerate(times) if n > LONG] for times in classes.times]
    step_of_chain = np.array([long_steps[shape][block] for shape in classes.shapes])
    patterns = classes.patterns
    looked_at = sorted(set(classes.flow[patterns.step == step_of_chain[patterns.chain]].tolist()))
    table = np.array([arrivals[number] for number in looked_at], dtype=np.int64)
    carried_out = table.shape[1]
    table = table[:, carried_out // 3 : 2 * carried_out // 3]
    for repetitions in range(1, LONGEST + 1):
        differences = table[:, repetitions:] - table[:, :-repetitions]
        period = int(differences[0, 0])
        # All of them at once, and for longer than a flow lasts: one is never under way for two periods.
        overlap = int(table[:, -1].min() - table[:, 0].max())
        if (differences == period).all() and overlap > 2 * period:
            return repetitions, period
    return None


def member_flows(
    classes: Classes, times: Sequence[Sequence[int]], before: int, late: Sequence[int] = ()
) -> tuple[Together, Indices]:
    """Flows of one member of each class, in order, and the class of each: that after the last one for what
    stands for nobody. `times[shape]` in place of the repetitions of `classes`. Of the resources that a flow
    uses it has the first member of each class.
    """
    patterns = classes.patterns
    mixes = _mixes(classes)
    # By the number of each class, of the member that stands for it:
    chosen = classes.first
    shape_of = [classes.shapes[chain] for chain in patterns.chain[chosen].tolist()]
    step_of, sizes = patterns.step[chosen].tolist(), patterns.size[chosen].tolist()
    latency, direct = patterns.latency[chosen].tolist(), patterns.direct[chosen].tolist()
    ranks = len(classes.rank) // len(classes.shapes)
    flows: list[Flow] = []
    touched: dict[int, list[int]] = {}
    if any(late):
        for node in np.unique(classes.rank, return_index=True)[1]:
            late_begin(flows, touched, int(classes.rank[node]), int(late[node % ranks]))
    took = [len(chosen)] * len(flows)
    by_step: dict[tuple[int, int], list[int]] = {}
    for number, place in enumerate(zip(shape_of, step_of, strict=True)):
        by_step.setdefault(place, []).append(number)
    from_rank = patterns.chain[chosen] * ranks
    senders = classes.rank[from_rank + patterns.src[chosen]].tolist()
    receivers = classes.rank[from_rank + patterns.dst[chosen]].tolist()
    for shape, repetitions in enumerate(times):
        for step, repeated in enumerate(repetitions):
            members = by_step.get((shape, step), [])
            sent = [
                (senders[number], receivers[number], sizes[number], *mixes[number], *when)
                for number in members
                for when in [timing(direct[number], latency[number], before)]
            ]
            follow(flows, touched, sent, repeated)
            took += members * repeated
    return Together(flows), np.array(took, dtype=np.intp)


def _mixes(classes: Classes) -> list[tuple[Indices, Floats]]:
    """For every class of flows, what all its members together take of the first member of each resource
    class.
    """
    patterns = classes.patterns
    members = np.sort(np.unique(classes.resource, return_index=True)[1])
    stands = np.full(len(classes.resource), -1)
    stands[members] = np.arange(len(members))
    flow = np.repeat(classes.flow, patterns.lengths)
    at = stands[patterns.resources]
    weight = patterns.weights
    kept = at >= 0
    count = len(classes.first)
    width = len(members)
    total = np.bincount(flow[kept] * width + at[kept], weight[kept], minlength=count * width)
    table = np.asarray(total, dtype=np.float64).reshape(count, width)
    found: list[tuple[Indices, Floats]] = []
    for row in table:
        used: Indices = np.flatnonzero(row)
        weights: Floats = row[used]
        found.append((members[used], weights))
    return found
