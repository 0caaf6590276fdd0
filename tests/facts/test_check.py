"""The checker as a whole: disputes held against findings, the built-in facts, a wrong fact found."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import msgspec
import pytest
from fact_rows import fact
from stored_run import text_of

from trnbench import hookimpl
from trnbench.errors import FactError
from trnbench.facts.check import Findings, check, rules_of
from trnbench.facts.disagreement import RULES
from trnbench.facts.fact import Assembly, Dispute, Fact, FactBook, PeakPolicy, Scope, Source
from trnbench.facts.load import FACT_KEYS, load_book
from trnbench.facts.metric import DTYPES
from trnbench.generation import Generation, assemblies
from trnbench.registry import Registry

GENERATIONS = ("trn1", "trn2", "trn3")
BOX = Assembly(subject="box", scope=Scope.INSTANCE, device="chip", core="core")


def checked(registry: Registry, name: str) -> Findings:
    return check(registry.book(name), assemblies(registry.generations[name]))


def disputed(*disputes: Dispute) -> FactBook:
    def bandwidth(printed: str, value: float, source: str) -> Fact:
        words = {"printed": printed, "printed_unit": "TB/s"}
        return fact("chip", "hbm_bandwidth", value, scope=Scope.DEVICE, source=source, **words)

    return FactBook(
        sources={name: Source(id=name, document=name) for name in "ab"},
        facts=(bandwidth("4.9", 4.9e12, "a"), bandwidth("4.7", 4.7e12, "b")),
        disputes=disputes,
    )


def dispute(**more: object) -> Dispute:
    given = {"values": ("4.9 TB/s", "4.7 TB/s"), "sources": ("a", "b"), **more}
    return Dispute(id="C18", topic="bandwidth", **given)


def test_a_finding_carries_the_dispute_that_names_it() -> None:
    findings = check(disputed(dispute(rule="value", subjects=("chip",))), [BOX])
    assert [each.disputes for each in findings.found] == [("C18",)]
    assert findings.unnamed == ()
    assert findings.named == ()


def test_a_new_figure_does_not_hide_in_a_known_disagreement() -> None:
    book = disputed(dispute(rule="value", metric="hbm_bandwidth", values=("4.9 TB/s", "two others")))
    findings = check(book, [BOX])
    assert [each.disputes for each in findings.found] == [("C18",)]
    assert [each.strangers for each in findings.unnamed] == [("4.7 TB/s (b)",)]


def test_what_no_dispute_names_is_news() -> None:
    findings = check(disputed(), [BOX])
    assert [each.rule for each in findings.unnamed] == ["value"]


def test_a_dispute_without_a_rule_is_listed_by_name() -> None:
    findings = check(disputed(dispute()), [BOX])
    assert [each.id for each in findings.named] == ["C18"]
    assert findings.unnamed


def test_a_dispute_claims_several_rules() -> None:
    assert rules_of(dispute(rule="value, devices-sum")) == ("value", "devices-sum")


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        ({"rule": "value", "subjects": ("box",)}, "the rule finds: chip hbm_bandwidth"),
        ({"rule": "value", "metric": "hbm_capacity"}, "the rule finds: chip hbm_bandwidth"),
        ({"rule": "value", "values": ("1 TB/s", "2 TB/s")}, "the rule finds: chip hbm_bandwidth"),
        ({"rule": "value", "values": ("4.9 TB/s", "2 TB/s")}, "the rule finds: chip hbm_bandwidth"),
    ],
)
def test_a_dispute_whose_rule_finds_nothing_is_an_error(more: dict[str, object], cause: str) -> None:
    claimed = dispute(**more)
    assert text_of(FactError, check, disputed(claimed), [BOX]) == (
        f"dispute C18 claims rule {claimed.rule!r}, which finds nothing of it\n  cause: {cause}\n"
        "  try:   state subjects and metric of the finding, or leave rule out for what no rule can find"
    )


def test_a_dispute_is_told_the_rule_that_finds_it() -> None:
    assert text_of(FactError, check, disputed(dispute(rule="count")), [BOX]) == (
        "dispute C18 claims rule 'count', which finds nothing of it\n"
        "  cause: the rule finds nothing at all in these facts\n"
        '  try:   rule = "value", which finds it'
    )


@pytest.mark.parts
@pytest.mark.parametrize("name", GENERATIONS)
def test_every_finding_in_the_built_in_facts_is_known(registry: Registry, name: str) -> None:
    unnamed = [(each.rule, each.subject, each.named) for each in checked(registry, name).unnamed]
    assert not unnamed


@pytest.mark.parts
@pytest.mark.parametrize("name", GENERATIONS)
def test_every_finding_names_at_least_two_places(registry: Registry, name: str) -> None:
    book = registry.book(name)
    for found in checked(registry, name).found:
        places = {(each.source, each.locator) for each in found.claims}
        assert len(places) > 1, found
        assert all(each.source in book.sources and each.locator for each in found.claims)


def test_a_wrong_fact_in_a_plugin_is_found(registry: Registry, tmp_path: Path) -> None:
    """A plugin with the built-in facts of trn2 and one figure typed wrong: 1,356 GiB for 1,536 GiB."""
    shipped = registry.generations["trn2"]
    copies = tuple(Path(shutil.copy(path, tmp_path / path.name)) for path in shipped.facts)
    wrong = next(path for path in copies if 'printed = "1,536"' in path.read_text())
    wrong.write_text(wrong.read_text().replace('printed = "1,536"', 'printed = "1,356"', 1))
    generation = msgspec.structs.replace(shipped, facts=copies)

    class Plugin:
        @staticmethod
        @hookimpl
        def trnbench_generations() -> list[Generation]:
            return [generation]

    before = {(each.rule, each.subject, each.metric) for each in checked(registry, "trn2").found}
    findings = checked(Registry.of(mistyped=Plugin()), "trn2")
    news = [each for each in findings.unnamed if (each.rule, each.subject, each.metric) not in before]
    rules = {each.rule for each in news if each.metric == "hbm_capacity"}
    assert rules == {"value", "devices-sum", "hosts-sum"} or rules == {"value", "devices-sum"}
    claims = [each.text for found in news for each in found.claims]
    assert "1,356 GiB" in claims
    assert "16 devices × 96 GiB" in claims


# docs/facts.md says what the code does ---------------------------------------------------------------


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
