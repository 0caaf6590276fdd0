"""The lines of a run in the order in which they may be believed."""

from __future__ import annotations

from collections import Counter

import msgspec

from trnbench.results.measurement import Status
from trnbench.results.run import Run
from trnbench.run.headline.answered import line
from trnbench.run.headline.cards import Card, cards
from trnbench.run.headline.line import Line
from trnbench.run.headline.promised import UNSTATED
from trnbench.run.headline.question import QUESTIONS, answers
from trnbench.run.headline.words import Said, said

UNSTATED_NOTE = "No document says whether a figure of links counts one direction or both."
_ASKED = [each.name for each in QUESTIONS]


class Headline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`lines`: by question and generation, what has no band last; `silence`: why there is no line, else "".
    `cards`: the same lines by generation.
    `alarms`: (system, `1 suspect, 2 failed`) of each with such or inconclusive cases. `means`: what an
    emulated number is.
    `footnote`: what is to be known of the figures of several lines.
    """

    lines: tuple[Line, ...] = ()
    alarms: tuple[tuple[str, str], ...] = ()
    means: str = ""
    footnote: str = ""
    silence: str = ""
    cards: tuple[Card, ...] = ()

    @property
    def said(self) -> tuple[tuple[Line, Said], ...]:
        """Each line with its words. A reason that several grey lines share is told with the first."""
        reasons = [each.reason if each.muted else "" for each in self.lines]
        found = []
        for at, each in enumerate(self.lines):
            told = bool(at and each.muted and reasons[at - 1] == each.reason)
            alike = -1 if told else sum(reason == each.reason for reason in reasons[at + 1 :])
            found.append((each, said(each, alike)))
        return tuple(found)


def headline(run: Run) -> Headline:
    """What a run says first, from what is stored in it alone."""
    lines = [line(run, each) for each in answers(run)]
    order = {record.generation: record.order for record in run.systems.values()}
    lines.sort(key=lambda each: (each.muted, _asked(each), order.get(each.generation, 10**6)))
    # Grey lines of one reason stand together.
    reasons = list(dict.fromkeys(each.reason for each in lines if each.muted))
    lines.sort(key=lambda each: reasons.index(each.reason) if each.muted else -1)
    unstated = any(each.of is not None and each.of.note == UNSTATED for each in lines)
    return Headline(
        lines=tuple(lines),
        alarms=_alarms(run),
        means=_means(run),
        footnote=UNSTATED_NOTE if unstated else "",
        silence="" if lines else _silence(run),
        cards=cards(run, lines),
    )


def _asked(each: Line) -> int:
    return _ASKED.index(each.question) if each.question in _ASKED else len(_ASKED)


def _alarms(run: Run) -> tuple[tuple[str, str], ...]:
    bad: dict[str, Counter[str]] = {}
    for each in run.measurements:
        if each.status in (Status.INCONCLUSIVE, Status.SUSPECT, Status.FAILED):
            bad.setdefault(each.case.instance, Counter())[str(each.status)] += 1
    return tuple(
        (system, ", ".join(f"{counts[status]} {status}" for status in sorted(counts, reverse=True)))
        for system, counts in bad.items()
    )


def _means(run: Run) -> str:
    models = {
        f"{each.evidence.by} {each.evidence.version}".strip()
        for each in run.measurements
        if str(each.evidence.grade) == "emulated" and each.time_s is not None
    }
    if not models:
        return ""
    return f"Emulated: computed by a model ({', '.join(sorted(models))}), not run on the device."


def _silence(run: Run) -> str:
    """What became of the cases, and the commonest reason."""
    if not run.measurements:
        return "no case was carried out"
    counts = ", ".join(f"{count:,} {status}" for status, count in run.counts().items() if count)
    reasons = Counter(each.reason_text for each in run.measurements if each.reason_text)
    why = f"; most often: {reasons.most_common(1)[0][0]}" if reasons else ""
    return f"no case gave a number to hold against a document ({counts}{why})"
