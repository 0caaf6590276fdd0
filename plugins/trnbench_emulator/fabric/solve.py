"""The time a schedule takes on a network: by symmetry where there is one, flow by flow where not.

Both ways give the same answer to the tick. Five shortcuts, each exact under a condition that is
checked, never assumed:

- by orbits: every move is a translation of a symmetric network, so one flow stands for all;
- in step: all moves of a step arrive at one tick, so every rank begins the next step together and a
  repeated step costs the same again;
- merged: chains of equal shape whose moves arrive together are one chain;
- contention-free: flows that never compete for a link are not simulated, only awaited;
- by classes: of flows that cannot be told apart one is simulated (`equivalence`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from math import ceil

import msgspec
import numpy as np
from msgspec.structs import replace

from trnbench.record import Record
from trnbench_emulator import TICKS_PER_SECOND, ticks
from trnbench_emulator.fabric.contention_free import contention_free
from trnbench_emulator.fabric.explicit import ExplicitFlows
from trnbench_emulator.fabric.flow import Together
from trnbench_emulator.fabric.fluid import Outcome, simulate
from trnbench_emulator.fabric.maxmin import Floats
from trnbench_emulator.fabric.network import LOADS, Network
from trnbench_emulator.fabric.orbits import Orbits
from trnbench_emulator.fabric.schedule import Chains, Schedule, Step
from trnbench_emulator.fabric.steady_state import simulated

LOCKSTEP = ", in lockstep"
"""End of `Solution.way` where ranks were taken to wait for each other after every step."""


class Solution(Record, kw_only=True):
    """`time_s`; `carried` bytes per link of the network (index of `Network.links`);
    `accessed` bytes of every device's memory; `latency_s`: the part that is latency and overhead, were
    every link infinitely wide. `ends`: the tick at which each chain is done, start not counted.
    `way`: "orbits" or "flows", and the shortcut taken. `memory`: whether accesses at the ends may have slowed
    a flow; where they did not, the time is what it would be without them. `span_s`: the time in which
    `carried` was carried, where it is another one: others ran beside. `idle`: the part of `total_ticks` in
    which nothing moves, `within` its limits.
    """

    time_s: float
    total_ticks: int
    carried: Floats
    accessed: Floats
    latency_s: float
    way: str
    ends: tuple[int, ...] = ()
    memory: bool = True
    span_s: float = 0.0
    idle: int = 0


class Carried(Record):
    """A schedule carried out, with the chains that ran beside it, in bytes; the seconds of the algorithms
    that were tried, the names of all that were worth it, why others were not, by what right `auto` took
    this one, and the `limit` that its time was brought to.
    """

    schedule: Schedule
    network: Network
    solution: Solution
    beside: Chains = ()
    tried: dict[str, float] = {}
    worth: tuple[str, ...] = ()
    left_out: dict[str, str] = {}
    choice: str = ""
    limit: str = ""


LEAST = "without what slows it, it takes as long: a slower link or rank, or others beside it, cannot help"
MOST = "the healthy machine takes as long: a faster link cannot harm"
SLOWED = "all links and ranks as slow as the slowest take as long: that others are faster cannot harm"
BOTH_WAYS = "links as slow both ways take as long: that one way is faster cannot harm"


def within(carried: Carried, least: Carried | None, most: Carried | None) -> Carried:
    """The same brought between two others. Lanes of unlike shares fall out of step and overlap their latency,
    and a plan may give way to one that is quicker: no machine becomes faster by that because a link is slow.
    """
    own = carried.solution
    if least is not None and own.total_ticks < least.solution.total_ticks:
        total = least.solution.total_ticks
        longer = replace(
            own, time_s=least.solution.time_s, total_ticks=total, idle=own.idle + total - own.total_ticks
        )
        return replace(carried, solution=longer, tried={}, worth=(), limit=LEAST)
    if most is not None and own.total_ticks > most.solution.total_ticks:
        return replace(most, tried={}, worth=(), limit=MOST)
    return carried


def slowed(healthy: Carried, left: float, late_s: float) -> Carried:
    """The same where every link and memory has `left` of its rate, and all wait for a rank `late_s` late."""
    own, start = healthy.solution, ticks(healthy.schedule.startup_s)
    total = start + ceil((own.total_ticks - start) / left) + ticks(late_s)
    longer = replace(
        own, time_s=total / TICKS_PER_SECOND, total_ticks=total, idle=own.idle + total - own.total_ticks
    )
    return replace(healthy, solution=longer, limit=SLOWED)


MOST_STEPS = 1000
"""Steps of all chains, repetitions counted, up to which waiting alone is added up."""


def solve(network: Network, schedule: Schedule, *, most: int = 0) -> Solution:
    """Where flows compete unevenly and simulating them would take more than `most` (0: any amount) of what
    `Classes.effort` counts, ranks are taken to wait for each other after every step, which is never
    quicker; `way` then says so, and `least_ticks` tells how much less it can be. Raises TopologyError (no
    route) and ValueError (a move names a rank that is not there).
    """
    carrier = _carrier(network, schedule)
    before = ticks(schedule.per_message_s)
    outcome, latency, shortcut = _run(carrier, schedule, before, most)
    start = ticks(schedule.startup_s)
    return Solution(
        time_s=(outcome.total + start) / TICKS_PER_SECOND,
        total_ticks=outcome.total + start,
        carried=carrier.per_link(outcome.carried),
        accessed=carrier.per_device(outcome.carried),
        latency_s=(latency + start) / TICKS_PER_SECOND,
        way=carrier.kind + shortcut,
        ends=tuple(outcome.arrival),
        memory=outcome.watched,
    )


def solve_beside(network: Network, schedule: Schedule, others: Chains, *, most: int) -> Solution:
    """The time until `schedule` is done while the chains of `others` run as well; `carried` and `accessed`
    are those of all together. Raises what `solve` raises.
    """
    if not others:
        return solve(network, schedule, most=most)
    own = schedule.sized()
    both = solve(network, replace(own, chains=own.chains + others), most=most)
    total = max(both.ends[: len(own.chains)]) + ticks(own.startup_s)
    return replace(
        both, total_ticks=total, time_s=total / TICKS_PER_SECOND, span_s=max(both.time_s, both.span_s)
    )


def _carrier(network: Network, schedule: Schedule) -> Orbits | ExplicitFlows:
    """By orbits where one flow stands for all its images in every move."""
    moves = (move for chain in schedule.chains for step in chain for move in step.moves)
    by_orbit = (
        network.symmetry is not None
        and network.size > 1
        and (network.ranks_per_device > 0 or not network.has_memory)
        and all(move.offset is not None and move.copies == 1 for move in moves)
    )
    return (Orbits if by_orbit else ExplicitFlows)(network, schedule)


def busy_ticks(network: Network, schedule: Schedule) -> int:
    """What the time of a schedule cannot be below, before it is carried out: its start, and the busiest link
    or memory as if it were never idle. A share of 1e-9, and a tick for each step, are left to rounding.
    """
    kept: dict[str, float] = network.of_capacity.setdefault(LOADS, {})
    seconds = kept.get(schedule.key) if schedule.key else None
    if seconds is None:
        seconds = _carrier(network, schedule).busy_s(schedule.chains)
        if schedule.key:
            kept[schedule.key] = seconds
    busy = ticks(seconds * schedule.scale * (1 - 1e-9)) - schedule.steps - 1
    return max(busy, 0) + ticks(schedule.startup_s)


def least_ticks(network: Network, schedule: Schedule, solution: Solution) -> int:
    """What the time of a schedule cannot be below: every link and memory as if it were never idle, and, where
    that is soon known, every flow as if no other slowed it. `solution`: of the same.
    """
    busiest = float(np.divide(solution.carried, network.bandwidth).max(initial=0.0))
    if network.has_memory:
        memories = network.capacity[len(network.links) :]
        busiest = max(busiest, float(np.divide(solution.accessed, memories).max(initial=0.0)))
    least = ticks(busiest)
    if sum(step.times for chain in schedule.chains for step in chain) <= MOST_STEPS:
        carrier, before = ExplicitFlows(network, schedule), ticks(schedule.per_message_s)
        rounds = carrier.rounds(schedule.chains)
        alone = contention_free(rounds, carrier.capacity, network.size, before, network.late, compete=True)
        assert alone is not None
        least = max(least, alone.total)
    return min(least + ticks(schedule.startup_s), solution.total_ticks)


_Ran = tuple[Outcome, int, str]
"""What came out, by chains; ticks of latency and overhead; the shortcut."""


def _run(carrier: Orbits | ExplicitFlows, schedule: Schedule, before: int, most: int) -> _Ran:
    chains = schedule.chains
    chain = _merged(chains)
    late = carrier.network.late
    memo = carrier.memo
    if chain is not None and (schedule.lockstep or not (any(late) or memo.uneven)):
        found = _in_step(carrier, chain, before, len(chains), lockstep=schedule.lockstep)
        if found is not None:
            return found
        memo.uneven = True
    if memo.latency is None:
        memo.latency = max(
            (sum((carrier.latest(step) + before) * step.times for step in chain) for chain in chains),
            default=0,
        )
    latency = _begins(carrier.network, chains) + memo.latency
    if not memo.compete:
        outcome = carrier.alone(chains, before)
        if outcome is not None:
            return outcome, latency, ", never competing"
        memo.compete = True
    too_much = bool(most) and chain is not None and carrier.effort(chains) > most
    # Orbits are looked at no closer where they are too many for all.
    if not (too_much and isinstance(carrier, Orbits)):
        # Chains of different shapes cannot be taken in lockstep: they are simulated whatever it takes.
        limit = most if chain is not None else 0
        if memo.classes is msgspec.UNSET:
            memo.classes = carrier.classes(chains)
        classes = memo.classes
        if classes is not None:
            outcome = simulated(classes, carrier.rates, before, limit, late, schedule.scale)
            if outcome is not None:
                if isinstance(carrier, Orbits):
                    outcome = replace(outcome, carried=carrier.carried(chains))
                return outcome, latency, ", by classes"
    if too_much:
        assert chain is not None
        found = _in_step(carrier, chain, before, len(chains), lockstep=True)
        assert found is not None
        return found
    flows, last = carrier.expanded(chains, before)
    outcome = simulate(Together(flows), carrier.rates, schedule.scale)
    ends = [max((outcome.arrival[i] for i in each), default=0) for each in last]
    return replace(outcome, arrival=ends), latency, ""


def _begins(network: Network, chains: Sequence[Sequence[Step]]) -> int:
    """The tick at which the last rank that takes part begins."""
    if not any(network.late):
        return 0
    pairs = (network.pairs_of(move) for chain in chains for step in chain for move in step.moves)
    return max((network.late[rank] for some in pairs for pair in some for rank in pair), default=0)


def _in_step(
    carrier: Orbits | ExplicitFlows, chain: Sequence[Step], before: int, parallel: int, *, lockstep: bool
) -> _Ran | None:
    """One step after the other, all ranks together; None where they do not keep in step by themselves
    and `lockstep` does not make them wait.
    """
    begins = _begins(carrier.network, (chain,))
    total, latency = begins, begins
    carried = np.zeros(len(carrier.capacity))
    memory = False
    for step in chain:
        outcome = carrier.step(step, before)
        if not lockstep and not carrier.in_step(outcome, parallel > 1):
            return None
        memory |= outcome.watched
        total += outcome.total * step.times
        carried += outcome.carried * step.times
        latency += (carrier.latest(step) + before) * step.times
    shortcut = LOCKSTEP if lockstep else ", each step once"
    return Outcome([total] * parallel, carried, total, memory), latency, shortcut


def _merged(chains: Chains) -> tuple[Step, ...] | None:
    """Chains of equal shape side by side as one, else None."""
    if len(chains) == 1:
        return chains[0]
    if len({tuple(step.times for step in chain) for chain in chains}) != 1:
        return None
    return tuple(
        Step(moves=tuple(move for step in steps for move in step.moves), times=steps[0].times)
        for steps in zip_longest(*chains)
    )
