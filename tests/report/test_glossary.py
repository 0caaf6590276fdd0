"""Every term of the page's first two depths is explained within one tap, from the list that docs share."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from whole_page import BUILT_IN

from trnbench import Run, stored_waterfall
from trnbench_reports import glossary, page

pytestmark = pytest.mark.parts


def test_the_page_of_terms_is_the_list(root: Path) -> None:
    """After a change: `.ci/renew glossary`."""
    assert (root / "docs" / "glossary.md").read_text(encoding="utf-8") == glossary.page()


def test_each_term_stands_once_and_is_short() -> None:
    words = [word.lower() for term in glossary.terms() for word in (term.name, *term.also)]
    assert len(words) == len(set(words))
    for term in glossary.terms():
        sentences = re.split(r"(?<=[.:])\s", term.text)
        assert max(len(sentence.split()) for sentence in sentences) <= 25, term.name


def test_each_button_has_its_text(headline_run: Run) -> None:
    text = page.render([headline_run], BUILT_IN).decode()
    asked = set(re.findall(r"popovertarget=\"?([\w-]+)", text))
    assert {"term-expected", "term-endpoint", "term-votes", "term-limit-of-links"} <= asked
    assert asked <= set(re.findall(r"<div popover id=\"?([\w-]+)", text))


def test_each_cause_of_a_run_has_a_term_and_so_a_colour(headline_run: Run) -> None:
    causes = {
        name
        for case in headline_run.measurements
        for name, _ in stored_waterfall(case)[1:]
        if not name.startswith("limit of ")
    }
    assert causes
    assert {name for name in causes if glossary.cause(name) == "rest"} == set()


def test_a_cause_has_one_colour_and_a_name_of_none_has_that_of_the_rest() -> None:
    assert glossary.cause("endpoint") == "endpoint"
    assert glossary.cause("vector engine") == glossary.cause("scalar engine") == "engine"
    assert glossary.cause("limit of vector in the model") == "limit"
    assert glossary.cause("attention") == "attention"
    assert glossary.used("attention and collectives") == ()
    assert glossary.cause("what no list has") == "rest"


def test_words_are_found_in_text_and_not_in_drawings() -> None:
    found = glossary.used("<p title='votes'>bound by hbm</p><svg><title>endpoint</title></svg>")
    assert [term.name for term in found] == ["device memory"]
