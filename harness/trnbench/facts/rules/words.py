"""One thing under several names."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import msgspec

from trnbench.facts.assembly import Assembly
from trnbench.facts.book import FactBook
from trnbench.facts.disagreement import Claim, Disagreement, claim, disagreement, same_words
from trnbench.facts.fact import Fact
from trnbench.facts.metric import METRICS


def words(book: FactBook, _: Sequence[Assembly]) -> list[Disagreement]:
    """Text metrics with one right answer: "4D-HyperCube" and "2D Torus" for one graph."""
    groups: dict[tuple[str, str], list[Fact]] = {}
    for fact in book.facts:
        if fact.value is None and METRICS[fact.metric].single:
            # A qualifier says where the word stands (caption, text), not that another thing is meant.
            groups.setdefault((fact.subject, fact.metric), []).append(fact)
    disagreements = []
    for members in groups.values():
        odd: list[Claim] = []
        for one, other in combinations(members, 2):
            if not same_words(one.printed, other.printed):
                odd += [claim(one), claim(other)]
        if odd:
            disagreements.append(
                disagreement("words", msgspec.structs.replace(members[0], qualifier=""), odd)
            )
    return disagreements
