"""The cases of each side, which belong together, and the rounds in which they take turns."""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple, Protocol, TypeAlias

from msgspec.structs import replace

from trnbench.backend import Backend, Program
from trnbench.case_key import CaseKey
from trnbench.compare.change import Side
from trnbench.compare.pairing.operand import Kind, Operand
from trnbench.errors import NothingSelected, TrnbenchError, UsageError
from trnbench.generation import System
from trnbench.isolation.interrupt import CaseTimeout
from trnbench.isolation.output import aside
from trnbench.kernels.kernel import Case
from trnbench.measure.turns import Clock, Turn, Turns, clock_of, lent
from trnbench.record import Record
from trnbench.registry import Registry
from trnbench.results.measurement import Grade, Status
from trnbench.results.statistics import median
from trnbench.run.api import choose_backend, here
from trnbench.run.plan import plan
from trnbench.run.reply import checked_refusal, detected
from trnbench.run.selection import Selection
from trnbench.version import VERSION

SAMPLE_S = 5e-4
"""Of the calls of one turn: most turns are then over before the system gives the processor to another."""

MOST_PAIRS = 16
"""Of a round, however long its preparation takes."""

MOST_LONGER = 4.0
"""How much longer a batch may last where others have the processor for most of its turns."""

TRIAL_TURNS = 7


class Player(Protocol):
    """One of the two: a program here, or in a process of its own."""

    def take(self, calls: int) -> Turn:
        """Time so many calls."""


Ready: TypeAlias = Callable[[bool, int, Callable[[Player, Player], None]], None]
"""Prepares both programs from one seed, the first of the two first where it is told so, hands them over, and
checks what they computed."""


class Course(NamedTuple):
    """How a case is measured: by which clock, how many calls to a turn, how many pairs to a round."""

    clock: Clock
    calls: int
    pairs: int


def side(case: CaseKey, value: float | None, backend: str = "", status: Status = Status.OK) -> Side:
    """A case as a comparison shows it; `value` is None where it could not be measured."""
    return Side(id=case.id, value=value, status=status, grade=Grade.MEASURED, by=backend, version=VERSION)


class Batch(NamedTuple):
    """Rounds of one process, or of one pair of them. `log_ratio` is the median over pairs of the logarithm of
    the second's time over the first's; seconds are those of the case."""

    log_ratio: float
    before_s: float
    after_s: float
    rounds: int
    pairs: int


def trial(ready: Ready) -> Course:
    """The course of a case, from a second round, of which no time is kept: the first one imports."""
    courses: list[Course] = []
    begun = 0.0

    def use(first: Player, second: Player) -> None:
        prepared_s = time.perf_counter() - begun
        call_s = min(player.take(1).wall_s for player in (first, second) for _ in range(3))
        calls = max(1, round(SAMPLE_S / max(call_s, 1e-9)))
        turns = [[player.take(calls) for _ in range(TRIAL_TURNS)] for player in (first, second)]
        clocks = set(map(clock_of, turns))
        pairs = round(prepared_s / (4.0 * calls * call_s))
        clock = clocks.pop() if len(clocks) == 1 else Clock.WALL
        courses.append(Course(clock, calls, min(max(pairs, 2), MOST_PAIRS)))

    for _ in range(2):
        begun = time.perf_counter()
        ready(True, 0, use)
    return courses[-1]


def batch(ready: Ready, course: Course, random: Random, seconds: float) -> Batch:
    """Rounds until `seconds` are over, one at least. By the thread's own clock they are seconds that it had:
    what others take of its turns is added, up to `MOST_LONGER` times."""
    begun = time.monotonic()
    logs: list[float] = []
    times: tuple[list[float], list[float]] = ([], [])
    rounds, had_s, wall_s, longer = 0, 0.0, 0.0, 1.0

    def use(first: Player, second: Player) -> None:
        nonlocal had_s, wall_s
        for _ in range(course.pairs):
            pair, *spent = _pair(first, second, course, random)
            had_s, wall_s = had_s + spent[0], wall_s + spent[1]
            logs.append(math.log(pair[1] / pair[0]))
            for kept, seconds_ in zip(times, pair, strict=True):
                kept.append(seconds_ / (2 * course.calls))

    while not rounds or time.monotonic() - begun < seconds * longer:
        ready(random.random() < 0.5, random.getrandbits(64), use)
        rounds += 1
        if course.clock is Clock.THREAD:
            longer = min(max(wall_s / had_s, 1.0), MOST_LONGER)
    return Batch(median(logs), median(times[0]), median(times[1]), rounds, len(logs))


def _pair(
    first: Player, second: Player, course: Course, random: Random
) -> tuple[Sequence[float], float, float]:
    """What both turns of each say of its case, in an order that the other half turns round; the seconds of
    all, by the clock of the course and by the wall."""
    order = (0, 1, 1, 0) if random.random() < 0.5 else (1, 0, 0, 1)
    pair, had_s, wall_s = [0.0, 0.0], 0.0, 0.0
    for place in order:
        turn = (first, second)[place].take(course.calls)
        turn_s = max(turn.by(course.clock), 1e-9)
        pair[place] += turn_s / turn.repeats
        had_s, wall_s = had_s + turn_s, wall_s + turn.wall_s
    return pair, had_s, wall_s


