"""Rules of a gate: which cases each speaks of, how a file of them is read, and what they find."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trnbench.bounded import kinds, read_toml
from trnbench.case_key import CaseKey, joint
from trnbench.compare.change import Change, Comparison, interval_text
from trnbench.errors import BadInput, ExitCode, cut, quoted
from trnbench.facts.units import signed_percent
from trnbench.record import Record

if TYPE_CHECKING:
    from trnbench.results.junit import Tested


class Direction(StrEnum):
    """Which way a value has to go to break a rule."""

    WORSE = "worse"
    BETTER = "better"  # a number that improves by itself is wrong as often as not
    EITHER = "either"
    NONE = "none"  # the value may go where it will; failures, shares of peaks and ages still count

    def wrong(self, effect: float) -> float:
        """How far an effect goes this way, of those that have one; below zero where it goes the other."""
        if self is Direction.EITHER:
            return abs(effect)
        return effect if self is Direction.WORSE else -effect


class Rule(Record, kw_only=True):
    """`kernel`, `system` and `case` are names or globs, all of which have to fit.

    `metric` is "time_s" or one of a measurement's metrics. `tolerance` is a share, 0.02 for 2 %; None stands
    for 3 % of measured and nothing of emulated values. `least_of_peak` is the share of its peak that a case
    has to reach, `oldest_days` how old what it is held against may be.
    """

    name: str
    kernel: str = "*"
    system: str = "*"
    case: str = "*"
    metric: str = "time_s"
    direction: Direction = Direction.WORSE
    tolerance: float | None = None
    least_of_peak: float | None = None
    oldest_days: float | None = None

    def fits(self, case: CaseKey) -> bool:
        """Whether the rule speaks of this case."""
        return (
            fnmatchcase(case.kernel, self.kernel)
            and fnmatchcase(case.instance, self.system)
            and any(_fits_name(name, self.case) for name in {case.fullname, joint(case.fullname)})
        )


def _fits_name(name: str, pattern: str) -> bool:
    """Case names have brackets in them, which a glob would read as a set of characters."""
    return fnmatchcase(name, pattern.replace("[", "[[]"))


USUAL = Rule(name="usual")
"""What holds of cases that no other rule speaks of: nothing slower, and no emulated time that rose."""


def rule_of(case: CaseKey, rules: Sequence[Rule]) -> Rule:
    """The first that fits, the usual one where none does."""
    return next(rule for rule in (*rules, USUAL) if rule.fits(case))


Read = Callable[[Any, str], Any]


def read_rules(path: Path) -> tuple[Rule, ...]:
    """The rules of a file. Raises `MissingFile`, and `BadInput` that names the file and the key."""
    document = read_toml(path)
    for key in document:
        if key != "rule":
            raise BadInput(
                f"{path}: unknown key {quoted(key)}",
                cause="a gate file has rules and nothing else: [[rule]]",
                try_="[[rule]]",
            )
    listed = document.get("rule", [])
    if not isinstance(listed, list) or not listed or not all(isinstance(each, dict) for each in listed):
        raise BadInput(
            f"{path}: it has no rules", cause="each begins with [[rule]], in two brackets", try_="[[rule]]"
        )
    return tuple(_rule(each, number, str(path)) for number, each in enumerate(listed, start=1))


def _rule(table: Mapping[str, Any], number: int, path: str) -> Rule:
    fields: dict[str, Any] = {"name": str(number)}
    for key, value in table.items():
        place = f"{path}: rule[{number}].{key}"
        known = _KEYS.get(key)
        if known is None:
            raise BadInput(
                f"{place}: no rule has such a key", cause=f"known: {', '.join(_KEYS)}", try_=_near(key)
            )
        field, read = known
        fields[field] = read(value, place)
    return Rule(**fields)


def _near(key: str) -> str:
    from difflib import get_close_matches

    return next(iter(get_close_matches(key, _KEYS, n=1)), "docs/comparing.md has an example")


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str) or not value:
        raise BadInput(f"{place} is {_said(value)}", cause="it is a text that is not empty", try_='"gemm*"')
    return value


def _direction(value: Any, place: str) -> Direction:
    try:
        return Direction(value)
    except ValueError:
        raise BadInput(
            f"{place} is {_said(value)}", cause=f"it is one of {', '.join(Direction)}", try_='"worse"'
        ) from None


def _share(value: Any, place: str) -> float:
    found = kinds.PERCENT.parsed(value) if isinstance(value, str) else None
    if found is None:
        cause = f"it is a percentage in quotes, {kinds.PERCENT.range}"
        raise BadInput(f"{place} is {_said(value)}", cause=cause, try_='"2%"')
    return float(found) / 100.0


def _days(value: Any, place: str) -> float:
    if not kinds.is_number(value) or not kinds.DAYS.fits(value):
        raise BadInput(
            f"{place} is {_said(value)}", cause=f"{kinds.DAYS.about}, {kinds.DAYS.range}", try_="30"
        )
    return float(value)


def _said(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else cut(str(value))


_KEYS: dict[str, tuple[str, Read]] = {
    "name": ("name", _text),
    "kernel": ("kernel", _text),
    "system": ("system", _text),
    "case": ("case", _text),
    "metric": ("metric", _text),
    "direction": ("direction", _direction),
    "tolerance": ("tolerance", _share),
    "minimum_of_peak": ("least_of_peak", _share),
    "maximum_age_days": ("oldest_days", _days),
}
"""Keys of a rule: the field, and how its value is read."""


class Outcome(StrEnum):
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    PASSED = "passed"


class Finding(Record, kw_only=True):
    """`kind`: "slower", "faster", "metric", "failure", "lost", "evidence", "refused", "peak", "age", "rule",
    or "" for what passed. `what` is the sentence: the value, its interval and the rule's limit. `causes`
    likeliest first."""

    outcome: Outcome
    rule: str
    id: str = ""  # of the case; "" where a rule speaks of the whole
    kernel: str = ""
    system: str = ""
    kind: str = ""
    what: str = ""
    causes: tuple[str, ...] = ()
    change: Change | None = None

    @property
    def verdict(self) -> str:
        """What became of the case, as everywhere; "" where the rule speaks of no case."""
        return str(self.change.verdict) if self.change is not None else ""


def finding_of(case: CaseKey, rule: Rule, outcome: Outcome, **fields: Any) -> Finding:
    """What a rule finds of a case."""
    fields = {"id": case.id, **fields}
    return Finding(outcome=outcome, rule=rule.name, kernel=case.kernel, system=case.instance, **fields)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """As `Gated` has them."""
    places = list(Outcome)
    return tuple(sorted(findings, key=lambda each: places.index(each.outcome)))


class Gated(Record, kw_only=True):
    """`findings`: what failed first, then what is inconclusive, then what passed."""

    comparison: Comparison
    findings: tuple[Finding, ...]
    strict: bool = False

    def of(self, outcome: Outcome) -> tuple[Finding, ...]:
        """The findings of one outcome."""
        return tuple(finding for finding in self.findings if finding.outcome is outcome)

    def counts(self) -> str:
        """`1 failed, 40 passed`."""
        return ", ".join(f"{len(some):,} {outcome}" for outcome in Outcome if (some := self.of(outcome)))

    @property
    def passed(self) -> bool:
        """Nothing failed; with `strict` nothing inconclusive either."""
        return not (self.of(Outcome.FAILED) or (self.strict and self.of(Outcome.INCONCLUSIVE)))

    def exit_code(self) -> ExitCode:
        """0 or 1."""
        return ExitCode.OK if self.passed else ExitCode.GATE


def junit(gated: Gated) -> bytes:
    """One test suite; a test case for each finding, named by its case, its class the system and the kernel.

    What failed is a failure with the rule as its type; what is inconclusive is skipped, or with `strict` a
    failure.
    """
    from trnbench.results.junit import Suite, document

    comparison = gated.comparison
    properties = (
        ("against", comparison.before.id),
        ("evidence", str(comparison.after.grade)),
        ("trnbench", comparison.after.tool_version),
        *((f"differs.{number}", difference) for number, difference in enumerate(comparison.differs, start=1)),
    )
    name = f"trnbench gate {comparison.after.id} against {comparison.before.id}"
    cases = [_case(finding, strict=gated.strict) for finding in gated.findings]
    return document([Suite(name, comparison.after.created, properties, cases)])


def _case(each: Finding, *, strict: bool) -> Tested:
    from trnbench.results.junit import Tested

    change, name = each.change, each.id.partition("::")[2] or each.id or f"rule {each.rule}"
    side = change.after if change is not None and change.unit == "s" else None
    time_s = side.value or 0.0 if side is not None else 0.0
    passed = Tested(each.system, each.kernel, name, time_s)
    if each.outcome is Outcome.FAILED or (strict and each.outcome is Outcome.INCONCLUSIVE):
        kind = each.kind if each.outcome is Outcome.FAILED else "inconclusive"
        text = "\n".join((f"rule {each.rule}: {each.what}", *(f"cause: {cause}" for cause in each.causes)))
        return passed._replace(outcome="failure", kind=kind, message=each.what, text=text)
    if each.outcome is Outcome.INCONCLUSIVE:
        return passed._replace(outcome="skipped", message=f"inconclusive: {each.what}")
    return passed


MOST_ROWS = 200
"""A summary may have 1 MiB; nobody reads as much."""
MOST_ANNOTATIONS = 10
"""GitHub shows ten of each kind in a step, and drops the others without a word."""

_MARKUP = re.compile(r"([\\`*_\[\]<>|~#&!])")


def summary(gated: Gated) -> str:
    """Whether it passed, counts, what failed with its causes, what is inconclusive."""
    comparison = gated.comparison
    word = "passed" if gated.passed else "failed"
    lines = [
        f"## trnbench gate: {word}",
        "",
        f"Run `{_code(comparison.after.id)}` ({comparison.after.grade}) against "
        f"`{_code(comparison.before.id)}`: {gated.counts() or 'no case'}.",
        "",
    ]
    for outcome in (Outcome.FAILED, Outcome.INCONCLUSIVE):
        if findings := gated.of(outcome):
            lines += [f"### {str(outcome).capitalize()}", "", *_table(findings), ""]
    if comparison.differs:
        lines += ["### What else differs", "", *(f"- {_escaped(text)}" for text in comparison.differs), ""]
    return "\n".join(lines)


def _table(found: Sequence[Finding]) -> Iterator[str]:
    yield "| case | change | rule | by | interval | what | likeliest cause |"
    yield "| --- | --- | --- | ---: | ---: | --- | --- |"
    for finding in found[:MOST_ROWS]:
        change = finding.change
        effect = signed_percent(change.effect) if change is not None and change.effect is not None else ""
        cells = (
            finding.id, finding.verdict, finding.rule, effect,
            interval_text(change) if change is not None else "",
            finding.what, finding.causes[0] if finding.causes else "",
        )  # fmt: skip
        yield f"| {' | '.join(map(_escaped, cells))} |"
    if len(found) > MOST_ROWS:
        yield f"| and {len(found) - MOST_ROWS:,} more | | | | | | |"


def annotation_lines(gated: Gated) -> Iterator[str]:
    """`::error` lines for what failed, `::warning` for what is inconclusive (`strict`: errors too)."""
    for outcome, command in (
        (Outcome.FAILED, "error"),
        (Outcome.INCONCLUSIVE, "error" if gated.strict else "warning"),
    ):
        findings = gated.of(outcome)
        for finding in findings[:MOST_ANNOTATIONS]:
            cause = f" Likeliest cause: {finding.causes[0]}" if finding.causes else ""
            title = f"trnbench gate: {finding.id or 'rule ' + finding.rule}"
            yield f"::{command} title={_property(title)}::{_data(finding.what + cause)}"
        if len(findings) > MOST_ANNOTATIONS:
            yield f"::{command} title=trnbench gate::and {len(findings) - MOST_ANNOTATIONS:,} more {outcome}"


def _data(text: str) -> str:
    """As the runner's own toolkit escapes the message of a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    return " ".join(text.replace("`", "'").split())
