"""The checker: every disagreement of the documents, by rule or by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from trnbench.errors import FactError
from trnbench.facts.disagreement import Disagreement, Rule
from trnbench.facts.fact import Assembly, Dispute, FactBook
from trnbench.facts.rule import (
    clock,
    cores_sum,
    count,
    devices_sum,
    hosts_sum,
    link_sum,
    per_device,
    product,
    prose,
    rounded,
    unit_base,
    value,
    words,
)
from trnbench.record import Record

FINDERS: Mapping[str, Rule] = {
    finder.__name__.replace("_", "-"): finder
    for finder in (
        value, count, prose, unit_base, rounded, words, per_device, devices_sum, cores_sum, hosts_sum,
        link_sum, product, clock,
    )
}  # fmt: skip
"""Rule name → the function that finds it; `disagreement.RULES` says what each is about."""


class Findings(Record, kw_only=True):
    """`found` by rule, each with the disputes that name it; `named` are those no rule can find."""

    found: tuple[Disagreement, ...]
    named: tuple[Dispute, ...]

    @property
    def unnamed(self) -> tuple[Disagreement, ...]:
        """News: found by a rule and named by no dispute, or with a claim that its disputes do not mention."""
        return tuple(
            disagreement for disagreement in self.found if not disagreement.disputes or disagreement.strangers
        )


def check_facts(book: FactBook, assemblies: Sequence[Assembly]) -> Findings:
    """Like `check`, for the book of a stored run: never raises.

    A run may hold only some of a generation's systems; a dispute about the others is among `named`.
    """
    return check(book, assemblies, strict=False)


def check(book: FactBook, assemblies: Sequence[Assembly], *, strict: bool = True) -> Findings:
    """All rules over the book, then the book's own list of disputes held against what they found.

    Raises `FactError` for a dispute that claims a rule which finds nothing of the kind, if `strict`.
    """
    disagreements = [disagreement for finder in FINDERS.values() for disagreement in finder(book, assemblies)]
    disputes_of: list[list[Dispute]] = [[] for _ in disagreements]
    named = []
    for dispute in book.disputes:
        hits: set[int] = set()
        for rule in rules_of(dispute):
            mine = {
                index
                for index, disagreement in enumerate(disagreements)
                if disagreement.rule == rule and concerns(dispute, disagreement)
            }
            if not mine and strict:
                raise _idle(dispute, rule, disagreements)
            hits |= mine
        if not hits:
            named.append(dispute)
        for index in hits:
            disputes_of[index].append(dispute)
    completed = (
        replace(
            disagreement,
            disputes=tuple(dispute.id for dispute in disputes),
            strangers=strangers(disagreement, disputes),
        )
        for disagreement, disputes in zip(disagreements, disputes_of, strict=True)
    )
    return Findings(found=tuple(completed), named=tuple(named))


def strangers(found: Disagreement, disputes: Sequence[Dispute]) -> tuple[str, ...]:
    """Printed claims of a disputed finding whose figure stands in none of its disputes.

    A figure typed wrong joins the finding it belongs to; this is what keeps it from hiding there.
    """
    if not disputes:
        return ()
    text = " ".join(word for dispute in disputes for word in (dispute.topic, *dispute.values, dispute.note))
    mentioned = _numbers(text)
    return tuple(
        f"{claim.text} ({claim.source})"
        for claim in found.claims
        if not claim.computed and claim.value is not None and not _numbers(claim.text) & mentioned
    )


def rules_of(dispute: Dispute) -> tuple[str, ...]:
    """The rules a dispute claims; none for one that no rule can find."""
    return tuple(word for rule in dispute.rule.split(",") if (word := rule.strip()))


def concerns(dispute: Dispute, found: Disagreement) -> bool:
    """Whether `dispute` speaks of `found`.

    Its metric and its subjects have to be those of the finding, where it states them. Without a
    metric, two of the finding's claims have to show in the dispute's values, as numbers or words.
    """
    if dispute.subjects and found.subject not in dispute.subjects:
        return False
    if dispute.metric:
        return dispute.metric == found.metric
    text = " ".join((dispute.topic, *dispute.values))
    mentioned = _numbers(text)
    shown = 0
    for claim in found.claims:
        numbers = _numbers(claim.text)
        shown += bool(numbers & mentioned) if numbers else claim.text.casefold() in text.casefold()
    return shown > 1


def _numbers(text: str) -> set[float]:
    return {float(digits.replace(",", "")) for digits in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}


def _idle(dispute: Dispute, rule: str, others: Sequence[Disagreement]) -> FactError:
    same = [disagreement for disagreement in others if disagreement.rule == rule]
    listed = ", ".join(f"{disagreement.subject} {disagreement.named}" for disagreement in same[:4])
    finders = dict.fromkeys(each.rule for each in others if concerns(dispute, each))
    meant = ", ".join(each for each in finders if each not in rules_of(dispute))
    return FactError(
        f"dispute {dispute.id} claims rule {rule!r}, which finds nothing of it",
        cause=f"the rule finds: {listed}" if listed else "the rule finds nothing at all in these facts",
        try_=f'rule = "{meant}", which finds it'
        if meant
        else "state subjects and metric of the finding, or leave rule out for what no rule can find",
    )
