"""Which cases of a run one side of a comparison takes."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

import msgspec

from trnbench.bounded import kinds
from trnbench.errors import UsageError
from trnbench.quoting import quoted
from trnbench.results.measurement import CaseKey, Value
from trnbench.run.exclude import Term, parse_terms, relation_of
from trnbench.run.keyword import Words, names_of, parse_keyword

_OWN = ("kernel", "instance", "generation", "scope", "family")
"""What a term may name beside axes."""

Test = Callable[[CaseKey], bool]


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """`names`: what the terms speak of; by these, cases of two sides may differ and be held together."""

    typed: str = ""
    terms: tuple[Term, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(term.axis for term in self.terms)

    def fits(self, case: CaseKey) -> bool:
        """Whether every term holds of the case; one without such an axis fits none. Raises `UsageError`."""
        return all(self._holds(term, case) for term in self.terms)

    def _holds(self, term: Term, case: CaseKey) -> bool:
        value: Value | None
        value = str(getattr(case, term.axis)) if term.axis in _OWN else case.point.get(term.axis)
        if value is None:
            return False
        if isinstance(value, int | float) and not isinstance(value, bool):
            return relation_of(term.relation)(value, kinds.AXIS.read(term.value, f"axis {term.axis}"))
        if term.relation not in ("=", "==", "!="):
            raise UsageError(
                f"{term.relation!r} compares numbers, not {term.axis}, in {quoted(self.typed)}",
                cause=f"{term.axis} takes words",
                try_=f"'{term.axis}={term.value}'",
            )
        return fnmatchcase(str(value), term.value) is (term.relation != "!=")


def chosen(typed: str, option: str) -> Chosen:
    """What the value of `option` asks for: 'kernel=gemm*,dtype=bf16,size>=4096'. Raises `UsageError`."""
    return Chosen(typed=typed, terms=parse_terms(typed, option, "a selection")) if typed else Chosen()


def keyword_test(keyword: str) -> Test:
    """The test of a `-k` expression on cases; all fit an empty one. Raises `UsageError`."""
    if not keyword:
        return lambda _: True
    test = parse_keyword(keyword)
    return lambda case: test(_words(case))


def _words(case: CaseKey) -> Words:
    names = (case.kernel, case.family, *case.tags, case.instance, case.generation, case.scope.value)
    values = (value for value in case.point.values() if isinstance(value, str))
    return frozenset((*(word for name in names for word in names_of(name)), *(v.lower() for v in values)))
