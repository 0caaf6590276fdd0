"""Schedules of one question by every algorithm that can, and the networks that carry them out."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from msgspec.structs import replace

from trnbench.errors import UnknownName, UsageError
from trnbench_emulator.fabric.algorithms import ALGORITHMS, OVER_INSTANCES
from trnbench_emulator.fabric.algorithms.algorithm import ALL_GATHER, AUTO, BEST, COLLECTIVES, NotPossible
from trnbench_emulator.fabric.bound import Bound, bound_of, pattern_bound, uneven_bound
from trnbench_emulator.fabric.constants import Rule
from trnbench_emulator.fabric.groups import check_groups, check_several, pattern
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.question import EVEN_OF, PATTERNS, Question
from trnbench_emulator.fabric.schedule import Chains, Schedule
from trnbench_emulator.fabric.solve import Carried, busy_ticks, solve_beside, within
from trnbench_emulator.fabric.systems import Fabric, fabric_of
from trnbench_emulator.fabric.transform import fractions, side_by_side, spread, with_shares

MOST_MESSAGES = 100_000
"""Messages of a plan, repetitions not counted, above which `best` leaves it out: some seconds."""
KEPT_PARTS = 8
"""Sets of groups whose networks are kept."""
MOST_UNEVEN = 2_500_000
"""Messages times different shares that are carried out unasked: each share is another rhythm on the links.
128 ranks that all differ take some 10 s of processor time, 256 minutes.
"""


class Planner:
    """Of one question, what is `beside` it left aside. `ranks`: how many take part, of one group where there
    are some; `collective` and `size`: what they carry out. With `every_rank` a cluster is built rank by rank.

    Raises UsageError for what is unknown or makes no sense, NotPossible for too few ranks and for too many
    unlike shares, TopologyError where ranks are too many or not connected.
    """

    def __init__(self, fabric: Fabric, question: Question, *, every_rank: bool = False) -> None:
        self.fabric, self.question, self.every_rank = fabric, question, every_rank
        self.constants = fabric.constants
        self.groups = question.groups
        self.messages = question.collective in PATTERNS
        self.uneven = question.collective in EVEN_OF
        if self.groups:
            check_groups(self.groups, fabric.size)
        if question.ranks and (self.groups or question.beside) and not self.messages:
            raise UsageError(
                "some ranks alone have no groups and nothing beside them",
                cause="beside others every rank of the system is on the links",
                try_="these ranks as the only one of groups",
            )
        everyone = not (question.ranks or self.groups)
        self.ranks = len(self.groups[0]) if self.groups else len(question.ranks) or fabric.size
        self.collective, self.size = question.carried(self.ranks)
        self.over_instances = (
            fabric.clustered
            and everyone
            and not (self.uneven or self.messages or question.beside or every_rank)
        )
        if self.over_instances:
            self.network = fabric.standing()
        elif self.messages or self.groups:
            inside = question.inside(fabric.ranks_per_device)
            self.network = fabric.network_inside if inside else fabric.network
        else:
            self.network = fabric.network_of(question.ranks or None)
        if not (self.groups or self.messages):
            check_several(self.ranks, fabric.system.name, fabric.options.level)
        self.parts = self._checked_shares() if self.uneven else ()

    def _checked_shares(self) -> tuple[float, ...]:
        shares, count = self.question.shares or (1.0,) * self.ranks, len(self.groups) or 1
        if len(shares) != self.ranks:
            raise UsageError(
                f"{len(shares)} shares for {self.ranks} ranks",
                cause="every rank has one, 0 included",
                try_=f"{self.ranks} shares",
            )
        different = len({share for share in fractions(shares) if share})
        messages = count * self.ranks * (self.ranks - 1)
        much = messages > MOST_MESSAGES or messages * different > MOST_UNEVEN
        if different > 1 and much and not self.fabric.options.exact:
            raise NotPossible(
                f"{different:,} different shares on {count * self.ranks:,} ranks take minutes or more",
                cause=f"{messages:,} messages that all compete unevenly",
                try_="a smaller system, fewer different shares, --group, or --exact to wait for it",
            )
        return fractions(shares)

    @cached_property
    def able(self) -> tuple[str, ...]:
        """Algorithms that do this collective, wherever they can."""
        if self.over_instances:
            return tuple(n for n, each in OVER_INSTANCES.items() if self.collective in each.collectives)
        return tuple(
            name
            for name, algorithm in ALGORITHMS.items()
            if self.collective in (algorithm.uneven if self.uneven else algorithm.collectives)
        )

    @cached_property
    def quick(self) -> tuple[str, ...]:
        """Of these, those that `auto` may take, however many the ranks are."""
        return tuple(name for name in self.able if self.over_instances or ALGORITHMS[name].auto)

    @property
    def instances(self) -> int:
        """How many instances the ranks lie on, of one group where there are some."""
        if self.over_instances:
            return self.fabric.system.size
        network = self.network
        taking = self.groups[0] if self.groups else range(network.size)
        return len({network.nodes[network.ranks[rank]].host for rank in taking})

    @property
    def rule(self) -> Rule | None:
        """What the runtime was observed to take for exactly such a question; None where nothing was."""
        rules = () if self.uneven else rules_on(self.fabric, self.instances)
        asked = (rule for rule in rules if self.collective in rule.collectives and self.ranks in rule.ranks)
        return next(asked, None)

    def carried(self, name: str, beside: Chains = ()) -> Carried:
        """By the algorithm of this name, while others run beside; alone within the limits of the question.
        Raises what `schedule` raises.
        """
        schedule, network = self.schedule(name), self.network_of(name)
        # Messages are few: they are simulated whatever it takes.
        most = 0 if self.messages else self.fabric.most_effort
        own = Carried(schedule, network, solve_beside(network, schedule, beside, most=most), beside)
        return (
            own if beside else within(own, *(each._possible(name) if each else None for each in self._limits))
        )

    @cached_property
    def _limits(self) -> list[Planner | None]:
        """Of `Question.limits`; None where it is the same question."""
        return [self._of(limit) if limit else None for limit in self.question.limits()]

    @cached_property
    def punctual(self) -> Planner:
        """Of the same ranks, none of them late."""
        return self._of(replace(self.question, late=()))

    def _of(self, other: Question) -> Planner:
        return Planner(fabric_of(other.system, other.options), other, every_rank=self.every_rank)

    def _possible(self, name: str) -> Carried | None:
        """As `carried`; None where the algorithm does not do this."""
        try:
            return self.carried(name)
        except NotPossible:
            return None

    def least_ticks(self, name: str) -> int:
        """What the time by this algorithm cannot be below. Raises what `schedule` raises."""
        return busy_ticks(self.network_of(name), self.schedule(name))

    def network_of(self, name: str) -> Network:
        """Where this algorithm runs."""
        if self.over_instances and name in OVER_INSTANCES:
            return self.fabric.standing(pipelined=OVER_INSTANCES[name].pipelined)
        return self.network

    def schedule(self, name: str) -> Schedule:
        """The plan, its start and steps paid for. Raises UsageError for a name that is none, NotPossible
        where the algorithm does not do this collective, or not on these ranks.
        """
        if self.messages:
            plan = pattern(self.collective, self.question.ranks, self.network.size, self.constants)
            return replace(plan, scale=self.size)
        self._check(name)
        if self.over_instances:
            algorithm, count = OVER_INSTANCES[name], self.fabric.system.size
            network = self.network_of(name)
            return self._planned(
                network, name, lambda: algorithm.over_instances(network, self.collective, 1.0, count)
            )
        if not self.groups:
            schedule = self._on(self.network, name)
            alike = len(set(self.parts)) == 1
        else:
            schedule, alike = self._of_groups(name), False
        if self.uneven and not alike:
            groups = self.groups or (range(self.ranks),)
            sent = self.collective == ALL_GATHER
            shared = with_shares(schedule, self.network, groups, self.parts, sent=sent)
            return replace(shared, scale=self.size)
        return schedule

    def bound(self, schedule: Schedule, network: Network, *, reached: bool = False) -> Bound:
        """What no algorithm beats: of one group that has the links to itself, where there are some.
        `reached`: at the rates that the fitted shares leave of documented ones."""
        if self.messages:
            return pattern_bound(network, schedule, reached=reached)
        if self.groups:
            network = self.fabric.build(self.fabric.topology, self.groups[0])
        clustered = self.fabric.clustered
        if self.uneven:
            return uneven_bound(
                network, self.collective, self.size, self.parts, clustered=clustered, reached=reached
            )
        return bound_of(network, self.collective, self.size, self.ranks, clustered=clustered, reached=reached)

    def too_many(self, name: str, *, quick: bool) -> str:
        """Why this algorithm is not tried: more ranks than are `quick`ly answered, or more messages than in
        some seconds; empty where it is.
        """
        if self.over_instances:
            return ""
        if quick:
            most = ALGORITHMS[name].most_ranks(self.collective)
            return f"above {most} ranks only on request" if most and self.network.size > most else ""
        moves = [move for chain in self.schedule(name).chains for step in chain for move in step.moves]
        if all(move.offset is not None for move in moves):
            return ""
        count = sum(self.network.size if move.offset is not None else len(move.pairs) for move in moves)
        return f"{count:,} messages, only on request" if count > MOST_MESSAGES else ""

    @cached_property
    def _planned_on(self) -> list[Network]:
        """For every group the links among its own devices where they join it, else all of them.

        The latest are kept with the network: groups are asked again for each size and collective.
        """
        parts: dict[tuple[tuple[int, ...], ...], list[Network]] = self.network.memo.setdefault("parts", {})
        if self.groups not in parts:
            if len(parts) >= KEPT_PARTS:
                parts.pop(next(iter(parts)))
            parts[self.groups] = [self._alone(group) for group in self.groups]
        return parts[self.groups]

    def _alone(self, group: tuple[int, ...]) -> Network:
        part = self.network.part(group)
        reached = part.ways.distances(part.ranks[0])
        joined = all(reached[rank] >= 0 for rank in part.ranks)
        return part if joined else self.fabric.build(self.fabric.topology, group)

    def _on(self, network: Network, name: str) -> Schedule:
        return self._planned(network, name, lambda: ALGORITHMS[name].schedule(network, self.collective, 1.0))

    def _of_groups(self, name: str) -> Schedule:
        """As `_planned`, of all groups side by side."""

        def plan() -> Schedule:
            planned = [self._on(part, name) for part in self._planned_on]
            spreads = map(spread, planned, self._planned_on, self.groups)
            return side_by_side(list(spreads), self.ranks)

        return self._planned(self.network, name, plan, self.groups)

    def _planned(
        self, network: Network, name: str, plan: Callable[[], Schedule], groups: object = ""
    ) -> Schedule:
        """A plan of one byte, made once for a network, for this size and with its start paid for."""
        key = f"{name} {self.collective} {groups or self.ranks}"
        plans: dict[str, Schedule] = network.memo.setdefault("plans by name", {})
        if key not in plans:
            plans[key] = self.constants.charged(plan(), self.collective)
        return replace(plans[key], scale=self.size, key=key)

    def _check(self, name: str) -> None:
        what = self.question.collective if self.uneven else self.collective
        if name not in ALGORITHMS and name not in OVER_INSTANCES:
            raise UnknownName(
                "algorithm",
                name,
                (AUTO, BEST, *ALGORITHMS),
                try_=f"trnbench fabric algorithms -i {self.fabric.system.name}",
            )
        if name not in self.able:
            elsewhere = "" if name in ALGORITHMS else " but over a whole cluster"
            raise NotPossible(
                f"{name} does no {what}{' over a cluster' if self.over_instances else elsewhere}",
                cause=f"these do: {', '.join(self.able)}",
                try_=f"--algorithm {self.able[0]}",
            )


def rules_on(fabric: Fabric, instances: int) -> list[Rule]:
    """What was observed of its generation on so many instances, in its context; ranks are cores there."""
    options = fabric.options
    asked = (fabric.system.generation.name, options.context, instances)
    return [
        rule
        for rule in fabric.constants.rules
        if options.level != "device" and (rule.generation, rule.context, rule.instances) == asked
    ]


def algorithms_of(fabric: Fabric) -> tuple[str, ...]:
    """Every algorithm that there is for such a system."""
    if not fabric.clustered:
        return tuple(ALGORITHMS)
    named = (n for c in COLLECTIVES for n, each in OVER_INSTANCES.items() if c in each.collectives)
    return tuple(dict.fromkeys(named))
