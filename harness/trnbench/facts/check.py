"""The checker: every disagreement of the documents, by rule or by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import msgspec

from trnbench.errors import FactError
from trnbench.facts.assembly import Assembly
from trnbench.facts.book import FactBook
from trnbench.facts.disagreement import Claim, Disagreement, claim, disagreement, same_words
from trnbench.facts.fact import Dispute, Fact
from trnbench.facts.metric import METRICS
from trnbench.facts.rules.sums import cores_sum, devices_sum, hosts_sum, per_device
from trnbench.facts.rules.totals import clock, link_sum, product
from trnbench.facts.rules.value import count, prose, rounded, unit_base, value


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


Rule = Callable[[FactBook, Sequence[Assembly]], list[Disagreement]]

FINDERS: Mapping[str, Rule] = {
    "value": value,
    "count": count,
    "prose": prose,
    "unit-base": unit_base,
    "rounded": rounded,
    "words": words,
    "per-device": per_device,
    "devices-sum": devices_sum,
    "cores-sum": cores_sum,
    "hosts-sum": hosts_sum,
    "link-sum": link_sum,
    "product": product,
    "clock": clock,
}
"""Rule name → the function that finds it; `rulebook.RULES` says what each is about."""


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """`found` by rule, each with the disputes that name it; `named` are those no rule can find."""

    found: tuple[Disagreement, ...]
    named: tuple[Dispute, ...]

    @property
    def unnamed(self) -> tuple[Disagreement, ...]:
        """News: found by a rule and named by no dispute, or with a claim that its disputes do not mention."""
        return tuple(each for each in self.found if not each.disputes or each.strangers)


def check(book: FactBook, assemblies: Sequence[Assembly]) -> Findings:
    """All rules over the book, then the book's own list of disputes held against what they found.

    Raises `FactError` for a dispute that claims a rule which finds nothing of the kind.
    """
    return _check(book, assemblies, strict=True)


def check_facts(book: FactBook, assemblies: Sequence[Assembly]) -> Findings:
    """Like `check`, for the book of a stored run: never raises.

    A run may hold only some of a generation's systems; a dispute about the others is among `named`.
    """
    return _check(book, assemblies, strict=False)


def _check(book: FactBook, assemblies: Sequence[Assembly], *, strict: bool) -> Findings:
    disagreements = [each for finder in FINDERS.values() for each in finder(book, assemblies)]
    named = []
    for dispute in book.disputes:
        hits: set[int] = set()
        for rule in rules_of(dispute):
            mine = {
                index
                for index, each in enumerate(disagreements)
                if each.rule == rule and concerns(dispute, each)
            }
            if not mine and strict:
                raise _idle(dispute, rule, [each for each in disagreements if each.rule == rule])
            hits |= mine
        if not hits:
            named.append(dispute)
        for index in hits:
            each = disagreements[index]
            disagreements[index] = msgspec.structs.replace(each, disputes=(*each.disputes, dispute.id))
    by_id = {dispute.id: dispute for dispute in book.disputes}
    known = (
        msgspec.structs.replace(each, strangers=strangers(each, [by_id[name] for name in each.disputes]))
        for each in disagreements
    )
    return Findings(found=tuple(known), named=tuple(named))


def strangers(found: Disagreement, disputes: Sequence[Dispute]) -> tuple[str, ...]:
    """Printed claims of a disputed finding whose figure stands in none of its disputes.

    A figure typed wrong joins the finding it belongs to; this is what keeps it from hiding there.
    """
    if not disputes:
        return ()
    text = " ".join(word for each in disputes for word in (each.topic, *each.values, each.note))
    told = _numbers(text)
    return tuple(
        f"{claim.text} ({claim.source})"
        for claim in found.claims
        if not claim.computed and claim.value is not None and not _numbers(claim.text) & told
    )


def rules_of(dispute: Dispute) -> tuple[str, ...]:
    """The rules a dispute claims; none for one that no rule can find."""
    return tuple(word for each in dispute.rule.split(",") if (word := each.strip()))


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
    told = _numbers(text)
    shown = 0
    for one in found.claims:
        numbers = _numbers(one.text)
        shown += bool(numbers & told) if numbers else one.text.casefold() in text.casefold()
    return shown > 1


def _numbers(text: str) -> set[float]:
    return {float(digits.replace(",", "")) for digits in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}


def _idle(dispute: Dispute, rule: str, others: Sequence[Disagreement]) -> FactError:
    listed = ", ".join(f"{each.subject} {each.named}" for each in others[:4])
    return FactError(
        f"dispute {dispute.id} claims rule {rule!r}, which finds nothing of it",
        cause=f"the rule finds: {listed}" if listed else "the rule finds nothing at all in these facts",
        try_="state subjects and metric of the finding, or leave rule out for what no rule can find",
    )
