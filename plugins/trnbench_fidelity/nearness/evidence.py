"""Published measurements, found again by what they are about; and the class of the nearest of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from trnbench.results.nearness import Nearness
from trnbench_fidelity.nearness.subject import Known, Subject

NEAR = math.log(2.0) + 1e-9
"""Sizes within a factor of 2 of each other count as the same."""

NAMED = 3
"""So many ids of the nearest points are kept with a result."""


class Evidence:
    """All points, filed by generation and group, by program and by operation. Read once, asked often.

    `limits` are published inequalities of collectives in a graph.
    """

    def __init__(self, points: Iterable[Known], limits: Iterable[Known] = ()) -> None:
        self.points, self._limits = tuple(points), tuple(limits)
        self._groups: dict[tuple[str, str], list[Known]] = {}
        self._programs: dict[tuple[str, str, str], list[Known]] = {}
        self._operations: dict[tuple[str, str, str, str], list[Known]] = {}
        self._elsewhere: dict[str, list[Known]] = {}
        for point in self.points:
            of = point.subject
            self._groups.setdefault((of.generation, of.group), []).append(point)
            self._programs.setdefault((of.generation, of.group, of.program), []).append(point)
            self._operations.setdefault((of.generation, of.group, of.operation, of.dtype), []).append(point)
            self._elsewhere.setdefault(of.group, []).append(point)

    def of_group(self, generation: str, group: str) -> Sequence[Known]:
        return self._groups.get((generation, group), ())

    def limit(self, subject: Subject) -> Known | None:
        """The tightest inequality that holds for it: of as much data or more over the same ranks."""
        found = [each for each in self._limits if _bounds(each.subject, subject)]
        return min(found, key=lambda each: (each.value, each.id), default=None)

    def candidates(self, subject: Subject, kind: Nearness) -> Sequence[Known]:
        """Points that would put `subject` into class `kind`, were there none nearer."""
        of = subject
        if kind in (Nearness.SAME, Nearness.KERNEL):
            found = self._programs.get((of.generation, of.group, of.program), ()) if of.program else ()
            if kind is Nearness.SAME:
                return [each for each in found if same_size(of, each.subject)]
            return found
        if kind is Nearness.OPERATION:
            return self._operations.get((of.generation, of.group, of.operation, of.dtype), ())
        if kind is Nearness.FAMILY:
            return self.of_group(of.generation, of.group)
        if kind is Nearness.ELSEWHERE:
            return [e for e in self._elsewhere.get(of.group, ()) if e.subject.generation != of.generation]
        return ()

    def classify(
        self, subject: Subject, without: Callable[[Known], bool] = lambda _: False
    ) -> tuple[Nearness, tuple[Known, ...]]:
        """The class of the nearest evidence, and what is in it, nearest first; `without` removes points."""
        for kind in Nearness:
            left = [candidate for candidate in self.candidates(subject, kind) if not without(candidate)]
            if left:
                return kind, tuple(sorted(left, key=lambda each: (_distance(subject, each.subject), each.id)))
        return Nearness.NONE, ()


def same_size(one: Subject, other: Subject) -> bool:
    """Whether every axis that either states lies within a factor of 2; a size unknown is not the same. Data
    types other than each other's are other sizes of the kernel."""
    if one.dtype != other.dtype or one.sizes.keys() != other.sizes.keys() or not one.sizes:
        return False
    return all(_apart(one.sizes[axis], other.sizes[axis]) <= NEAR for axis in one.sizes)


def _bounds(published: Subject, asked: Subject) -> bool:
    """Whether `asked` takes no longer than `published`: the same collective of no more bytes."""
    rest = {name: size for name, size in asked.sizes.items() if name != "bytes"}
    return (
        (published.generation, published.group, published.program)
        == (asked.generation, asked.group, asked.program)
        and {name: size for name, size in published.sizes.items() if name != "bytes"} == rest
        and asked.sizes.get("bytes", 0.0) <= published.sizes.get("bytes", 0.0)
    )


def _apart(a: float, b: float) -> float:
    """How far two sizes are from each other: |ln|."""
    if a <= 0.0 or b <= 0.0:
        return 0.0 if a == b else math.inf
    return abs(math.log(a / b))


def _distance(one: Subject, other: Subject) -> tuple[int, int, int, float]:
    """To put the nearest first: program, type, axes in common, then their factors multiplied."""
    common: Mapping[str, float] = {axis: size for axis, size in one.sizes.items() if axis in other.sizes}
    return (
        (one.program != other.program) + (one.operation != other.operation),
        int(one.dtype != other.dtype),
        -len(common),
        sum(_apart(size, other.sizes[axis]) for axis, size in common.items()),
    )
