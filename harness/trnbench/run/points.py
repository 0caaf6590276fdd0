"""From a kernel's axes and what was typed to points: cross, zip, exclude, and words that cases answer to."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import product
from typing import TypeAlias

from trnbench.case_key import Value
from trnbench.errors import TrnbenchError, UnknownName, UsageError, listed
from trnbench.kernels.kernel import MAX_POINTS, Axis, Kernel, Point
from trnbench.record import Record
from trnbench.run.axes import (
    Exclusion,
    Sides,
    Sweep,
    alike,
    axis_name,
    check_axes,
    parse_exclusion,
    parse_sweep,
)
from trnbench.run.selection import Selection

Values: TypeAlias = tuple[Value | Sides, ...]

Combined: TypeAlias = tuple[tuple[dict[str, Value], ...], tuple[str, ...]]
"""Points, and why others make no case."""


class Points(Record, kw_only=True):
    """What was typed about axes, checked against the kernels it is for."""

    sweeps: tuple[Sweep, ...] = ()
    zips: tuple[tuple[str, ...], ...] = ()
    exclusions: tuple[Exclusion, ...] = ()
    dtypes: tuple[str, ...] = ()

    @classmethod
    def of(cls, selection: Selection, kernels: Sequence[Kernel], installed: Iterable[Kernel] = ()) -> Points:
        """Raises `UsageError` and `UnknownName` for what no kernel of the selection can mean; of all that are
        `installed` it names one that can."""
        points = cls(
            sweeps=tuple(parse_sweep(typed) for typed in selection.axes),
            zips=tuple(_parse_zip(typed) for typed in selection.zips),
            exclusions=tuple(parse_exclusion(typed) for typed in selection.excludes),
            dtypes=selection.dtypes,
        )
        spoken = [name for group in points.zips for name in group]
        spoken += [term.axis for exclusion in points.exclusions for term in exclusion.terms]
        installed = tuple(installed)
        check_axes(points.sweeps, spoken, kernels, installed)
        _check_dtypes(points.dtypes, kernels)
        terms = [term for exclusion in points.exclusions for term in exclusion.terms if term.axis == "dtype"]
        if installed:  # a type that only other kernels have may be left out for good, in the configuration
            _check_dtypes([term.value for term in terms], installed, "--exclude dtype=")
        return points

    def combine(self, kernel: Kernel, *, wide: bool) -> Combined:
        """The points of `kernel`, in the order of its axes, and why others make no case.

        `wide` takes the shorter sweeps meant for more than one core.
        """
        values, typed = self.values(kernel, wide=wide)
        if any(not options for options in values.values()):
            return (), ()
        steps = [_steps(kernel, group, values) for group in self._groups(kernel, typed)]
        count = math.prod(len(options) for options in steps)
        if count > MAX_POINTS:
            shape = " × ".join(f"{len(typed)} of {name}" for name, typed in values.items() if len(typed) > 1)
            raise UsageError(
                f"{kernel.name} would have {count:,} points, the most is {MAX_POINTS:,}",
                cause=shape,
                try_="fewer values, a larger step, or axes that move together with --zip",
            )
        tests = [test for exclusion in self.exclusions if (test := exclusion.leaves_out(kernel))]
        points: list[dict[str, Value]] = []
        invalid: dict[str, None] = {}
        for combination in product(*steps):
            by_axis = {name: value for step in combination for name, value in step}
            point = point_of(kernel, by_axis)
            if any(test(point) for test in tests):
                continue
            if why := _invalid(kernel, point):
                invalid[why] = None
            else:
                points.append(point)
        return tuple(points), tuple(invalid)

    def values(self, kernel: Kernel, *, wide: bool) -> tuple[dict[str, Values], set[str]]:
        """Values by axis, and which of the axes were typed."""
        values, typed = {}, set()
        for axis in kernel.axes:
            mine = [sweep_ for sweep_ in self.sweeps if sweep_.axis == axis.name and sweep_.concerns(kernel)]
            if by_side := self._sides(kernel, axis, typed=bool(mine)):
                typed.add(axis.name)
                values[axis.name] = by_side
            elif mine:
                typed.add(axis.name)
                listed: list[Value | Sides] = [value for sweep in mine for value in sweep.values(axis)]
                values[axis.name] = tuple(dict.fromkeys(listed))
            else:
                values[axis.name] = (axis.wide if wide else ()) or axis.values
            if axis.name == "dtype" and self.dtypes:
                # A dtype asked for that the kernel takes, though its default sweep leaves it out.
                among = values["dtype"] if mine else tuple(dict.fromkeys((*values["dtype"], *axis.choices)))
                values["dtype"] = tuple(
                    sweep_ for sweep_ in among if any(fnmatchcase(str(sweep_), want) for want in self.dtypes)
                )
        if self.dtypes and kernel.axis("dtype") is None:
            return {"dtype": ()}, typed
        return values, typed

    def _sides(self, kernel: Kernel, axis: Axis, *, typed: bool) -> Values:
        """Sizes by the sides that were typed apart, crossed or zipped; empty where none was.

        Raises `UsageError` for some of the sides alone, and beside the size itself.
        """
        lengths = {
            side: [value for sweep in mine for value in sweep.values(axis.side(side))]
            for side in axis.sides
            if (mine := [sweep for sweep in self.sweeps if sweep.axis == side and sweep.concerns(kernel)])
        }
        if not lengths:
            return ()
        missing = [side for side in axis.sides if side not in lengths]
        if missing or typed:
            raise UsageError(
                f"{kernel.name} lacks {' and '.join(missing)}"
                if missing
                else f"{axis.name} of {kernel.name} is given beside its sides",
                cause=f"a size is one number, or all of {', '.join(axis.sides)}",
                try_=f"-a {axis.name}={'x'.join(str(lengths.get(side, ['512'])[0]) for side in axis.sides)}",
            )
        together = [group for group in self.zips if set(group) & set(axis.sides)]
        if together and set(together[0]) != set(axis.sides):
            raise UsageError(
                f"--zip {','.join(together[0])} takes some sides of {kernel.name}",
                cause="its sides move together, or not at all",
                try_=f"--zip {','.join(axis.sides)}",
            )
        if together:
            steps = _steps(kernel, axis.sides, {side: tuple(lengths[side]) for side in axis.sides})
            combined = [tuple(value for _, value in step) for step in steps]
        else:
            combined = list(product(*(lengths[side] for side in axis.sides)))
        return tuple(dict.fromkeys(alike(sides) for sides in combined))  # type: ignore[arg-type]

    def _groups(self, kernel: Kernel, typed: set[str]) -> list[tuple[str, ...]]:
        """Axes that move together, in axis order; an axis alone is a group of one."""
        own = {axis.name for axis in kernel.axes}
        zips = [group for group in self.zips if own.issuperset(group)]
        zipped = {name for group in zips for name in group}
        zips += [tuple(name for name in group if name not in typed | zipped) for group in kernel.zipped]
        group_of = {name: group for group in zips for name in group}
        ordered = [group_of.get(axis.name, (axis.name,)) for axis in kernel.axes]
        return list(dict.fromkeys(ordered))


def point_of(kernel: Kernel, by_axis: Mapping[str, Value | Sides]) -> dict[str, Value]:
    """In the order of its axes; sides that differ stand in the place of their size."""
    point: dict[str, Value] = {}
    for axis in kernel.axes:
        value = by_axis[axis.name]
        point |= zip(axis.sides, value, strict=True) if isinstance(value, tuple) else {axis.name: value}
    return point


def _invalid(kernel: Kernel, point: Point) -> str:
    try:
        return kernel.valid(point)
    except TrnbenchError:
        raise
    except (Exception, SystemExit) as error:  # a plugin's mistake costs its own points, not the run
        return f"its own check failed with {type(error).__name__}: {error}"


def _steps(
    kernel: Kernel, group: tuple[str, ...], values: dict[str, Values]
) -> list[tuple[tuple[str, Value | Sides], ...]]:
    lengths = {len(values[name]) for name in group}
    if len(lengths) > 1:
        raise UsageError(
            f"axes {' and '.join(group)} of {kernel.name} cannot be zipped",
            cause="they have " + " and ".join(f"{len(values[name])} values of {name}" for name in group),
            try_="as many values for each: " + " ".join(f"-a {name}=…" for name in group),
        )
    return [
        tuple(zip(group, step, strict=True)) for step in zip(*(values[name] for name in group), strict=True)
    ]


def _parse_zip(typed: str) -> tuple[str, ...]:
    names = tuple(axis_name(name) for name in typed.split(","))
    if len(names) < 2 or not all(names) or len(set(names)) < len(names):
        raise UsageError(
            f"--zip {typed!r} names no axes that could move together",
            cause="it takes two or more different axes with commas between",
            try_="--zip m,n",
        )
    return names


def _check_dtypes(dtypes: Sequence[str], kernels: Sequence[Kernel], option: str = "--dtype ") -> None:
    dtypes_of_axes = {
        str(value)
        for kernel in kernels
        for axis in kernel.axes
        if axis.name == "dtype"
        for value in (*axis.values, *axis.choices)
    }
    if dtypes and not dtypes_of_axes:
        raise UsageError(
            f"--dtype {dtypes[0]} fits no case",
            cause=f"{listed((kernel.name for kernel in kernels), 'kernel')}: no axis dtype",
            try_="the same without --dtype",
        )
    for dtype in dtypes:
        if not any(fnmatchcase(name, dtype) for name in dtypes_of_axes):
            from difflib import get_close_matches

            (near, *_) = (*get_close_matches(dtype, sorted(dtypes_of_axes), 1, 0.5), min(dtypes_of_axes))
            raise UnknownName("dtype", dtype, dtypes_of_axes, try_=f"{option}{near}")


Words: TypeAlias = frozenset[str]
"""What a case is called, in lower case: see `words_of`."""

Test: TypeAlias = Callable[[Words], bool]

_TOKEN = r"[()]|[^\s()]+"
_DEEPEST = 50


def words_of(*names: str) -> Words:
    """Names and their parts: all_reduce, all, reduce."""
    lower = [name.lower() for name in names]
    parts = [part for name in lower for part in name.replace("-", "_").replace(".", "_").split("_")]
    return frozenset((*lower, *parts))


def words_at(point: Point) -> Words:
    """Values that are words: a type, a mode."""
    return frozenset(value.lower() for value in point.values() if isinstance(value, str))


def parse_keyword(text: str) -> Test:
    """The test that an expression means.

    A word fits what equals it or a part between `_`, `-` and `.`, so that `gemm` fits gemm_skinny
    but fp8 does not fit mxfp8; `*` and `?` are wild. `not` binds closer than `and`, `and` closer
    than `or`. Raises `UsageError` with the place of the mistake.
    """
    reader = _Reader(text)
    test = reader.either(0)
    if reader.left:
        raise reader.wrong(f"{reader.left[0][0]!r} where 'and' or 'or' was expected")
    return test


def strangers(text: str, known: Iterable[str]) -> tuple[str, ...]:
    """The words of an expression that fit nothing known, each with the nearest known ones."""
    known = frozenset(known)
    unknown = []
    for word in dict.fromkeys(re.findall(_TOKEN, text.lower())):
        if word not in ("(", ")", "and", "or", "not") and not _fits(word)(known):
            from difflib import get_close_matches

            near = get_close_matches(word, sorted(known), n=3, cutoff=0.5)
            unknown.append(f"{word} (nearest: {', '.join(near)})" if near else word)
    return tuple(unknown)


class _Reader:
    """Recursive descent; `left` are the tokens not read yet."""

    def __init__(self, text: str) -> None:
        self.text, self.left = text, list(re.finditer(_TOKEN, text))

    def wrong(self, what: str) -> UsageError:
        where = f"at character {self.left[0].start() + 1}" if self.left else "at the end"
        return UsageError(
            f"-k {self.text!r}: {what}, {where}",
            cause="an expression is words with and, or, not and parentheses",
            try_="-k 'gemm and not fp32'",
        )

    def _next_is(self, word: str) -> bool:
        if self.left and self.left[0][0].lower() == word:
            self.left.pop(0)
            return True
        return False

    def either(self, depth: int) -> Test:
        tests = [self.both(depth)]
        while self._next_is("or"):
            tests.append(self.both(depth))
        return tests[0] if len(tests) == 1 else lambda words: any(test(words) for test in tests)

    def both(self, depth: int) -> Test:
        tests = [self.one(depth)]
        while self._next_is("and"):
            tests.append(self.one(depth))
        return tests[0] if len(tests) == 1 else lambda words: all(test(words) for test in tests)

    def one(self, depth: int) -> Test:
        if depth > _DEEPEST:
            raise self.wrong(f"more than {_DEEPEST} levels of not and parentheses")
        if self._next_is("not"):
            inner = self.one(depth + 1)
            return lambda words: not inner(words)
        if self._next_is("("):
            inner = self.either(depth + 1)
            if not self._next_is(")"):
                raise self.wrong("a parenthesis is not closed")
            return inner
        if not self.left or self.left[0][0].lower() in (")", "and", "or"):
            found = repr(self.left[0][0]) if self.left else "nothing"
            raise self.wrong(f"{found} where a word was expected")
        return _fits(self.left.pop(0)[0].lower())


def _fits(word: str) -> Test:
    if "*" in word or "?" in word:
        return lambda words: any(fnmatchcase(each, word) for each in words)
    return lambda words: word in words
