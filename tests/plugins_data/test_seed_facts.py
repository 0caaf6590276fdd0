"""Each figure of the seed documents is a fact, as printed, of the right subject and document."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from trnbench import Fact, FactBook, Scope


class Figure(NamedTuple):
    generation: str
    source: str
    subject: str
    metric: str
    printed: str
    unit: str = ""
    marks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.subject} {self.metric} {self.printed} {self.unit} {' '.join(self.marks)}".strip()


def _figures() -> list[Figure]:
    found, heading = [], ("", "", "")
    for line in Path(__file__).with_name("seed_figures.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            generation, source, subject = line.strip("[]").split()
            heading = (generation, source, subject)
        elif line and not line.startswith("#"):
            metric, printed, unit, marks = [*(cell.strip() for cell in line.split("|")), "", ""][:4]
            found.append(Figure(*heading, metric, printed, unit, tuple(marks.split())))
    return found


FIGURES = _figures()


def _fits(fact: Fact, figure: Figure) -> bool:
    marks = list(figure.marks)
    limit = next((mark[6:] for mark in marks if mark.startswith("limit:")), "")
    qualifier = next((mark[2:].replace("_", " ") for mark in marks if mark.startswith("q:")), "")
    dtypes = {mark for mark in marks if ":" not in mark and mark != "sparse"}
    return (
        fact.subject == figure.subject
        and fact.metric == figure.metric
        and fact.printed == figure.printed
        and fact.printed_unit == figure.unit
        and fact.source == figure.source
        and set(fact.dtypes) == dtypes
        and fact.sparse == ("sparse" in marks)
        and fact.limit == limit
        and fact.qualifier == qualifier
    )


@pytest.mark.parametrize("figure", FIGURES, ids=str)
def test_a_figure_of_a_seed_document_is_one_fact(figure: Figure, books: dict[str, FactBook]) -> None:
    found = [fact for fact in books[figure.generation].facts if _fits(fact, figure)]
    assert found, f"no fact for {figure} of {figure.source}"
    assert all(fact.locator for fact in found)


def test_the_seed_facts_are_those_listed_and_nothing_else_with_a_number(books: dict[str, FactBook]) -> None:
    extra = [
        fact.id
        for name, book in books.items()
        for fact in book.facts
        if book.sources[fact.source].seed
        and fact.value is not None
        and fact.provenance == "documented"
        and not any(_fits(fact, figure) for figure in FIGURES if figure.generation == name)
    ]
    # Prose that repeats the table's figure in the same words, and a count that only the text makes.
    assert sorted(extra) == ["trn2-16.48xlarge/memory_pool_device_count@seed-trn2#prose"]


def test_figures_per_device_have_the_scope_of_a_device(books: dict[str, FactBook]) -> None:
    links = [f for book in books.values() for f in book.facts if f.metric == "neuronlink_bandwidth"]
    assert len(links) > 20
    assert {fact.scope for fact in links} == {Scope.DEVICE}
