"""The words of a line: the same on a terminal, in a report and in a pull request."""

from __future__ import annotations

from typing import NamedTuple

from trnbench.facts.format import percent, show
from trnbench.facts.scope import Scope
from trnbench.results.error_text import signed_text
from trnbench.run.headline.line import Line, Promised
from trnbench.run.headline.question import OTHER

AT_CLOCK = 0.98
"""From this share of the clock bound on, a model says what the clock is, and nothing of a kernel."""
FEW = 4
"""Shapes of our own product whose extremes say enough."""

_CALLED = {"gemm": "product", "hbm_copy": "copy within device memory", "all_reduce": "all-reduce"}
_BY = {"emulated": "model", "derived": "formula"}
"""Who says the number, where the grade alone does not name it."""


class Said(NamedTuple):
    """`subject: result share promise. trust`; the share stands apart for those who link it, and `detail`
    says of it what a line has no room for."""

    subject: str
    result: str
    share: str
    promise: str
    trust: str
    detail: str

    @property
    def text(self) -> str:
        """The whole line."""
        return f"{self.subject}: {self.result}{self.share}{self.promise}. {self.trust}".rstrip()


def said(line: Line, alike: int = 0) -> Said:
    """The words of `line`; every number in them is a field of it.

    `alike`: how many of the lines that follow have no interval for the same reason; −1 where a line before
    has said the reason.
    """
    expect = ", ".join(filter(None, (_published(line), _expect(line))))
    parts = (_no_interval(line, alike), _clock(line), _rest(line), own_products(line))
    return Said(
        subject=_subject(line),
        result=_result(line),
        share=percent(line.of.fraction) if line.of else "",
        promise="".join((_since(line), _sweep(line), f"; {expect}" if expect else "")),
        trust=" ".join(filter(None, parts)),
        detail=_detail(line),
    )


def _subject(line: Line) -> str:
    """`trn2, one core, bf16 product`; a system is named where it answers for itself."""
    part = line.scope.rank <= Scope.DEVICE.rank
    asked = line.question != OTHER
    where = line.generation if part and line.whole and asked else ", ".join(line.systems)
    reach = f", one {str(line.scope).replace('-', ' ')}" if part else ""
    what = " ".join(filter(None, (line.dtype, _CALLED.get(line.kernel, line.kernel))))
    ranks = f" ({line.ranks})" if line.ranks else ""
    return f"{where}{reach}, {what}{ranks}"


def _result(line: Line) -> str:
    """`model 78.6 TFLOPS of 78.1 promised (seed-trn2 2024: `."""
    by = _BY.get(str(line.grade), str(line.grade))
    words = f"{by} {show(line.sweep.best, line.sweep.unit)}"
    if line.of is None:
        return words
    return f"{words} of {_bare(line.of.value, line)} promised ({_document(line.of)}: "


def _since(line: Line) -> str:
    """What follows the share up to the end of its bracket."""
    if line.of is None:
        return ""
    words = ""
    if line.of.fraction > 1 and not at_clock(line):
        allowed = "no clock bounds it" if line.clock is None else "the clocks allow more"
        words += f", the figure is low: {allowed}"
    if line.since is not None:
        newer = line.since
        words += f"; since {_bare(newer.value, line)}, {_document(newer)}: {percent(newer.fraction)}"
    return f"{words})"


def _sweep(line: Line) -> str:
    """Where the best stands, and what it is the best of."""
    sweep = line.sweep
    if sweep.points == 1:
        return f" at {sweep.over}" if sweep.over else ""
    over = (sweep.over or f"{sweep.points} cases").replace(" to ", "–")
    at = f" at {sweep.at}," if sweep.at else ","
    return f"{at} best of {over} from {_bare(sweep.worst, line)}"


def _bare(value: float, line: Line) -> str:
    """Without the unit where the best of the line has the same."""
    number, _, unit = show(value, line.sweep.unit).partition(" ")
    return number if unit == _unit(line) else f"{number} {unit}".rstrip()


def _unit(line: Line) -> str:
    return show(line.sweep.best, line.sweep.unit).partition(" ")[2]