class Seat(NamedTuple):
    """A case, its system, and who measures it."""

    backend: Backend
    case: Case
    system: System

    def lend(self, seed: int, borrower: Callable[[Turns], object]) -> None:
        """Prepare the program, hand it over, and check its output. Raises `Unfit` where that goes wrong."""
        handed = False

        def use(program: Program) -> object:
            nonlocal handed
            handed = True
            turns = Turns(program)
            borrower(turns)
            return turns.output

        random.seed(seed)
        if (numpy := sys.modules.get("numpy")) is not None:
            numpy.random.seed(seed % (1 << 32))
        try:
            with aside(), lent(use):
                seen = self.backend.observe(self.case, self.system)
        except (Unfit, CaseTimeout):
            raise
        except TrnbenchError as error:
            raise Unfit(f"{self.case.id}: {error.what}", cause=error.cause) from error
        except Exception as error:
            raise Unfit(f"{self.case.id}: {type(error).__name__}: {error}") from error
        if seen.reason_text:
            raise Unfit(f"{self.case.id}: {seen.reason_text}")
        if not handed:
            raise Unfit(
                f"backend {self.backend.name!r} measures {self.case.id} without trnbench.observe",
                cause="its program is in another process, and cannot be called in turns",
                try_="trnbench run, twice, then trnbench compare",
            )


class Unfit(TrnbenchError):
    """A case that cannot be measured in turns: its result is wrong, or its program is out of reach."""


def ready_of(first: Seat, second: Seat) -> Ready:
    """Of two cases: while the one lends its program, the other prepares its own."""

    def ready(first_first: bool, seed: int, use: Callable[[Player, Player], None]) -> None:
        outer, inner = (first, second) if first_first else (second, first)

        def both(mine: Turns) -> None:
            def other(theirs: Turns) -> None:
                use(mine, theirs) if first_first else use(theirs, mine)

            inner.lend(seed, other)

        outer.lend(seed, both)

    return ready


class Wish(Record, kw_only=True):
    """What is asked beside the two sides: the words of the options of the same names."""

    backend: str = ""
    kernels: tuple[str, ...] = ()
    keyword: str = ""
    axes: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    sample_s: float = 0.0
    seed: int = 0


def measuring(registry: Registry, name: str) -> Backend:
    """The backend called `name`; for "", or one that measures nothing, the first that measures here.

    Raises `UnknownName`, and `UsageError` where none measures.
    """
    if name:
        chosen = choose_backend(registry, name)
        if detected(chosen).instance:
            return chosen
        raise UsageError(
            f"backend {name!r} measures nothing",
            cause="what it tells is exact: it needs no pairs",
            try_="trnbench compare RUN RUN; or --backend host",
        )
    for backend in registry.backends.values():
        found = detected(backend)
        if found.available and found.instance:
            return backend
    raise UsageError(
        "no backend measures here", cause="pairs are measured, not emulated", try_="trnbench doctor"
    )


def seats(registry: Registry, wish: Wish, side: Operand) -> list[Seat]:
    """The cases of one side that can run. Raises `NothingSelected`, and what a plan raises."""
    backend = measuring(registry, wish.backend)
    selection = Selection.of(
        kernels=(side.typed,) if side.kind is Kind.KERNEL else wish.kernels,
        keyword=wish.keyword,
        axes=(*wish.axes, side.typed) if side.kind is Kind.SETTING else wish.axes,
    )
    facts = (*wish.facts, side.typed) if side.kind is Kind.FACTS else wish.facts
    planned = plan(registry, here(selection, backend), extra_facts=tuple(map(Path, facts)))
    placed = [Seat(backend, case, planned.systems[case.key.instance]) for case in planned.runnable]
    whys = [checked_refusal(backend, backend.unsupported(seat.case, seat.system)) for seat in placed]
    fit = [seat for seat, why in zip(placed, whys, strict=True) if not why]
    if not fit:
        raise NothingSelected(
            f"backend {backend.name!r} can measure no case of {side.typed}",
            cause=next(iter(whys), "each is skipped"),
            try_="trnbench run --dry-run --backend NAME  says why",
        )
    return fit


def keyed(own: Sequence[Seat], side: Operand) -> dict[str, CaseKey]:
    """The cases of one side, by what they are called but for what the two sides differ in."""
    free = side.axis.rpartition(".")[2] if side.kind is Kind.SETTING else ""
    return {_key(seat.case.key, free, named=side.kind is not Kind.KERNEL): seat.case.key for seat in own}


def _key(case: CaseKey, free: str, *, named: bool) -> str:
    point = {axis: value for axis, value in case.point.items() if axis != free}
    return replace(case, kernel=case.kernel if named else "", point=point).joint


class Duel(NamedTuple):
    """Two cases that belong together, by their places on each side."""

    first: int
    second: int


def duels(first: Mapping[str, CaseKey], second: Mapping[str, CaseKey]) -> dict[Duel, tuple[CaseKey, CaseKey]]:
    """What both sides have. Raises `NothingSelected` where that is nothing."""
    places = {key: place for place, key in enumerate(second)}
    together = {
        Duel(place, places[key]): (case, second[key])
        for place, (key, case) in enumerate(first.items())
        if key in places
    }
    if not together:
        one, two = (next(iter(cases.values())).id for cases in (first, second))
        raise NothingSelected(
            "the two sides have no case in common",
            cause=f"such as {one} of the first and {two} of the second",
            try_="-a NAME=VALUE  sets an axis of both sides",
        )
    return together
