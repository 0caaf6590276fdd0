"""Points left out of a sweep: `--exclude 'dtype=fp32,size>=8192'`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from trnbench.bounded import kinds
from trnbench.errors import UsageError
from trnbench.kernels.kernel import Kernel, Point
from trnbench.quoting import quoted

_TERM = r"\s*(?P<axis>[A-Za-z_]\w*)\s*(?P<relation><=|>=|!=|==|=|<|>)\s*(?P<value>.+?)\s*"
_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


class Term(msgspec.Struct, frozen=True):
    """`axis relation value`, as typed: size>4096."""

    axis: str
    relation: str
    value: str


class Exclusion(msgspec.Struct, frozen=True, kw_only=True):
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
            tests.append(self._words(term) if axis.kind == "str" else self._numbers(term))
        return lambda point: all(test(point) for test in tests)

    def _words(self, term: Term) -> Callable[[Point], bool]:
        if term.relation not in ("=", "==", "!="):
            raise UsageError(
                f"{term.relation!r} compares numbers, not {term.axis}, in {quoted(self.typed)}",
                cause=f"axis {term.axis} takes words",
                try_=f"--exclude '{term.axis}={term.value}'",
            )
        wanted = term.relation != "!="
        return lambda point: fnmatchcase(str(point[term.axis]), term.value) is wanted

    def _numbers(self, term: Term) -> Callable[[Point], bool]:
        holds, limit = _RELATIONS[term.relation], kinds.AXIS.read(term.value, f"axis {term.axis}")
        return lambda point: holds(point[term.axis], limit)


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
        terms.append(Term(match["axis"], match["relation"], match["value"]))
    return tuple(terms)


def relation_of(relation: str) -> Callable[[Any, Any], bool]:
    """What a term's relation asks of two numbers."""
    return _RELATIONS[relation]