def _document(promised: Promised) -> str:
    """By its id, which `trnbench spec` and the report's documents go by, and its year."""
    year = promised.date.partition("-")[0]
    return " ".join(filter(None, (promised.source or "the clocks", year)))


def _detail(line: Line) -> str:
    """The share in full: the document by its name, and whether it prints the figure."""
    if line.of is None:
        return ""
    of = line.of
    named = of.document or of.source or "the clocks"
    words = f"{percent(of.fraction)} of the {show(of.value, line.sweep.unit)} that {named}"
    words += f" ({of.date})" if of.date else ""
    words += " prints" if of.printed else " implies"
    return f"{words}; {of.note}" if of.note else words


def at_clock(line: Line) -> bool:
    """Whether a model says of the line what its clock is, and nothing of a kernel."""
    return line.clock is not None and line.clock >= AT_CLOCK and str(line.grade) == "emulated"


def _clock(line: Line) -> str:
    return "At its clock: a clock held against a document, not a kernel." if at_clock(line) else ""


def _no_interval(line: Line, alike: int) -> str:
    if not line.muted or alike < 0:
        return ""
    also = f" here nor in the {f'{alike} lines' if alike > 1 else 'line'} below" if alike else ""
    return f"No interval{also}: {line.reason}."


def _expect(line: Line) -> str:
    """`expect 45–79 (operation, 7 votes, widened)`."""
    if line.expected is None:
        return ""
    low, high = (_bare(each, line) for each in line.expected)
    # `45–1.2 TFLOPS` would lend the unit of one end to the other.
    if (" " in low) != (" " in high):
        low, high = (each if " " in each else f"{each} {_unit(line)}" for each in (low, high))
    bare, _, unit = low.partition(" ")
    between = low if low == high else f"{bare if high.endswith(f' {unit}') else low}–{high}"
    behind = ", ".join(filter(None, (line.nearness, _votes(line), line.band_note)))
    return f"expect {between} ({behind})"


def _votes(line: Line) -> str:
    if not line.votes:
        return f"no vote, the band of {line.widened or 'all points'}"
    counted = f"{line.votes:,} vote{'' if line.votes == 1 else 's'}"
    return f"{counted}, widened" if line.widened else counted


def _published(line: Line) -> str:
    """Its class is told where the interval that follows is of another; its size and ranks where they bound
    nothing here, so that no multiple of it means anything."""
    best = line.published
    if line.of_core is not None:
        one = line.of_core.published
        return f"best published {show(one.value, one.unit)} on one core ({one.id})"
    if best is None or best.metric != line.sweep.metric:
        return ""
    kind = "" if line.expected is not None and str(best.kind) == line.nearness else f"{best.kind}: "
    value = _bare(best.value, line)
    if not best.reaches:
        return f"best published {value} at {best.at} ({kind}{best.id})"
    return f"best published {value} ({kind}{best.id}{_above(line, best.value)})"


def _above(line: Line, published: float) -> str:
    if not line.above:
        return ""
    times = line.sweep.best / published if line.sweep.better == "higher" else published / line.sweep.best
    return f"; the model {f'{times:,.1f} times that' if times >= 2 else f'{(times - 1) * 100:.0f} % above'}"


def _rest(line: Line) -> str:
    if at_clock(line):
        return ""
    if line.rest:
        causes = (f"{each.name.removesuffix(' in the model')} {percent(each.share)}" for each in line.rest)
        return f"The rest: {', '.join(causes)}."
    return f"Bound by {line.bound}." if line.bound else ""


def own_products(line: Line) -> str:
    """How far they spread; of the time, so that − is too fast. `trnbench validate --same` lists them.

    Where what is shipped of them does not hold, that, its reason and what to type.
    """
    if not line.own:
        return f"Our product against published: out of date. {line.own_outdated}" if line.own_outdated else ""
    errors = [each.e for each in line.own]
    least, most = (signed_text(each) for each in (min(errors), max(errors)))
    spread = least if len(errors) == 1 else f"{least} … {most}"
    shapes = "1 shape" if len(errors) == 1 else f"{len(errors)} shapes"
    middle = ""
    if len(errors) > FEW:
        from statistics import median  # brings random and decimal along

        middle = f", median {signed_text(median(errors))}"
    return f"Our product against published: {spread} of the time at {shapes}{middle}."
