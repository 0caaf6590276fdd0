"""busbw / algbw of collectives, by the number of ranks n: nccl-tests' performance notes; nccom-test does the
same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction


def all_but_own(ranks: int) -> Fraction:
    """(n−1)/n: what a rank does not have already."""
    return ratio(ranks - 1, ranks)


def twice(ranks: int) -> Fraction:
    """2·(n−1)/n: a reduction, and its result to all."""
    return 2 * all_but_own(ranks)


def once(_: int) -> Fraction:
    """1: the tensor itself."""
    return ratio(1)


def ratio(above: int, below: int = 1) -> Fraction:
    """Exact."""
    from fractions import Fraction  # brings decimal along, and lists of cases ask for no factor

    return Fraction(above, below)


FACTORS: Mapping[str, Callable[[int], Fraction]] = {
    "all_reduce": twice,
    "all_gather": all_but_own,
    "reduce_scatter": all_but_own,
    "all_to_all": all_but_own,
    "broadcast": once,
    "permute": once,
}


def busbw_factor(collective: str, ranks: int) -> Fraction:
    """busbw / algbw of nccl-tests and nccom-test; exact. 1 for those that are no benchmark: a reduce."""
    return FACTORS.get(collective, once)(ranks)
