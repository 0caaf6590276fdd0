"""Loops of a kernel over numbers that are known, Python's own `range` among them, while it is recorded.

Whoever records it learns where rounds begin. Rounds that repeat those before are not executed: see
`trnbench_emulator.nki.folding`.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import index
from types import FrameType
from typing import Any, overload

import msgspec

from trnbench_emulator.nki.folding.plan import Plan, plan_of
from trnbench_emulator.nki.folding.state import Names, State, alike
from trnbench_emulator.nki.loop_index import Index, Watched, pinned, settled, skipped
from trnbench_emulator.nki.recording import STATE, Folds, Recording

_LEAST = 4  # rounds: fewer cost more to compare than to execute
_LONGEST = 8  # rounds of a period
_FAILURES = 3
_GAIN = 300  # instructions: to leave out fewer costs more than to execute them
_LEFT = 100  # instructions: so few that follow are not worth another look


class Site:
    """A loop in the kernel's text, over all times that it is executed: is it worth watching?"""

    __slots__ = ("failures", "length", "plan")

    def __init__(self, plan: Plan | None) -> None:
        self.plan = plan
        self.length = 0  # instructions of a round; 0 while that is not known
        self.failures = 0

    def promising(self, rounds: int) -> bool:
        if self.plan is None or rounds < _LEAST or self.failures >= _FAILURES:
            return False
        return not self.length or (rounds - _LEAST + 1) * self.length >= _GAIN


class _Round(msgspec.Struct):
    """After a round: how many more answer its comparisons alike, and what the kernel's names hold. `later`:
    those that matter after the loop only.
    """

    rounds_left: int
    between: list[Index]
    state: State
    later: State
    hbm_bytes: int


class Rounds(Sequence[Any]):
    """What `range` gives, with passes over it that may be folded reported to the recording."""

    __slots__ = ("recorder", "slopes", "values")

    def __init__(self, start: Any, stop: Any, step: Any, recorder: Recording) -> None:
        self.recorder = recorder
        if type(start) is type(stop) is type(step) is int:
            self.values, self.slopes = range(start, stop, step), {}
            return
        start, stop = (bound if isinstance(bound, Index) else index(bound) for bound in (start, stop))
        first = settled(start)
        # Another number of rounds is another loop.
        self.values = range(first, first + pinned(stop - start), index(step))
        self.slopes = start.slopes if isinstance(start, Index) else {}

    def __iter__(self) -> Iterator[Any]:
        recorder = self.recorder
        if len(self.values) >= _LEAST:
            frame = sys._getframe(1)
            site: Site | None = recorder.sites.get((frame.f_code, frame.f_lineno))
            if site is None:
                site = recorder.sites[frame.f_code, frame.f_lineno] = Site(plan_of(frame))
            if site.promising(len(self.values)):
                return self._watched(site, frame)
        return map(self._moving, self.values) if self.slopes else iter(self.values)

    def _watched(self, site: Site, frame: FrameType) -> Iterator[Any]:
        recorder, count, plan = self.recorder, len(self.values), site.plan
        folds = recorder.folds
        assert folds is not None
        assert plan is not None
        loop, watching, number = Watched(), True, 0
        site.failures += 1  # until it has succeeded
        slopes = {**self.slopes, loop: self.values.step}
        past: list[_Round] = []
        names = Names(frame, loop)
        folds.watch()
        STATE.watching += 1
        try:
            while number < count:
                value, begin = self.values[number], recorder.count
                number += 1
                if not watching:
                    yield self._moving(value)
                    continue
                folds.round()
                loop.begin_round()
                names.begin(number - 1)
                yield Index(value, slopes)
                site.length = max(recorder.count - begin, 1)
                state = names.told((*plan.carried, *plan.grown), number, same=bool(plan.grown))
                later = names.told(plan.last, number, same=bool(plan.grown))
                past.append(_Round(loop.rounds_left, loop.between, state, later, recorder.hbm_bytes))
                rounds, tiles = self._skip(folds, loop, past, count - number)
                number += rounds
                if rounds:
                    names.advance((*plan.carried, *plan.last), rounds, loop.period, tiles)
                    past, site.failures = [], 0
                needed = max(2 * loop.period - len(past), 0) + loop.period
                vain = len(past) >= 3 * loop.period + _FAILURES
                vain = vain or (len(past) > 1 and not past[-1].rounds_left and not past[-2].rounds_left)
                vain = vain or (count - number) * site.length < _LEFT
                if vain or loop.period > _LONGEST or count - number < needed:
                    watching = False
                    folds.unwatch()
                    STATE.watching -= 1
        finally:
            loop.open = False
            if watching:
                folds.unwatch()
                STATE.watching -= 1

    def _skip(self, folds: Folds, loop: Watched, past: list[_Round], left: int) -> tuple[int, frozenset[int]]:
        """Leave out those of the `left` rounds that surely repeat the last ones. Returns how many, and
        which tiles in names they would have made again.
        """
        period, none = loop.period, (0, frozenset[int]())
        if len(past) < 2 * period or len(past) < period + 1:
            return none
        last, before = past[-1], past[-1 - period]
        later = alike(before.later, last.later)
        if later is None:
            left -= 1  # the last round gives names their values
        times = min(left, *(former.rounds_left for former in past[-period:])) // period
        if times < 1 or last.hbm_bytes != before.hbm_bytes:
            return none
        tiles = alike(before.state, last.state)
        if tiles is None:
            return none
        recorder = self.recorder
        times, instructions = folds.skip(period, times, recorder.most - recorder.count)
        if not times:
            return none
        recorder.left_out(instructions)
        for former in past[-period:]:
            for value in former.between:
                skipped(loop, value, times * period)
        return times * period, tiles | (later or frozenset())

    @property
    def start(self) -> Any:
        return self._moving(self.values.start)

    @property
    def stop(self) -> Any:
        return self._moving(self.values.stop)

    @property
    def step(self) -> int:
        return self.values.step

    def _moving(self, value: int) -> Any:
        return Index(value, self.slopes) if self.slopes else value

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Any]: ...
    def __getitem__(self, at: Any) -> Any:
        values = self.values[at]
        if isinstance(values, int):
            return self._moving(values)
        return [self._moving(value) for value in values] if self.slopes else values

    def __contains__(self, value: object) -> bool:
        if not self.slopes:
            return value in self.values
        return any(self._moving(number) == value for number in self.values)

    def count(self, value: Any) -> int:
        return sum(self._moving(number) == value for number in self.values)

    def __reversed__(self) -> Iterator[Any]:
        return map(self._moving, reversed(self.values))

    def __eq__(self, other: object) -> bool:
        return self.values == (other.values if isinstance(other, Rounds) else other)

    def __hash__(self) -> int:
        return hash(self.values)

    def __repr__(self) -> str:
        return repr(self.values)


