"""What a collective algorithm yields: chains of steps, each step the same verb for every rank."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from trnbench.record import Record


class Move(Record, kw_only=True):
    """`size` bytes from each sender to its receiver, all at once.

    Either `offset`, a translation that every rank sends along, or explicit `pairs` of ranks.
    `reads` and `writes` are accesses of the sender's and the receiver's memory per byte carried:
    a copy reads once and writes once; a reduction at the end also reads the operand. `copies` flows
    alike go from each sender, each of `size`: to servers that are alike and stand for each other, each for
    as many as there are of them over those that stand.

    `direct`: one of many messages that a rank has under way to several others at once. Each takes its share
    of links from the arrival of its first byte on, so that nearer ones have them while another is on a
    longer way. Otherwise the way follows the last byte: the next step of a chain waits for it.
    """

    size: float
    offset: tuple[int, ...] | None = None
    pairs: tuple[tuple[int, int], ...] = ()
    reads: float = 1.0
    writes: float = 1.0
    copies: float = 1.0
    direct: bool = False


class Step(Record, kw_only=True):
    """Moves that start together; the whole step is done `times` times, one after the other."""

    moves: tuple[Move, ...]
    times: int = 1

    @classmethod
    def of(cls, *moves: Move, times: int = 1) -> Step:
        return cls(moves=moves, times=times)


Chains = tuple[tuple[Step, ...], ...]
"""Steps of every chain, in order."""


class Schedule(Record, kw_only=True):
    """`chains` run at the same time and share links. Within a chain a rank begins a step when all
    it sends and receives in the step before is done.

    `algorithm` names it; `startup` and `per_message` are seconds charged once and per step at the
    ends (from costs, each with its fitting points). `scale` multiplies the size of every move: a plan is
    made once and carried out for many sizes. `key` names such a plan, so that what is found out about it
    is kept with the network; empty for one of its own.
    """

    algorithm: str
    chains: Chains
    startup_s: float = 0.0
    per_message_s: float = 0.0
    note: str = ""
    lockstep: bool = False
    scale: float = 1.0
    key: str = ""

    @property
    def steps(self) -> int:
        """Length of the longest chain, repetitions counted."""
        return max((sum(step.times for step in chain) for chain in self.chains), default=0)

    def with_moves(self, changed: Callable[[Move], Move]) -> Schedule:
        """The same steps with other moves: a plan of its own."""
        chains = tuple(
            tuple(Step(moves=tuple(map(changed, step.moves)), times=step.times) for step in chain)
            for chain in self.chains
        )
        return replace(self, chains=chains, key="")

    def sized(self) -> Schedule:
        """The same with every move in bytes, to be put together with others."""
        sized = self.with_moves(lambda move: replace(move, size=move.size * self.scale))
        return replace(sized, scale=1.0)
