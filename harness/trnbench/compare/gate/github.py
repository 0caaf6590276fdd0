"""A gate for GitHub Actions: a summary in Markdown, and annotations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from trnbench.compare.gate.finding import Finding, Gated, Outcome
from trnbench.compare.words import interval_text, signed_percent

MOST_ROWS = 200
"""A summary may have 1 MiB; nobody reads as much."""
MOST_ANNOTATIONS = 10
"""GitHub shows ten of each kind in a step, and drops the others without a word."""

_MARKUP = re.compile(r"([\\`*_\[\]<>|~#&!])")


def summary(gated: Gated) -> str:
    """Whether it passed, counts, what is broken with its causes, what is inconclusive."""
    comparison = gated.comparison
    word = "passed" if gated.passed else "failed"
    counts = ", ".join(f"{len(some):,} {outcome}" for outcome in Outcome if (some := gated.of(outcome)))
    lines = [
        f"## trnbench gate: {word}",
        "",
        f"Run `{_code(comparison.after.id)}` ({comparison.after.grade}) against "
        f"`{_code(comparison.before.id)}`: {counts or 'no case'}.",
        "",
    ]
    for outcome in (Outcome.BROKEN, Outcome.INCONCLUSIVE):
        if found := gated.of(outcome):
            lines += [f"### {str(outcome).capitalize()}", "", *_table(found), ""]
    if comparison.differs:
        lines += ["### What else differs", "", *(f"- {_escaped(each)}" for each in comparison.differs), ""]
    return "\n".join(lines)


def _table(found: Sequence[Finding]) -> Iterator[str]:
    yield "| case | rule | change | interval | what | likeliest cause |"
    yield "| --- | --- | ---: | ---: | --- | --- |"
    for each in found[:MOST_ROWS]:
        change = each.change
        effect = signed_percent(change.effect) if change is not None and change.effect is not None else ""
        cells = (
            each.id, each.rule, effect, interval_text(change) if change is not None else "", each.what,
            each.causes[0] if each.causes else "",
        )  # fmt: skip
        yield f"| {' | '.join(map(_escaped, cells))} |"
    if len(found) > MOST_ROWS:
        yield f"| and {len(found) - MOST_ROWS:,} more | | | | | |"


def annotation_lines(gated: Gated) -> Iterator[str]:
    """`::error` lines for what is broken, `::warning` for what is inconclusive (`strict`: errors too)."""
    for outcome, command in (
        (Outcome.BROKEN, "error"),
        (Outcome.INCONCLUSIVE, "error" if gated.strict else "warning"),
    ):
        findings = gated.of(outcome)
        for each in findings[:MOST_ANNOTATIONS]:
            cause = f" Likeliest cause: {each.causes[0]}" if each.causes else ""
            title = f"trnbench gate: {each.id or 'rule ' + each.rule}"
            yield f"::{command} title={_property(title)}::{_data(each.what + cause)}"
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