def numbers(start: Any, stop: Any, step: Any, recorder: Recording) -> Sequence[Any]:
    """What `range` gives: itself where it is too short to fold, and no other loop moves it."""
    if type(start) is type(stop) is type(step) is int:
        plain = range(start, stop, step)
        if len(plain) < _LEAST:
            return plain
    return Rounds(start, stop, step, recorder)


_NAME = "range"


class _Range(type):
    """`isinstance` and attributes as those of Python's class."""

    def __call__(cls, *args: Any) -> Any:
        recorder: Recording | None = STATE.recorder
        if recorder is None or recorder.folds is None:
            return builtins.range(*args)
        if Index not in map(type, args):
            plain = builtins.range(*args)  # says what is wrong with them
            return Rounds(plain.start, plain.stop, plain.step, recorder) if len(plain) >= _LEAST else plain
        start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
        return Rounds(start, stop, step, recorder)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, (builtins.range, Rounds))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, (builtins.range, Rounds))

    def __eq__(cls, other: object) -> bool:
        return other is builtins.range or other is cls

    def __hash__(cls) -> int:
        return hash(builtins.range)

    def __repr__(cls) -> str:
        return repr(builtins.range)

    def __getattr__(cls, name: str) -> Any:
        return getattr(builtins.range, name)


Range = _Range(_NAME, (), {"__module__": __name__, "__doc__": builtins.range.__doc__})


@contextmanager
def loops_of_python(function: Any) -> Iterator[None]:
    """While open, `range` in the file of `function` makes loops that whoever records it learns of.

    A file that has a `range` of its own keeps it.
    """
    names = getattr(function, "__globals__", None)
    if names is None or _NAME in names:
        yield
        return
    names[_NAME] = Range
    try:
        yield
    finally:
        names.pop(_NAME, None)
