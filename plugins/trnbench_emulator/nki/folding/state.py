"""What the names of a kernel hold between two rounds of a loop, in a form that can be compared."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from enum import Enum
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType
from typing import Any

import msgspec
import numpy as np

from trnbench_emulator.nki.dtype import DType
from trnbench_emulator.nki.jit import Kernel
from trnbench_emulator.nki.loop_index import Index, Watched
from trnbench_emulator.nki.memory import AGES, Form
from trnbench_emulator.nki.tensor import NkiTensor

State = tuple[Any, ...]

_REMEMBERED = 64  # periods: tiles of names are younger
_MISSING = ("no value",)
_PLAIN = (int, float, complex, str, bytes, bool, type(None), slice, range, Form)
_SAME = (DType, Enum, Kernel, type, FunctionType, BuiltinFunctionType, ModuleType)


class Held(msgspec.Struct, eq=False, gc=False):
    """A tile in a name, by the `age` of its life. `told`: the round and place at which it was made, counted
    back from now, or that it is older than the loop.
    """

    age: int
    told: tuple[Any, ...]

    @property
    def made(self) -> bool:
        """By a round."""
        return bool(self.told[0] == "made")


def alike(before: State, after: State) -> frozenset[int] | None:
    """Does the next period start from the same as the last one? Of two tiles in one place, one is the other,
    or was made a period later in the same place of its round, and so wherever names hold them.

    Returns the ages of the latter, and None where it does not.
    """
    later: dict[int, int] = {}
    if not _alike(before, after, later, {}):
        return None
    return frozenset(successor for former, successor in later.items() if former != successor)


def _alike(before: Any, after: Any, later: dict[int, int], earlier: dict[int, int]) -> bool:
    if type(before) is not type(after):
        return False
    if type(before) is Held:
        if before.age != after.age and before.told != after.told:
            return False
        first, second = before.age, after.age
        return later.setdefault(first, second) == second and earlier.setdefault(second, first) == first
    if type(before) is tuple:
        return len(before) == len(after) and all(
            _alike(first, second, later, earlier) for first, second in zip(before, after, strict=True)
        )
    return bool(before == after)


class Names:
    """The names of one loop. `told` is `alike` before and after a period when the next period starts from the
    same: a tile of a round stands for the one that the next round makes in its place, one that stays for
    itself, and numbers that move with the loop are compared without what it has added.
    """

    __slots__ = ("ages", "frame", "loop", "number", "rounds")

    def __init__(self, frame: FrameType, loop: Watched) -> None:
        self.frame = frame
        self.loop = loop
        self.number = 0
        self.ages: list[int] = []  # at the beginning of each round that was executed
        self.rounds: list[int] = []  # their numbers

    def begin(self, number: int) -> None:
        """Round `number` begins."""
        self.ages.append(AGES.next)
        self.rounds.append(number)

    def told(self, names: tuple[str, ...], number: int, *, same: bool) -> State:
        """Of `names`, after `number` rounds. `same`: a list may be changed, so that it is told which one."""
        if not names:
            return ()
        self.number = number
        held = self.frame.f_locals
        seen: dict[int, int] | None = None if same else {}
        snapshot = tuple([self._told(held.get(name, _MISSING), seen) for name in names])
        _dropped(held)
        return snapshot

    def advance(self, names: Iterable[str], rounds: int, period: int, tiles: Collection[int]) -> None:
        """Move names as if `rounds` more, which repeat the last `period`, had been executed. Numbers move
        as far as the loop would; `tiles` (by age) become those of the last round.
        """
        per_round = AGES.next - self.ages[-period]
        AGES.next += per_round * (rounds // period)
        # Of rounds long ago no name holds anything that was made in them.
        first = max(rounds // period - _REMEMBERED, 0) * period
        ages, number = self.ages[-period:], self.rounds[-1] + 1
        for turn in range(first, rounds):
            self.ages.append(ages[turn % period] + per_round * (turn // period + 1))
            self.rounds.append(number + turn)
        held = self.frame.f_locals
        parts = {id(value): value for name in names for value in _parts(held.get(name))}
        lives = {
            id(value.storage.life): value.storage.life for value in parts.values() if type(value) is not Index
        }
        for value in parts.values():
            if type(value) is Index:
                value.value += value.slopes.get(self.loop, 0) * rounds
        for life in lives.values():
            if life.age in tiles:
                life.age += per_round * (rounds // period)
        _dropped(held)

    def _told(self, value: Any, seen: dict[int, int] | None) -> Any:
        if type(value) in _PLAIN:
            return (type(value), value)
        if isinstance(value, NkiTensor):
            index = getattr(value, "index", None)
            more = None if index is None else self._told(index, seen)
            return (self._tile(value), value.form, value.offset, type(value), more)
        if isinstance(value, Index):
            moved = value.value - value.slopes.get(self.loop, 0) * self.number
            return ("index", moved, tuple((id(item), by) for item, by in value.slopes.items() if item.open))
        if isinstance(value, tuple):
            return (type(value), tuple([self._told(item, seen) for item in value]))
        if type(value) in (list, dict):
            return self._container(value, seen)
        if isinstance(value, np.generic):
            return (type(value), value.item())
        if isinstance(value, _SAME):
            return ("the same", id(value))
        return object()  # equal to nothing

    def _tile(self, tile: NkiTensor) -> Held:
        age = tile.storage.life.age
        at = bisect_right(self.ages, age) - 1
        if at < 0:
            return Held(age, ("before", age))
        return Held(age, ("made", self.number - self.rounds[at], age - self.ages[at]))

    def _container(self, value: Any, seen: dict[int, int] | None) -> Any:
        """One that holds what a round made was made by a round itself; else it matters which one it is.

        `seen`: those met before, because two names may hold one.
        """
        if seen is None:
            again = None
        else:
            again = seen.get(id(value))
            if again is not None:
                return ("again", again)
            seen[id(value)] = len(seen)
        parts = value if type(value) is list else [member for item in value.items() for member in item]
        inside = tuple([self._told(entry, seen) for entry in parts])
        fresh = seen is not None and any(_made(entry) for entry in inside)
        return (type(value), 0 if fresh else id(value), inside)


def _made(told: Any) -> bool:
    """Is there a tile of a round in it?"""
    if type(told) is Held:
        return told.made
    return isinstance(told, tuple) and any(_made(entry) for entry in told)


def _parts(value: Any) -> Iterator[Any]:
    """Numbers that move with a loop, and tensors."""
    if isinstance(value, (Index, NkiTensor)):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _parts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _parts(item)


def _dropped(held: dict[str, Any]) -> None:
    """A frame's names come as a copy, which would keep tiles alive."""
    if sys.version_info < (3, 13):
        held.clear()
