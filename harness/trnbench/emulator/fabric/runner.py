"""Carries a collective out by one algorithm, by the one that the documents take, or by the quickest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from trnbench.emulator.fabric.algorithms import ALGORITHMS
from trnbench.emulator.fabric.algorithms.algorithm import AUTO, BEST, BROADCAST, NotPossible
from trnbench.emulator.fabric.bound import bound_of
from trnbench.emulator.fabric.charge import charged
from trnbench.emulator.fabric.network import Network
from trnbench.emulator.fabric.result import Bound
from trnbench.emulator.fabric.rule import Rule, observed
from trnbench.emulator.fabric.schedule import Schedule, Step
from trnbench.emulator.fabric.solution import Solution
from trnbench.emulator.fabric.solve import solve_beside
from trnbench.emulator.fabric.systems import Fabric
from trnbench.errors import UnknownName

HALVES = ("ring-1", "ring-2", "bucket-1", "bucket-2")
"""Parts of an algorithm that `auto` tries as a whole."""
SLOW_ABOVE = {
    "ring": 256,
    "ring-1": 256,
    "ring-2": 256,
    "pairwise": 256,
    "tree": 256,
    "hierarchical-ring": 128,
    "hierarchical-rdh": 128,
    "hierarchical-mesh": 128,
}
"""Ranks above which `auto` leaves out algorithms that have to be simulated flow by flow."""
MOST_MESSAGES = 100_000
"""Messages of a plan, repetitions not counted, above which `best` leaves it out: some seconds."""

Chains = tuple[tuple[Step, ...], ...]


class Found(msgspec.Struct, frozen=True):
    """A schedule carried out, with the seconds of all that was tried beside it, and why others were not.

    `choice`: by what right `auto` took it.
    """

    schedule: Schedule
    network: Network
    solution: Solution
    tried: dict[str, float]
    left_out: dict[str, str] = {}
    beside: Chains = ()
    choice: str = ""


class Runner:
    """One collective of `size` bytes over all ranks of `network`, a network of `fabric`. `beside`: what runs
    at the same time, in bytes.
    """

    beside: Chains = ()

    def __init__(self, fabric: Fabric, network: Network, collective: str, size: float) -> None:
        self.fabric, self.network = fabric, network
        self.collective, self.size = collective, size
        self.constants = fabric.constants
        self.ranks = network.size

    def network_of(self, name: str) -> Network:
        """Where this algorithm runs."""
        return self.network

    def names(self) -> tuple[str, ...]:
        """Everything there is to try."""
        return tuple(ALGORITHMS)

    def named(self, name: str) -> Found:
        """By this algorithm. Raises UsageError where there is none of that name, NotPossible."""
        schedule = self.schedule(name)
        network = self.network_of(name)
        solution = solve_beside(network, schedule, self.beside, most=self.fabric.most_effort)
        return Found(schedule, network, solution, {}, {}, self.beside)

    @property
    def instances(self) -> int:
        """How many instances the ranks lie on."""
        return len({self.network.nodes[node].host for node in self.network.ranks})

    @property
    def rule(self) -> Rule | None:
        """What the runtime was observed to take for such a question; ranks are cores there."""
        if self.fabric.options.level == "device":
            return None
        return observed(
            self.constants.rules,
            generation=self.fabric.system.generation.name,
            context=self.fabric.options.context,
            collective=self.collective,
            ranks=self.ranks,
            instances=self.instances,
        )

    def auto(self) -> Found:
        """What the runtime was observed to take; where nothing was, or the ranks do not allow it, the best of
        all that is quickly answered.
        """
        rule = self.rule
        why = "no rule observed"
        if rule is not None:
            name = rule.taken(self.size)
            try:
                return msgspec.structs.replace(self.named(name), choice=rule.sentence)
            except NotPossible:
                why = f"{name} is not possible"
        found = self.best(tuple(name for name in self.names() if name not in HALVES))
        several = f"best of {', '.join(found.tried)}" if len(found.tried) > 1 else "the only one possible"
        return msgspec.structs.replace(found, choice=f"{why}: {several}")

    def best(self, names: Sequence[str] = ()) -> Found:
        """The quickest of those that can; ties go to the first name. Of `names` only those that are quickly
        answered are tried, of all there are those that are answered in some seconds. Raises NotPossible if
        none can.
        """
        best: Found | None = None
        tried: dict[str, float] = {}
        left_out: dict[str, str] = {}
        for name in names or self.names():
            if not self.meant(name):
                continue
            try:
                if why := self._too_slow(name, quick=bool(names)):
                    left_out[name] = why
                    continue
                found = self.named(name)
            except NotPossible:
                continue
            tried[name] = found.solution.time_s
            if best is None or found.solution.time_s < best.solution.time_s:
                best = found
        if best is None:
            raise NotPossible(
                f"no algorithm does {self.collective} on these {self.network.size} ranks",
                cause="; ".join(f"{name}: {why}" for name, why in left_out.items()),
                try_=f"trnbench fabric algorithms -i {self.fabric.system.name}",
            )
        return Found(best.schedule, best.network, best.solution, tried, left_out, self.beside)

    def meant(self, name: str) -> bool:
        """Whether the algorithm does this collective at all."""
        return self.collective in ALGORITHMS[name].collectives

    def worth(self, name: str) -> bool:
        """Whether it does this collective and is quickly answered."""
        return self.meant(name) and not self._too_slow(name, quick=True)

    def _too_slow(self, name: str, *, quick: bool) -> str:
        """Why it is left out; empty where it is not."""
        if quick:
            most = SLOW_ABOVE.get(name, self.network.size)
            if self.collective == BROADCAST and name in SLOW_ABOVE:
                most //= 8
            return f"above {most} ranks only on request" if self.network.size > most else ""
        network = self.network_of(name)
        chains = self.schedule(name).chains
        count = sum(
            network.size if move.offset is not None else len(move.pairs)
            for chain in chains
            for step in chain
            for move in step.moves
        )
        by_orbits = all(move.offset is not None for chain in chains for step in chain for move in step.moves)
        return f"{count:,} messages, only on request" if count > MOST_MESSAGES and not by_orbits else ""

    def schedule(self, name: str) -> Schedule:
        """The plan, its start and steps paid for. Raises UsageError or NotPossible."""
        if name not in ALGORITHMS:
            raise UnknownName(
                "algorithm",
                name,
                (AUTO, BEST, *ALGORITHMS),
                try_=f"trnbench fabric algorithms -i {self.fabric.system.name}",
            )
        algorithm = ALGORITHMS[name]
        if self.collective not in algorithm.collectives:
            able = [each.name for each in ALGORITHMS.values() if self.collective in each.collectives]
            raise NotPossible(
                f"{name} does no {self.collective}",
                cause=f"these do: {', '.join(able)}",
                try_=f"--algorithm {able[0]}",
            )
        return self._sized(self.network, name, lambda: algorithm.schedule(self.network, self.collective, 1.0))

    def _sized(self, network: Network, name: str, plan: Callable[[], Schedule]) -> Schedule:
        """A plan of one byte, made once for a network, for this size and with its start paid for."""
        key = f"{name} {self.collective} {self.ranks}"
        made: dict[str, Schedule] = network.memo.setdefault("made", {})
        if key not in made:
            made[key] = charged(plan(), self.constants, self.collective)
        return msgspec.structs.replace(made[key], scale=self.size, key=key)

    def bound(self, network: Network) -> Bound:
        """What no algorithm beats on `network`."""
        return bound_of(network, self.collective, self.size, self.ranks, clustered=self.fabric.clustered)
