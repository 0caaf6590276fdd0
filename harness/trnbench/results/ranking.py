"""Answers to one question side by side, and which is fastest as far as their bands tell."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from trnbench.bounded.kinds import is_number
from trnbench.case_key import Value
from trnbench.facts.units import show
from trnbench.record import Record, grouped
from trnbench.results.measurement import BestPublished

SYSTEM = "system"
HOW = ("ranks", "rank", "algorithm")
"""Names that say how a system answers, not what it was asked: its ranks, and their algorithm."""

SAME_TIME = 1e-9
"""Of a time: two that differ by less are one."""


class Result(Record, kw_only=True):
    """One answer. `names` are what was asked and of which system; `labels` say them in words.

    `band` has the least and the most seconds to expect, None where nothing says; `share` is that of the
    promise, `metric` what `rate` is of. `letter` is the grade of the evidence, `nearness` the class of what
    was published near it.
    """

    names: dict[str, Value]
    labels: dict[str, str] = {}
    time_s: float | None = None
    band: tuple[float, float] | None = None
    rate: float | None = None
    unit: str = ""
    metric: str = ""
    share: float | None = None
    best: BestPublished | None = None
    letter: str = ""
    nearness: str = ""
    status: str = "ok"
    reason: str = ""

    def label(self, name: str) -> str:
        """What stands at `name`, in words; "" where nothing does."""
        value = self.names.get(name, "")
        if name in self.labels:
            return self.labels[name]
        return f"{value:,}" if is_number(value) else str(value)


def varying(results: Sequence[Result]) -> list[str]:
    """Names that differ among the results, in their order."""
    names = dict.fromkeys(name for result in results for name in result.names)
    return [name for name in names if len({result.names.get(name) for result in results}) > 1]


def verdict(results: Sequence[Result], choices: Collection[str] = ()) -> str:
    """Which is fastest and by what factor, or that it cannot be told, in words; "" where nothing compares.

    Results are compared that differ in their system, or in `choices`: names that are no part of a question.
    """
    apart = {SYSTEM, *HOW, *choices}

    def question(result: Result) -> tuple[tuple[str, Value], ...]:
        return tuple((name, value) for name, value in result.names.items() if name not in apart)

    questions = grouped((result for result in results if result.time_s is not None), question)
    several = [_Contest(answers, choices) for answers in questions.values() if len(answers) > 1]
    if len(several) <= 1:
        return several[0].words() if several else ""
    return _of_several(several)


class _Contest:
    """The answers to one question: the first, those with the same time and band, and others."""

    def __init__(self, answers: Sequence[Result], choices: Collection[str]) -> None:
        answers = sorted(answers, key=_time)
        self.names = [name for name in varying(answers) if name == SYSTEM or name in choices]
        self.first = answers[0]
        self.alike = [answer for answer in answers[1:] if self._same(answer)]
        self.others = [answer for answer in answers if not self._same(answer)]
        self.factor = _time(self.others[0]) / _time(self.first) if self.others else 1.0

    def _same(self, other: Result) -> bool:
        near = _time(other) / _time(self.first) - 1 <= SAME_TIME
        return near and (other.letter, other.band) == (self.first.letter, self.first.band)

    @property
    def winner(self) -> str:
        return self.called(self.first, self.alike)

    def called(self, result: Result, alike: Sequence[Result] = ()) -> str:
        """By the names that tell the answers apart."""
        words = ", ".join(
            result.label(name) if name == SYSTEM else f"{name} {result.label(name)}" for name in self.names
        )
        return words + (f" (and {len(alike)} alike)" if alike else "")

    @property
    def certain(self) -> bool:
        """Whether all others are slower, wherever in its band each is."""
        return bool(self.others) and not self._doubts

    @property
    def _doubts(self) -> list[Result]:
        band = self.first.band
        return [each for each in self.others if band is None or each.band is None or each.band[0] <= band[1]]

    def words(self) -> str:
        if not self.others:
            number = len(self.alike)
            return f"{self.called(self.first)} and {number} more take the same time."
        if not self._doubts:
            return (
                f"{self.winner} is fastest, {_times(self.factor)} as fast as {self.called(self.others[0])}."
            )
        bare = [each for each in (self.first, *self.others) if each.band is None]
        if bare:
            more = f" and {len(bare) - 1} more have" if len(bare) > 1 else " has"
            return f"the fastest cannot be told, {self.called(bare[0])}{more} no band."
        named = f"{self.called(self.first)} and {self.called(self._doubts[0])}"
        return f"the fastest cannot be told, the bands of {named} overlap{self._slower()}."

    def _slower(self) -> str:
        """The only one whose band lies above all that may be fastest; of more the table tells."""
        highest = max(each.band[1] for each in (self.first, *self._doubts) if each.band)
        slower = [each for each in self.others if each.band and each.band[0] > highest]
        return f"; {self.called(slower[0])} is slower" if len(slower) == 1 else ""


def _of_several(several: Sequence[_Contest]) -> str:
    """In one sentence, how often who is fastest."""
    certain = [contest for contest in several if contest.certain]
    if not certain:
        return (
            f"the fastest cannot be told in any of {len(several)} questions, bands overlap or there is none."
        )
    wins = grouped(certain, lambda contest: contest.winner)
    parts = []
    for winner, won in sorted(wins.items(), key=lambda item: -len(item[1])):
        factors = [contest.factor for contest in won]
        least, most = _times(min(factors)), _times(max(factors))
        by = most if least == most else f"{least.removesuffix(' times')} to {most}"
        parts.append(f"{winner} in {len(factors)}, {by} as fast as the next")
    rest = "; in the others it cannot be told" if len(certain) < len(several) else ""
    return f"fastest of {len(several)} questions: {'; '.join(parts)}{rest}."


def _time(result: Result) -> float:
    assert result.time_s is not None
    return result.time_s


def _times(factor: float) -> str:
    return f"{show(factor, '1')} times"
