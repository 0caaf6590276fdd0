"""Axes as typed: sweeps like `size[pow2]=10:30:2` or `dtype=bf16,fp8`, and points left out by `--exclude`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeAlias

from trnbench.bounded import kinds
from trnbench.case_key import Value
from trnbench.errors import UnknownName, UsageError, quoted
from trnbench.kernels.kernel import Axis, Kernel, Point
from trnbench.record import Record

if TYPE_CHECKING:
    from fractions import Fraction

MAX_NUMBER = 2**62
MAX_VALUES = 10_000  # of one axis: more is a slip of the finger

_FORM = r"(?:(?P<kernel>[^=\[\]]+)\.)?(?P<axis>[A-Za-z_][\w-]*)(?:\[(?P<how>[^\]]*)\])?=(?P<values>.*)"
_FORMS = "-a size=1K,64K or -a 'size[range]=128:1024:128' or -a 'size[pow2]=10:30:2'"


Sides: TypeAlias = tuple[int | float, ...]
"""A size whose sides differ, in the order of `Axis.sides`."""


def alike(sides: Sides) -> int | float | Sides:
    """The one length of all sides where they have one: a square is what it is, however it was typed."""
    return sides[0] if len(set(sides)) == 1 else sides


class Sweep(Record, kw_only=True):
    """One `-a` option. `kernel` is a name or glob, "" for every kernel that has the axis.

    `words` are the values of a list as typed; `numbers` those of a range or of powers of two.
    """

    typed: str
    axis: str
    kernel: str = ""
    words: tuple[str, ...] = ()
    numbers: tuple[Fraction, ...] = ()

    def concerns(self, kernel: Kernel) -> bool:
        """Whether it sets an axis of `kernel`."""
        named = not self.kernel or fnmatchcase(kernel.name, self.kernel)
        return named and kernel.axis(self.axis) is not None

    def values(self, axis: Axis) -> tuple[Value | Sides, ...]:
        """What `axis` is swept over, each value once. Raises `UsageError`, `UnknownName`."""
        if axis.kind == "str":
            return self._as_words(axis)
        sizes: list[tuple[Fraction, ...]] = [(number,) for number in self.numbers]
        sizes += [self._read(word, axis) for word in self.words]
        wanted = [alike(tuple(self._value(side, axis) for side in size)) for size in sizes]
        return tuple(dict.fromkeys(wanted))

    def _value(self, number: Fraction, axis: Axis) -> int | float:
        def wrong(how: str, cause: str, try_: str) -> UsageError:
            what = f"{axis.name} = {float(number):g} in {quoted(self.typed)} is {how}"
            return UsageError(what, cause=cause, try_=try_)

        if number < axis.least:
            usual = axis.values[0] if axis.values else f"{axis.least:g}"
            raise wrong("too small", f"axis {axis.name} starts at {axis.least:g}", f"-a {axis.name}={usual}")
        if number > MAX_NUMBER:
            largest = axis.values[-1] if axis.values else 4096
            raise wrong("too large", "an axis ends at 2^62", f"-a {axis.name}={largest}")
        if axis.kind == "int" and number.denominator != 1:
            cause = f"axis {axis.name} counts {axis.unit or 'things'}"
            raise wrong("not a whole number", cause, f"-a {axis.name}={-(-number // 1)}")
        return int(number) if axis.kind == "int" else float(number)

    def _as_words(self, axis: Axis) -> tuple[Value, ...]:
        if self.numbers:
            raise UsageError(
                f"axis {axis.name} has no numbers to count through in {quoted(self.typed)}",
                cause=f"it takes words: {_listed(axis.choices or axis.values)}",
                try_=f"-a {axis.name}={axis.values[0]}",
            )
        for word in self.words:
            if axis.choices and word not in axis.choices:
                raise UnknownName(
                    axis.name, word, map(str, axis.choices), try_=f"-a {axis.name}={axis.values[0]}"
                )
        return tuple(dict.fromkeys(self.words))

    def _read(self, word: str, axis: Axis) -> tuple[Fraction, ...]:
        """One number, or one for each side."""
        if ":" in word:
            raise UsageError(
                f"{quoted(word)} is not a number",
                cause="a list has commas; a range says that it is one",
                try_=f"-a '{axis.name}[range]={word}' or -a '{axis.name}[pow2]={word}'",
            )
        called = f"axis {axis.name}", f"-a {axis.name}=4096"
        lengths = word.lower().replace("×", "x").split("x") if axis.sides else []
        if len(lengths) > 1:
            if len(lengths) != len(axis.sides):
                raise UsageError(
                    f"{quoted(word)} has {len(lengths)} sides, axis {axis.name} has {len(axis.sides)}",
                    cause=f"they are {', '.join(axis.sides)}",
                    try_=f"-a {axis.name}={'x'.join(['512'] * len(axis.sides))}",
                )
            return tuple(kinds.AXIS.read(side, *called) for side in lengths)
        if axis.unit != "B" and word[-1:] in "bB" and word[:1].isdigit():
            raise UsageError(
                f"{quoted(word)} is a number of bytes, and axis {axis.name} counts {axis.unit or 'elements'}",
                cause=axis.about or f"its values are {_listed(axis.values)}",
                try_=f"-a {axis.name}={axis.values[0] if axis.values else 128}",
            )
        return (kinds.AXIS.read(word, *called),)


def axis_name(typed: str) -> str:
    """An axis may be typed as the option of its name: micro-batch."""
    return typed.strip().replace("-", "_")


def parse_sweep(typed: str) -> Sweep:
    """The sweep that `typed` means. Raises `UsageError`."""
    match = re.fullmatch(_FORM, typed.strip())
    if match is None:
        raise UsageError(
            f"{quoted(typed)} is no axis", cause="an axis is a name, an equals sign and values", try_=_FORMS
        )
    kernel, axis, how = match["kernel"] or "", axis_name(match["axis"]), match["how"]
    values = match["values"].strip()
    if how in (None, "list"):
        words = tuple(word.strip() for word in values.split(","))
        if not all(words):
            raise UsageError(
                f"{quoted(typed)} has an empty value",
                cause="there is nothing between two commas",
                try_=_FORMS,
            )
        if len(words) > MAX_VALUES:
            raise _too_many_values(typed[:40] + "…", len(words))
        return Sweep(typed=typed, axis=axis, kernel=kernel, words=words)
    if how not in ("pow2", "range"):
        raise UnknownName("kind of sweep", str(how), ("list", "pow2", "range"), try_=_FORMS)
    start, stop, step = _limits(typed, values, how)
    count = (stop - start) // step + 1
    if count > MAX_VALUES:
        raise _too_many_values(typed, int(count))
    steps = [start + index * step for index in range(int(count))]
    if how == "pow2":
        from fractions import Fraction

        steps = [Fraction(2 ** int(exponent)) for exponent in steps]
    return Sweep(typed=typed, axis=axis, kernel=kernel, numbers=tuple(steps))


def _limits(typed: str, values: str, how: str) -> tuple[Fraction, Fraction, Fraction]:
    parts, head = values.split(":"), typed.partition("=")[0].strip()
    if len(parts) not in (2, 3):
        raise UsageError(
            f"{quoted(typed)} is no range",
            cause=f"[{how}] takes FIRST:LAST or FIRST:LAST:STEP",
            try_="-a 'size[pow2]=10:30:2'" if how == "pow2" else "-a 'size[range]=128:1024:128'",
        )
    if how == "pow2":
        start, stop, step = (
            kinds.EXPONENT.read(part, "an exponent", f"-a '{head}=10:30'") for part in [*parts, "1"][:3]
        )
        if not 0 <= start <= 62 or not 0 <= stop <= 62:
            raise UsageError(
                f"{quoted(typed)} leaves the exponents 0 to 62",
                cause="[pow2] takes exponents, not the powers themselves",
                try_="-a 'size[pow2]=10:30' for 2^10 to 2^30",
            )
    else:
        start, stop, step = (
            kinds.AXIS.read(part, "a range", f"-a '{head}=128:1024:128'") for part in [*parts, "1"][:3]
        )
    if step <= 0:
        raise UsageError(
            f"{quoted(typed)} has step {float(step):g}",
            cause="a range counts up, so its step is positive",
            try_=f"-a '{head}={_shortest(min(start, stop))}:{_shortest(max(start, stop))}:1'",
        )
    if start > stop:
        raise UsageError(
            f"{quoted(typed)} is empty",
            cause=f"it starts at {_shortest(start)} and ends before that, at {_shortest(stop)}",
            try_=f"-a '{head}={_shortest(stop)}:{_shortest(start)}:{_shortest(step)}'",
        )
    return start, stop, step


def check_axes(
    sweeps: Iterable[Sweep], names: Iterable[str], kernels: Sequence[Kernel], installed: Sequence[Kernel]
) -> None:
    """Raise `UnknownName` or `UsageError` for an axis that no kernel of the selection has.

    `names` are the axes that zips and exclusions speak of; `installed` are all kernels, of which one may
    have the axis instead.
    """
    wanted = [(sweep.axis, sweep.kernel, sweep) for sweep in sweeps]
    for axis, pattern, sweep in [*wanted, *((name, "", None) for name in names)]:
        among = [kernel for kernel in kernels if not pattern or fnmatchcase(kernel.name, pattern)]
        if not among:
            raise UnknownName("kernel", pattern, (kernel.name for kernel in kernels), try_="trnbench list")
        if any(kernel.axis(axis) for kernel in among):
            continue
        owners = [kernel.name for kernel in kernels if kernel.axis(axis)]
        if owners:
            raise UsageError(
                f"no kernel that fits {pattern!r} has the axis {axis!r}",
                cause=f"it belongs to {_listed(owners)}",
                try_=f"-a {axis}=… for those, or an axis of these: {_who_has(axis, among)}",
            )
        if sweep and (apart := _sides_apart(sweep, among, installed)):
            raise apart
        raise UnknownName(
            "axis",
            axis,
            {each.name for kernel in among for each in kernel.axes},
            try_=f"-a {_who_has(axis, among, '=…')}" if sweep else _who_has(axis, among),
        )


def _sides_apart(sweep: Sweep, kernels: Sequence[Kernel], installed: Sequence[Kernel]) -> UsageError | None:
    """Where `kernels` have the sides of a size as axes of their own: these, and who takes the size."""
    for kernel in kernels:
        for other in (each for each in installed if each.family == kernel.family):
            size = other.axis(sweep.axis)
            if size is None or not size.sides or not all(kernel.axis(side) for side in size.sides):
                continue
            word = sweep.words[0] if sweep.words else "512"
            lengths = word.lower().replace("×", "x").split("x")
            lengths = lengths if len(lengths) == len(size.sides) else [word] * len(size.sides)
            apart = " ".join(f"-a {side}={length}" for side, length in zip(size.sides, lengths, strict=True))
            return UsageError(
                f"{kernel.name} has no axis {sweep.axis!r}",
                cause=f"it sweeps {', '.join(size.sides)}; one product of any sides is {other.name}",
                try_=f"trnbench run {other.name} -a {sweep.axis}={word}   or {kernel.name} with {apart}",
            )
    return None


def _who_has(axis: str, kernels: Sequence[Kernel], value: str = "") -> str:
    """Which kernels have the axes nearest to `axis`, one line; the most shared axes if none is near."""
    owners: dict[str, list[Value]] = {}
    for kernel in kernels:
        for each in kernel.axes:
            owners.setdefault(each.name, []).append(kernel.name)
    from difflib import get_close_matches

    near = get_close_matches(axis, owners, n=3, cutoff=0.5)
    ranked = near or sorted(owners, key=lambda name: (-len(owners[name]), name))[:6]
    return "; ".join(f"{name}{value} ({_listed(owners[name])})" for name in ranked)


def _listed(names: Sequence[Value], most: int = 8) -> str:
    shown = ", ".join(map(str, names[:most]))
    return shown if len(names) <= most else f"{shown}, … {len(names) - most} more"


def _too_many_values(typed: str, count: int) -> UsageError:
    return UsageError(
        f"{quoted(typed)} has {count:,} values",
        cause=f"an axis takes {MAX_VALUES:,} at most",
        try_="a larger step, or [pow2] in place of [range]",
    )


def _shortest(number: Fraction) -> str:
    return str(int(number)) if number.denominator == 1 else f"{float(number):g}"


_TERM = r"\s*(?P<axis>[A-Za-z_][\w-]*)\s*(?P<relation><=|>=|!=|==|=|<|>)\s*(?P<value>.+?)\s*"
_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


class Term(Record):
    """`axis relation value`, as typed: size>4096."""

    axis: str
    relation: str
    value: str

    def number_test(self) -> Callable[[Any], bool]:
        """Whether it holds of a number. Raises `UsageError`."""
        example = f"'{self.axis}{self.relation}4096'"
        holds, limit = _RELATIONS[self.relation], kinds.AXIS.read(self.value, f"axis {self.axis}", example)
        return lambda value: holds(value, limit)

    def word_test(self, typed: str, called: str, option: str = "") -> Callable[[object], bool]:
        """Whether it holds of a word; `typed` behind `option`, and what it is about, are named in errors.

        Raises `UsageError`.
        """
        if self.relation not in ("=", "==", "!="):
            raise UsageError(
                f"{self.relation!r} compares numbers, not {self.axis}, in {quoted(typed)}",
                cause=f"{called} takes words",
                try_=f"{option}'{self.axis}={self.value}'",
            )
        wanted = self.relation != "!="
        return lambda value: fnmatchcase(str(value), self.value) is wanted


class Exclusion(Record, kw_only=True):
    """Leaves out the points on which every term holds; kernels without one of the axes keep all."""

    typed: str
    terms: tuple[Term, ...]

    def leaves_out(self, kernel: Kernel) -> Callable[[Point], bool] | None:
        """The test for points of `kernel`, None where it does not apply. Raises `UsageError`."""
        tests = []
        for term in self.terms:
            axis = kernel.axis(term.axis)
            if axis is None:
                return None
            word = axis.kind == "str"
            test = (
                term.word_test(self.typed, f"axis {axis.name}", "--exclude ") if word else term.number_test()
            )
            tests.append((axis.name, test))
        return lambda point: all(name in point and test(point[name]) for name, test in tests)


def parse_exclusion(typed: str) -> Exclusion:
    """The exclusion that `typed` means: comparisons with commas between. Raises `UsageError`."""
    return Exclusion(typed=typed, terms=parse_terms(typed, "--exclude", "an exclusion"))


def parse_terms(typed: str, option: str, noun: str) -> tuple[Term, ...]:
    """The comparisons that the value of `option` means. Raises `UsageError`."""
    terms = []
    for part in typed.split(","):
        match = re.fullmatch(_TERM, part)
        if match is None:
            raise UsageError(
                f"{quoted(part.strip())} in {option} {quoted(typed)} compares nothing",
                cause=f"{noun} is AXIS=VALUE, where <, >, <=, >= and != may stand as well",
                try_=f"{option} 'dtype=fp32,size>=8192'",
            )
        terms.append(Term(axis_name(match["axis"]), match["relation"], match["value"]))
    return tuple(terms)
