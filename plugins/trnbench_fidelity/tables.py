"""The fidelity tables as rows, and as the Markdown that docs/errors.md and README show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from trnbench.results.expectation import NOTHING, factor_text, signed_text, size_text
from trnbench.results.fidelity import Bounds, Errors, FamilyFidelity, Span, Use

Row: TypeAlias = dict[str, Any]

BEGIN = "<!-- fidelity: begin (trnbench validate --format md) -->"
END = "<!-- fidelity: end -->"
"""Between these two lines docs/errors.md has what `told.markdown` returns; a test compares them."""


TRUST_BEGIN = "<!-- trust: begin (.ci/renew answers) -->"
TRUST_END = "<!-- trust: end -->"
"""Between these two lines README has what `brief` returns."""


def family_row(family: FamilyFidelity) -> Row:
    """All there is of one family and generation. Errors are natural logarithms of times, None where there is
    no point, and p90 and intervals None under five votes."""
    row: Row = {"family": family.name, "title": family.title, "generation": family.generation}
    row |= _errors(family.errors, "")
    for name in ("fitted", "cross_validated", "shaped", "untouched"):
        row |= _errors(getattr(family, name), f"{name}_")
    bounds = family.bounds or Bounds(count=0)
    row |= {"bounds": bounds.count, "bounds_broken": bounds.broken}
    row |= {"bounds_worst": bounds.worst if bounds.broken else None, "bounds_worst_point": bounds.worst_id}
    row |= {str(use).replace(" ", "_"): family.uses.get(str(use), 0) for use in Use if use in _PUBLISHED}
    return row


_PUBLISHED = tuple(use for use in Use if use is not Use.SAME_OPERATION)


def _errors(found: Errors | None, prefix: str) -> Row:
    row: Row = {
        f"{prefix}votes": found.votes if found else 0,
        f"{prefix}points": found.points if found else 0,
    }
    for name in ("median", "p90"):
        span: Span | None = getattr(found, f"{name}_span") if found else None
        row[f"{prefix}{name}"] = getattr(found, name) if found else None
        row[f"{prefix}{name}_low"] = span.low if span else None
        row[f"{prefix}{name}_high"] = span.high if span else None
    row[f"{prefix}p90_rows"] = found.p90_rows if found else None
    row[f"{prefix}worst"] = found.worst if found else None
    row[f"{prefix}worst_point"] = found.worst_id if found else ""
    row[f"{prefix}worst_raw"] = found.worst_raw if found else None
    row[f"{prefix}worst_raw_point"] = found.worst_raw_id if found else ""
    row[f"{prefix}bias"] = found.bias if found else None
    return row


def count_text(errors: Errors | None) -> str:
    """`12 kernels, 41 points` in a column of that name."""
    return f"{errors.votes}, {errors.points}" if errors else "0"


def with_span(e: float | None, span: Span | None) -> str:
    """`15 % (11 to 22 %)`; "–" where there is none."""
    if e is None:
        return NOTHING
    text = size_text(e)
    return (
        text
        if span is None
        else f"{text} ({size_text(span.low).removesuffix(' %')} to {size_text(span.high)})"
    )


def short(errors: Errors | None) -> str:
    """Votes, points, median and p90 in one cell: `3, 21: 5.9 %` or `9, 40: 14 %, 30 %`."""
    if errors is None:
        return NOTHING
    p90 = "" if errors.p90 is None else f", {size_text(errors.p90)}"
    return f"{count_text(errors)}: {size_text(errors.median)}{p90}"


def bounds_text(bounds: Bounds | None) -> str:
    """`broken 15 of 22, worst ×6.4`."""
    if bounds is None:
        return NOTHING
    worst = f", worst {factor_text(bounds.worst)}" if bounds.broken else ""
    return f"broken {bounds.broken} of {bounds.count}{worst}"


HEADS = (
    *("family", "generation", "kernels, points", "median", "p90", "p90 by rows", "bias"),
    *("fitted", "cross-validated", "shaped", "untouched", "bounds", "worst", "worst, raw"),
)


def cells(family: FamilyFidelity) -> tuple[str, ...]:
    """One row under `HEADS`, as people read it."""
    errors = family.errors
    middle, worst, raw = ("0", *[NOTHING] * 4), NOTHING, NOTHING
    if errors:
        middle = (
            count_text(errors),
            with_span(errors.median, errors.median_span),
            with_span(errors.p90, errors.p90_span),
            NOTHING if errors.p90_rows is None else size_text(errors.p90_rows),
            signed_text(errors.bias),
        )
        worst = f"{size_text(errors.worst)} ({errors.worst_id})"
        if errors.worst_raw is not None and errors.worst_raw > errors.worst:
            raw = f"{size_text(errors.worst_raw)} ({errors.worst_raw_id})"
    parts = (family.fitted, family.cross_validated, family.shaped, family.untouched)
    bounds = bounds_text(family.bounds)
    return (family.title, family.generation, *middle, *map(short, parts), bounds, worst, raw)


def shown(families: Iterable[FamilyFidelity]) -> list[FamilyFidelity]:
    """Those with a number to show."""
    return [family for family in families if family.errors or family.bounds]


def brief(families: Iterable[FamilyFidelity]) -> str:
    """A row a family, a column a generation: the median error, p90 by votes and by rows where enough are
    there, votes and rows, the worst row against what it prints; bounds alone where nothing else is published.

    The last row counts published points. A Markdown table that ends with a line end.
    """
    by_title: dict[str, dict[str, FamilyFidelity]] = {}
    points: dict[str, int] = {}
    for each in families:
        points[each.generation] = points.get(each.generation, 0) + sum(each.uses.values())
        if each.errors or each.bounds:
            by_title.setdefault(each.title, {})[each.generation] = each
    generations = sorted(points)

    def votes(title: str) -> int:
        return sum(each.errors.votes for each in by_title[title].values() if each.errors)

    def cell(each: FamilyFidelity | None) -> str:
        if each is None:
            return NOTHING
        errors, bounds = each.errors, each.bounds
        if errors is None:
            return f"{bounds.count - bounds.broken} of {bounds.count} bounds hold" if bounds else NOTHING
        p90s = [NOTHING if e is None else _bare(e) for e in (errors.p90, errors.p90_rows)]
        p90 = f"{'/'.join(p90s)}; " if errors.p90_rows is not None else ""
        worst = size_text(max(errors.worst, errors.worst_raw or 0.0))
        return f"{_bare(errors.median)}; {p90}{worst} ({errors.votes}/{errors.points})"

    rows = [
        (title, *(cell(by_title[title].get(name)) for name in generations))
        for title in sorted(by_title, key=lambda title: (-votes(title), title))
    ]
    rows.append(("published points", *(str(points[name]) for name in generations)))
    return "\n".join(grid(("error of the time", *generations), rows, left=1)) + "\n"


def _bare(e: float) -> str:
    """Per cent without its sign."""
    return size_text(e).removesuffix(" %")


MEANS = (
    "Errors are of the time, e = ln(model / published): 15 % is a factor of 1.15 either way. Each kernel, "
    "instruction, stream or collective has one vote, |e| averaged over its points. Median and p90 are of "
    "votes, in brackets 95 % by bootstrap; p90 by rows is of points. Bias is the median signed error, + when "
    "the model is slower than the machine. A point that sources contradict counts by its distance from their "
    "interval; worst, raw: by its own figure. Fitted: a constant came from the point. Cross-validated: those "
    "again, constants refitted without the point. Shaped: a rule of the model was chosen by looking at it. "
    "Untouched: neither (kernels, points: median, p90)."
)


def grid(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 2) -> list[str]:
    """A Markdown table whose first `left` columns are words, the others numbers."""
    rule = ["---"] * left + ["---:"] * (len(heads) - left)
    return [f"| {' | '.join(row)} |" for row in (heads, rule, *rows)]


def folded(summary: str, lines: Sequence[str]) -> list[str]:
    """`lines` behind a summary that opens them, after an empty line; nothing where there is none."""
    if not lines:
        return []
    return ["", f"<details><summary>{summary}</summary>", "", *lines, "", "</details>"]


def few(families: Iterable[FamilyFidelity]) -> list[str]:
    """The points of each row that has under five votes, one line a row."""
    return [
        f"{family.title}, {family.generation}: "
        + ", ".join(f"{id} {signed_text(e)}" for id, e in family.errors.listed.items())
        for family in families
        if family.errors and family.errors.listed
    ]
