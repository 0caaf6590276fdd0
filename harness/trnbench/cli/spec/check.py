"""`trnbench spec check`: where the documents disagree, with both sources."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from trnbench.errors import ExitCode, UnknownName, counted
from trnbench.facts.check import Findings
from trnbench.facts.check import check as check_book
from trnbench.facts.disagreement import RULES, Claim, Disagreement
from trnbench.facts.fact import Dispute
from trnbench.generation import Generation, assemblies
from trnbench.terminal import screen
from trnbench.terminal.cell import Column, Columns, clean
from trnbench.terminal.context import Session
from trnbench.terminal.output import Row, emit, say, write

_COLUMNS: Columns = (
    "generation",
    "rule",
    "subject",
    "metric",
    Column("ratio", show=lambda ratio: f"{ratio:.3f}", align="right"),
    Column("claims", "who says what"),
    Column("disputes", "known as"),
    "note",
)


def check(
    state: Session,
    generations: tuple[str, ...],
    rules: tuple[str, ...],
    strict: bool,
    facts: tuple[Path, ...],
    format: str,
) -> ExitCode:
    """Every disagreement between documents; exit code 1 where --strict finds one without a dispute."""
    for rule in rules:
        if rule not in RULES:
            raise UnknownName("rule", rule, RULES, try_="trnbench spec check --help")
    rows: list[Row] = []
    known: set[tuple[str, str, str, tuple[Claim, ...]]] = set()
    by_rule = unnamed = by_name = 0
    extra = state.facts_of(facts)
    for generation in _chosen(state, generations):
        findings = _findings(state, generation, extra)
        for finding in findings.found:
            key = (finding.rule, finding.subject, finding.named, finding.claims)
            # A fact file of one's own is read with every generation.
            if key not in known and (not rules or finding.rule in rules):
                known.add(key)
                rows.append(_found(generation.name, finding))
                by_rule += 1
                unnamed += finding in findings.unnamed
        if not rules:
            rows += [_named(generation.name, each) for each in findings.named]
            by_name += len(findings.named)
    if format == "table":
        write(blocks(rows, width()))
    else:
        emit(rows, _COLUMNS, format)
    say(
        f"{counted(by_rule, 'disagreement')} found by rule, {unnamed} of them in no list of disputes; "
        f"{by_name} more are known that no rule can find"
    )
    if strict and unnamed:
        say("error: --strict: name them in [[disputes]] of the fact files, or correct the facts")
        return ExitCode.GATE
    return ExitCode.OK


def _chosen(state: Session, names: Iterable[str]) -> list[Generation]:
    known = state.registry.generations
    for name in names:
        if name in state.registry.instance_names(aliases=True):
            hint = f"trnbench spec check {state.registry.instance(name)[0].name}"
            why = "it is a system, and documents are of a generation"
            raise UnknownName("generation", name, known, cause=why, try_=hint)
        if name not in known:
            raise UnknownName("generation", name, known, try_="trnbench spec list")
    return [known[name] for name in dict.fromkeys(names)] or [
        each for each in known.values() if state.registry.reads(each.name)
    ]


def _findings(state: Session, generation: Generation, extra: tuple[Path, ...]) -> Findings:
    return check_book(state.registry.book(generation.name, extra), assemblies(generation))


def _found(generation: str, each: Disagreement) -> Row:
    strangers = f"not in the dispute: {', '.join(each.strangers)}" if each.strangers else ""
    return {
        "generation": generation,
        "rule": each.rule,
        "subject": each.subject,
        "metric": each.named,
        "ratio": each.ratio,
        "claims": " | ".join(map(_said, each.claims)),
        "disputes": " ".join(each.disputes),
        "note": "; ".join(filter(None, (each.note, strangers))),
        "details": each.claims,
    }


def _said(claim: Claim) -> str:
    marks = claim.source + (f", superseded by {claim.superseded_by}" if claim.superseded_by else "")
    return f"{claim.text} ({marks}: {claim.locator})"


def _named(generation: str, each: Dispute) -> Row:
    return {
        "generation": generation,
        "rule": "no rule can find this",
        "subject": " ".join(each.subjects),
        "metric": each.metric or each.topic,
        "ratio": None,
        "claims": f"{' | '.join(each.values)} (sources: {', '.join(each.sources)})",
        "disputes": each.id,
        "note": each.note,
        "details": each,
    }


WIDTH = 100
"""Columns, where the terminal does not have fewer."""


def width() -> int:
    """Of the terminal, 100 at most and where there is none."""
    return min(screen.width() or WIDTH, WIDTH)


def block(row: Row, wide: int) -> str:
    """Who it is about, then a line for each side, then the note.

    trn1 · value · trn1.2xlarge · efa_bandwidth · 2.000 · C04
        up to 25 Gbps (seed-trn1: instance size table, row Trn1.2xlarge)
        up to 12.5 Gbps (…)
        note: …
    """
    ratio = row["ratio"]
    ratio = f"{ratio:.3f} times" if isinstance(ratio, float) else ""
    names = (row["generation"], row["rule"], row["subject"], row["metric"], ratio, row["disputes"])
    lines = [_wrapped(" · ".join(str(each) for each in names if each), wide, "", "  ")]
    lines += [_wrapped(side, wide, "    ", "      ") for side in str(row["claims"]).split(" | ")]
    if row["note"]:
        lines.append(_wrapped(f"note: {row['note']}", wide, "    ", "      "))
    return "\n".join(lines)


def blocks(rows: Sequence[Row], wide: int) -> str:
    """All of them, an empty line between."""
    return "".join(f"{block(row, wide)}\n\n" for row in rows).removesuffix("\n")


def _wrapped(text: str, wide: int, first: str, rest: str) -> str:
    return textwrap.fill(
        clean(text), wide, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
