"""The time a schedule takes on a network: by symmetry where there is one, flow by flow where not.

Both ways give the same answer to the tick. Five shortcuts, each exact under a condition that is
checked, never assumed:

- by orbits: every move is a translation of a symmetric network, so one flow stands for all;
- in step: all moves of a step arrive at one tick, so every rank begins the next step together and a
  repeated step costs the same again;
- merged: chains of equal shape whose moves arrive together are one chain;
- apart: flows that never compete for a link are not simulated, only awaited (`apart`);
- by classes: of flows that cannot be told apart one is simulated (`classes`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import msgspec
import numpy as np

from trnbench.emulator.fabric.apart import Round, Sending, apart
from trnbench.emulator.fabric.classes import MOST_PATTERNS, Classes, Pattern, classes_of
from trnbench.emulator.fabric.fluid import TICKS_PER_SECOND, Flow, Outcome, Rates, simulate, ticks
from trnbench.emulator.fabric.maxmin import Floats, Indices
from trnbench.emulator.fabric.network import ORBITS, PLANS, RATES, SOLVED, Network, Route
from trnbench.emulator.fabric.schedule import Move, Schedule, Step
from trnbench.emulator.fabric.steady import of_each_class, simulated

LOCKSTEP = ", in lockstep"
MOST_STEPS = 1000
"""Steps of all chains, repetitions counted, up to which waiting alone is added up."""
KEPT = 32
"""Answers kept per network."""
MANY = 256
"""Flows of one step from which classes are looked for before it is simulated."""


class Solution(msgspec.Struct, frozen=True, kw_only=True):
    """`time_s`; `carried` bytes per link of the network (index of `Network.links`);
    `accessed` bytes of every device's memory; `latency_s`: the part that is latency and overhead, were
    every link infinitely wide. `ends`: the tick at which each chain is done, start not counted.
    `way`: "orbits" or "flows", and the shortcut taken. `memory`: whether accesses at the ends may have slowed
    a flow; where they did not, the time is what it would be without them. `span_s`: the time in which
    `carried` was carried, where it is another one: others ran beside.
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


def solve(network: Network, schedule: Schedule, *, use_symmetry: bool = True, most: int = 0) -> Solution:
    """Where flows compete unevenly and simulating them would take more than `most` (0: any amount) of what
    `Classes.effort` counts, ranks are taken to wait for each other after every step, which is never
    quicker; `way` then says so, and `least_ticks` tells how much less it can be. The latest answers are
    kept with the network, for plans that have a name. Raises TopologyError (no route) and ValueError (a move
    names a rank that is not there).
    """
    if not schedule.key or not use_symmetry:
        return _solved(network, schedule, use_symmetry, most)
    known: dict[object, Solution] = network.memo.setdefault(SOLVED, {})
    key = schedule.key, schedule.scale, schedule.startup_s, schedule.per_message_s, most
    if key not in known:
        if len(known) >= KEPT:
            known.pop(next(iter(known)))
        known[key] = _solved(network, schedule, use_symmetry, most)
    return known[key]


def solve_beside(
    network: Network, schedule: Schedule, others: tuple[tuple[Step, ...], ...], *, most: int = 0
) -> Solution:
    """The time until `schedule` is done while the chains of `others` run as well; `carried` and `accessed`
    are those of all together. Raises what `solve` raises.
    """
    if not others:
        return solve(network, schedule, most=most)
    own = schedule.sized()
    both = solve(network, msgspec.structs.replace(own, chains=own.chains + others), most=most)
    total = max(both.ends[: len(own.chains)]) + ticks(own.startup_s)
    return msgspec.structs.replace(
        both, total_ticks=total, time_s=total / TICKS_PER_SECOND, span_s=max(both.time_s, both.span_s)
    )


