"""Values of one thing that different places print differently."""

from __future__ import annotations

from collections.abc import Sequence

from trnbench.facts.assembly import Assembly
from trnbench.facts.book import FactBook
from trnbench.facts.disagreement import Claim, Disagreement
from trnbench.facts.fact import Fact
from trnbench.facts.number import read_number
from trnbench.facts.rules.groups import by_pairs, counted
from trnbench.facts.units import parse_unit

NOTICED = 1.01
"""Values that agree by rounding alone are worth a word when they are more than 1 % apart."""


def value(book: FactBook, _: Sequence[Assembly]) -> list[Disagreement]:
    """Two documents, one subject, metric, scope, data type and qualifier, and values apart."""

    def differs(one: Fact, other: Fact, a: Claim, b: Claim) -> bool:
        if counted(one) or one.source == other.source or another_base(one, other):
            return False
        return not a.agrees(b)

    return by_pairs("value", book.facts, differs)


def count(book: FactBook, _: Sequence[Assembly]) -> list[Disagreement]:
    """Counts have no rounding: 16 and 20 collective cores, over 30,000 and over 100,000 devices."""

    def differs(one: Fact, other: Fact, a: Claim, b: Claim) -> bool:
        return counted(one) and one.source != other.source and not a.agrees(b)

    return by_pairs("count", book.facts, differs)


def prose(book: FactBook, _: Sequence[Assembly]) -> list[Disagreement]:
    """One document against itself: 20TB in the text, 20,736 GiB in the table."""

    def differs(one: Fact, other: Fact, a: Claim, b: Claim) -> bool:
        return one.source == other.source and not a.agrees(b)

    return by_pairs("prose", book.facts, differs)


def unit_base(book: FactBook, _: Sequence[Assembly]) -> list[Disagreement]:
    """820 GiB/s here, 820 GB/s there: 7 % apart, and no digit differs."""

    def differs(one: Fact, other: Fact, _a: Claim, _b: Claim) -> bool:
        return another_base(one, other)

    return by_pairs(
        "unit-base", book.facts, differs, "the same digits, powers of 1024 against powers of 1000"
    )


def rounded(book: FactBook, _: Sequence[Assembly]) -> list[Disagreement]:
    """2.9 TB/s here, 3 TB/s there: both can be right, and a percentage of them differs by 3 %."""

    def differs(one: Fact, other: Fact, a: Claim, b: Claim) -> bool:
        if counted(one) or one.limit or other.limit or another_base(one, other) or not a.agrees(b):
            return False
        small, large = sorted((a.value or 0.0, b.value or 0.0))
        return small > 0.0 and large / small > NOTICED

    return by_pairs("rounded", book.facts, differs, "one document prints fewer digits")


def another_base(one: Fact, other: Fact) -> bool:
    """The same printed digits with a decimal and with a binary unit."""
    a, b = parse_unit(one.printed_unit), parse_unit(other.printed_unit)
    if {a.base, b.base} != {"decimal", "binary"} or a.letter != b.letter:
        return False
    return read_number(one.printed).value == read_number(other.printed).value
