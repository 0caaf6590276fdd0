"""docs/facts.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trnbench.facts.disagreement import RULES
from trnbench.facts.fact import PeakPolicy, Scope
from trnbench.facts.load import FACT_KEYS, load_book
from trnbench.facts.metric import DTYPES


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "facts.md").read_text(encoding="utf-8")


def test_the_example_is_a_fact_file(page: str, tmp_path: Path) -> None:
    [example] = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    path = tmp_path / "facts.toml"
    path.write_text(example, encoding="utf-8")
    book = load_book([path])
    assert len(book.facts) == 6
    assert book.assumptions["board-hop-latency"].high == 2e-6
    assert [each.id for each in book.disputes] == ["B01"]


def test_every_key_is_explained(page: str) -> None:
    table = page.partition("| key of a fact |")[2].partition("\n\n")[0]
    keys = re.findall(r"`([a-z_]+)`", "".join(line.split("|")[1] for line in table.splitlines()[2:]))
    assert set(keys) == set(FACT_KEYS)
    for word in (*DTYPES, *Scope):
        assert str(word) in table


def test_every_rule_stands_with_the_rulebooks_words(page: str) -> None:
    table = page.partition("| rule | finds |")[2].partition("\n\n")[0]
    assert dict(re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", table, re.MULTILINE)) == RULES


def test_every_policy_is_explained(page: str) -> None:
    table = page.partition("| policy | takes |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `([a-z]+)`", table, re.MULTILINE) == [str(policy) for policy in PeakPolicy]