def _solved(network: Network, schedule: Schedule, use_symmetry: bool, most: int) -> Solution:
    moves = [move for chain in schedule.chains for step in chain for move in step.moves]
    by_orbit = (
        use_symmetry
        and network.symmetry is not None
        and all(move.offset is not None and move.copies == 1 for move in moves)
        and network.size > 1
        and (network.ranks_per_device > 0 or not network.has_memory)
    )
    carrier: _Orbits | _Pairs = _Orbits(network, schedule) if by_orbit else _Pairs(network, schedule)
    before = ticks(schedule.per_message_s)
    found = _run(carrier, schedule, before, most, exact=not use_symmetry)
    start = ticks(schedule.startup_s)
    return Solution(
        time_s=(found.total + start) / TICKS_PER_SECOND,
        total_ticks=found.total + start,
        carried=carrier.per_link(found.carried),
        accessed=carrier.per_device(found.carried),
        latency_s=(found.latency + start) / TICKS_PER_SECOND,
        way=("orbits" if by_orbit else "flows") + found.shortcut,
        ends=found.ends,
        memory=found.memory,
    )


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
        carrier, before = _Pairs(network, schedule), ticks(schedule.per_message_s)
        rounds = carrier.rounds(schedule.chains)
        alone = apart(rounds, carrier.capacity, network.size, before, network.late, compete=True)
        assert alone is not None
        least = max(least, alone.total)
    return min(least + ticks(schedule.startup_s), solution.total_ticks)


class _Known(msgspec.Struct):
    """What was found out about a plan on a network, whatever its size."""

    uneven: bool = False  # ranks do not keep in step by themselves
    compete: bool = False  # some flow slows another
    latency: int | None = None
    classes: tuple[Classes | None, ...] = ()  # one, once looked for
    steps: dict[int, Classes] = {}  # of every step alone, by its place in the merged chains


def _known(network: Network, schedule: Schedule) -> _Known:
    """Kept with the network where the plan has a name."""
    if not schedule.key:
        return _Known()
    kept: dict[tuple[str, float], _Known] = network.memo.setdefault(PLANS, {})
    return kept.setdefault((schedule.key, schedule.per_message_s), _Known())


class _Ran(msgspec.Struct, frozen=True):
    """Ticks, bytes per resource, ticks of latency and overhead, and the shortcut."""

    total: int
    carried: Floats
    latency: int
    shortcut: str
    ends: tuple[int, ...]
    memory: bool


def _run(carrier: _Orbits | _Pairs, schedule: Schedule, before: int, most: int, *, exact: bool) -> _Ran:
    """`exact`: flow by flow, nothing taken together but steps that are in step."""
    chains = schedule.chains
    chain = _merged(chains)
    late = carrier.network.late
    known = carrier.known
    if chain is not None and (schedule.lockstep or not (any(late) or known.uneven)):
        found = _in_step(carrier, chain, before, len(chains), lockstep=schedule.lockstep)
        if found is not None:
            return found
        known.uneven = True
    if known.latency is None:
        known.latency = max(
            (sum((carrier.latest(step) + before) * step.times for step in chain) for chain in chains),
            default=0,
        )
    latency = max(late, default=0) + known.latency
    if not known.compete:
        outcome = carrier.alone(chains, before)
        if outcome is not None:
            ends = tuple(outcome.arrival)
            return _Ran(outcome.total, outcome.carried, latency, ", never competing", ends, outcome.watched)
        known.compete = True
    if not exact:
        if not known.classes:
            known.classes = (carrier.classes(chains),)
        classes = known.classes[0]
        if classes is not None:
            outcome = simulated(classes, carrier.rates, before, most, late, schedule.scale)
            if outcome is not None:
                ends = tuple(outcome.arrival)
                return _Ran(outcome.total, outcome.carried, latency, ", by classes", ends, outcome.watched)
    if most and chain is not None and carrier.effort(chains) > most:
        found = _in_step(carrier, chain, before, len(chains), lockstep=True)
        assert found is not None
        return found
    flows, last = carrier.expanded(chains, before)
    outcome = simulate(flows, carrier.capacity, carrier.rates)
    ends = tuple(max((outcome.arrival[i] for i in each), default=0) for each in last)
    return _Ran(outcome.total, outcome.carried, latency, "", ends, outcome.watched)


