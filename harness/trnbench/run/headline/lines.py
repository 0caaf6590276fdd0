"""The lines of a run in the order in which they may be believed."""

from __future__ import annotations

from collections import Counter

import msgspec

from trnbench.results.measurement import Status
from trnbench.results.nearness import Nearness
from trnbench.results.run import Run
from trnbench.run.headline.answered import line
from trnbench.run.headline.line import Line
from trnbench.run.headline.question import QUESTIONS, answers
from trnbench.run.headline.words import Said, said

_NEARNESS = [str(each) for each in Nearness]
_ASKED = [each.name for each in QUESTIONS]


class Headline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`lines`: nearest evidence first, what has no band last; `silence`: why there is no line, else "".
    `alarms`: (system, `1 suspect, 2 failed`) of each with such cases. `means`: what an emulated number is.
    """

    lines: tuple[Line, ...] = ()
    alarms: tuple[tuple[str, str], ...] = ()
    means: str = ""
    silence: str = ""

    @property
    def said(self) -> tuple[tuple[Line, Said], ...]:
        """Each line with its words."""
        return tuple((each, said(each)) for each in self.lines)


def headline(run: Run) -> Headline:
    """What a run says first, from what is stored in it alone."""
    found = [line(run, each) for each in answers(run)]
    order = {record.generation: record.order for record in run.systems.values()}
    found.sort(key=lambda each: (_believed(each), order.get(each.generation, 10**6), _asked(each)))
    return Headline(
        lines=tuple(found), alarms=_alarms(run), means=_means(run), silence="" if found else _silence(run)
    )


def _believed(each: Line) -> int:
    """Measured first, then by nearness; what is grey stands last."""
    if each.muted:
        return len(_NEARNESS)
    return _NEARNESS.index(each.nearness) if each.nearness in _NEARNESS else -1


def _asked(each: Line) -> int:
    return _ASKED.index(each.question) if each.question in _ASKED else len(_ASKED)


def _alarms(run: Run) -> tuple[tuple[str, str], ...]:
    bad: dict[str, Counter[str]] = {}
    for each in run.measurements:
        if each.status in (Status.SUSPECT, Status.FAILED):
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