def _in_step(
    carrier: _Orbits | _Pairs, chain: Sequence[Step], before: int, parallel: int, *, lockstep: bool
) -> _Ran | None:
    """One step after the other, all ranks together; None where they do not keep in step by themselves
    and `lockstep` does not make them wait.
    """
    begins = max(carrier.network.late, default=0)
    total, latency = begins, begins
    carried = np.zeros(len(carrier.capacity))
    memory = False
    for place, step in enumerate(chain):
        outcome = carrier.step(place, step, before)
        if not lockstep and not carrier.in_step(outcome, parallel > 1):
            return None
        memory |= outcome.watched
        total += outcome.total * step.times
        carried += outcome.carried * step.times
        latency += (carrier.latest(step) + before) * step.times
    shortcut = LOCKSTEP if lockstep else ", each step once"
    return _Ran(total, carried, latency, shortcut, (total,) * parallel, memory)


def _merged(chains: Sequence[tuple[Step, ...]]) -> tuple[Step, ...] | None:
    """Chains of equal shape side by side as one, else None."""
    if len(chains) == 1:
        return chains[0]
    if len({tuple(step.times for step in chain) for chain in chains}) != 1:
        return None
    return tuple(
        Step(moves=tuple(move for step in steps for move in step.moves), times=steps[0].times)
        for steps in zip_longest(*chains)
    )


class _Orbits:
    """One flow per move: it stands for all its images."""

    def __init__(self, network: Network, schedule: Schedule) -> None:
        self.network, self.scale = network, schedule.scale
        self.known = _Known()  # orbits are few
        self.capacity = network.orbit_capacity
        self._memory = len(self.capacity) - 1
        # Orbits are few, and their mixes made anew: these rates are kept for nothing else.
        self.rates = Rates(self.capacity, np.arange(len(self.capacity)) == self._memory)
        self._with_memory: dict[tuple[tuple[int, ...], float], Route]
        self._with_memory = network.memo.setdefault(ORBITS, {})

    def step(self, place: int, step: Step, before: int) -> Outcome:
        """One repetition of a step, all ranks beginning at once."""
        return simulate([self._flow(move, before, ()) for move in step.moves], self.capacity, self.rates)

    def _flow(self, move: Move, before: int, after: tuple[int, ...]) -> Flow:
        assert move.offset is not None
        route = self._route(move)
        size = move.size * self.scale
        return Flow(size, route.resources, route.weights, route.latency, before, after)

    def latest(self, step: Step) -> int:
        """Ticks of the longest way in a step."""
        return max((self._route(move).latency for move in step.moves), default=0)

    def _route(self, move: Move) -> Route:
        assert move.offset is not None
        if not any(move.offset):
            raise ValueError("a move from a rank to itself")
        route = self.network.orbit_routes[move.offset]
        if np.isinf(self.capacity[self._memory]):
            return route
        # Every rank sends once and receives once per translation; those of a device share its memory.
        accesses = (move.reads + move.writes) * self.network.ranks_per_device
        found = self._with_memory.get((move.offset, accesses))
        if found is None:
            found = self._with_memory[move.offset, accesses] = Route(
                np.append(route.resources, self._memory),
                np.append(route.weights, accesses),
                route.latency,
                route.hops,
            )
        return found

    def in_step(self, outcome: Outcome, parallel: bool) -> bool:
        """One chain of translations is in step by symmetry; several only if they end together."""
        return not parallel or len(set(outcome.arrival)) <= 1

    def alone(self, chains: Sequence[tuple[Step, ...]], before: int) -> Outcome | None:
        """Orbits are few: simulating them costs nothing."""
        return None

    def classes(self, chains: Sequence[tuple[Step, ...]]) -> Classes | None:
        """An orbit is a class already."""
        return None

    def effort(self, chains: Sequence[tuple[Step, ...]]) -> int:
        return sum(len(step.moves) ** 2 * step.times for chain in chains for step in chain)

    def expanded(self, chains: Sequence[tuple[Step, ...]], before: int) -> tuple[list[Flow], list[range]]:
        """The flows of all chains, and which belong to each."""
        flows: list[Flow] = []
        spans = []
        for chain in chains:
            begin = len(flows)
            earlier: tuple[int, ...] = ()
            for step in chain:
                for _ in range(step.times):
                    first = len(flows)
                    flows += [self._flow(move, before, earlier) for move in step.moves]
                    earlier = tuple(range(first, len(flows)))
            spans.append(range(begin, len(flows)))
        return flows, spans

    def per_link(self, carried: Floats) -> Floats:
        symmetry = self.network.symmetry
        assert symmetry is not None
        return carried[symmetry.link_orbit]

    def per_device(self, carried: Floats) -> Floats:
        return np.full(max(self.network.shared) + 1, carried[self._memory])


class _Pairs:
    """One flow per sender and receiver."""

    def __init__(self, network: Network, schedule: Schedule) -> None:
        self.network, self.scale = network, schedule.scale
        self.known = _known(network, schedule)
        self.capacity = network.capacity
        self._memory = network.has_memory
        # The same for every message on this network: kept with it.
        self._shares: dict[tuple[int, int, float, float, float], tuple[Indices, Floats, int]]
        self._shares = network.memo.setdefault("shares", {})
        self._moves: dict[object, list[tuple[Indices, Floats, int]]] = network.memo.setdefault("moves", {})
        self.rates: Rates = network.memo.setdefault(
            RATES, Rates(network.capacity, np.arange(len(network.capacity)) >= len(network.links))
        )

    def pairs(self, move: Move) -> Sequence[tuple[int, int]]:
        if move.offset is None:
            return move.pairs
        return self.network.pairs(move.offset)

    def _share(self, src: int, dst: int, move: Move) -> tuple[Indices, Floats, int]:
        key = (src, dst, move.reads, move.writes, move.copies)
        found = self._shares.get(key)
        if found is None:
            if src == dst:
                raise ValueError("a move from a rank to itself")
            route = self.network.route(src, dst)
            resources, weights = route.resources, route.weights
            if self._memory:
                first, device = len(self.network.links), self.network.shared
                accesses = {first + device[src]: move.reads}
                accesses[first + device[dst]] = accesses.get(first + device[dst], 0.0) + move.writes
                used = [resource for resource, times in accesses.items() if times > 0]
                resources = np.append(resources, np.array(used, dtype=np.intp))
                weights = np.append(weights, [accesses[resource] for resource in used])
            if move.copies != 1:
                weights = weights * move.copies
            found = self._shares[key] = (resources, weights, route.latency)
        return found

    def _shares_of(self, move: Move) -> list[tuple[Indices, Floats, int]]:
        """One share per pair of the move, whatever its size."""
        key = (move.offset, move.pairs, move.reads, move.writes, move.copies)
        found: list[tuple[Indices, Floats, int]] | None = self._moves.get(key)
        if found is None:
            found = self._moves[key] = [self._share(src, dst, move) for src, dst in self.pairs(move)]
        return found

    def step(self, place: int, step: Step, before: int) -> Outcome:
        """One repetition of a step, all ranks beginning at once; `arrival` by flows, or by their classes."""
        if sum(len(self.pairs(move)) for move in step.moves) < MANY:
            flows = [
                Flow(move.size * self.scale, resources, weights, latency, before)
                for move in step.moves
                for resources, weights, latency in self._shares_of(move)
            ]
            return simulate(flows, self.capacity, self.rates)
        classes = self.known.steps.get(place)
        if classes is None:
            patterns = list(self._patterns([(step,)]))
            classes = classes_of(patterns, [(1,)], self.capacity, self.network.size, waiting=False)
            self.known.steps[place] = classes
        return of_each_class(classes, self.rates, before, self.scale)

    def latest(self, step: Step) -> int:
        """Ticks of the longest way in a step."""
        return max((latency for move in step.moves for *_, latency in self._shares_of(move)), default=0)

    def in_step(self, outcome: Outcome, parallel: bool) -> bool:
        return len(set(outcome.arrival)) <= 1

    def alone(self, chains: Sequence[tuple[Step, ...]], before: int) -> Outcome | None:
        return apart(self.rounds(chains), self.capacity, self.network.size, before, self.network.late)

    def rounds(self, chains: Sequence[tuple[Step, ...]]) -> list[list[Round]]:
        return [
            [
                Round(
                    tuple(
                        Sending(src, dst, move.size * self.scale, *self._share(src, dst, move))
                        for move in step.moves
                        for src, dst in self.pairs(move)
                    ),
                    step.times,
                )
                for step in chain
            ]
            for chain in chains
        ]

    def classes(self, chains: Sequence[tuple[Step, ...]]) -> Classes | None:
        """None where there are more flows than can be told apart in a moment."""
        if sum(len(self.pairs(m)) for chain in chains for step in chain for m in step.moves) > MOST_PATTERNS:
            return None
        patterns = list(self._patterns(chains))
        if not patterns:
            return None
        times = [tuple(step.times for step in chain) for chain in chains]
        return classes_of(patterns, times, self.capacity, self.network.size, self.network.late)

    def _patterns(self, chains: Sequence[tuple[Step, ...]]) -> Iterator[Pattern]:
        for number, chain in enumerate(chains):
            for at, step in enumerate(chain):
                for move in step.moves:
                    for (src, dst), share in zip(self.pairs(move), self._shares_of(move), strict=True):
                        yield Pattern(number, at, src, dst, move.size, share[2], share[0], share[1])

    def effort(self, chains: Sequence[tuple[Step, ...]]) -> int:
        """As `Classes.effort`, every flow a class of its own."""
        return sum(
            step.times * sum(len(self.pairs(move)) for move in step.moves) ** 2
            for chain in chains
            for step in chain
        )

    def expanded(self, chains: Sequence[tuple[Step, ...]], before: int) -> tuple[list[Flow], list[range]]:
        """The flows of all chains, and which belong to each."""
        flows: list[Flow] = []
        spans = []
        begins: dict[int, list[int]] = {}
        for rank, late in enumerate(self.network.late):
            if late:  # nothing is sent, but whoever touches the rank waits for it
                begins[rank] = [len(flows)]
                flows.append(Flow(0.0, np.zeros(0, np.intp), np.zeros(0), latency=late))
        for chain in chains:
            begin = len(flows)
            touched = dict(begins)  # rank → flows of its last step it took part in
            for step in chain:
                pairs = [(move, src, dst) for move in step.moves for src, dst in self.pairs(move)]
                for _ in range(step.times):
                    now: dict[int, list[int]] = {}
                    for move, src, dst in pairs:
                        after = sorted({*touched.get(src, ()), *touched.get(dst, ())})
                        index = len(flows)
                        resources, weights, latency = self._share(src, dst, move)
                        size = move.size * self.scale
                        flows.append(Flow(size, resources, weights, latency, before, tuple(after)))
                        now.setdefault(src, []).append(index)
                        now.setdefault(dst, []).append(index)
                    touched.update(now)
            spans.append(range(begin, len(flows)))
        return flows, spans

    def per_link(self, carried: Floats) -> Floats:
        return carried[: len(self.network.links)]

    def per_device(self, carried: Floats) -> Floats:
        return carried[len(self.network.links) :]
