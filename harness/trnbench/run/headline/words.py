"""The words of a line, the same on a terminal, in a report and in a pull request; and lines as cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from trnbench.facts.fact import Scope
from trnbench.facts.units import percent, show
from trnbench.record import Record
from trnbench.results.expectation import signed_text
from trnbench.results.measurement import Grade
from trnbench.results.run import Run
from trnbench.run.headline import OTHER, order_of, place_of
from trnbench.run.headline.line import Line, Promised, Step

AT_CLOCK = 0.98
"""From this share of the clock bound on, a model says what the clock is, and nothing of a kernel."""
FEW = 4
"""Shapes of our own product whose extremes say enough."""

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
    """`trn2, one device, sharded bf16 product`; a system is named where it answers for itself."""
    within_device = line.scope.rank <= Scope.DEVICE.rank
    asked = line.question != OTHER
    owner = line.generation if within_device and line.whole and asked else ", ".join(line.systems)
    reach = f", one {str(line.scope).replace('-', ' ')}" if within_device else ""
    ranks = f" ({line.ranks}, {line.counts})" if line.ranks else ""
    division = f"{line.division} " if line.division else ""
    return f"{owner}{reach}, {division}{line.called}{ranks}"


def _result(line: Line) -> str:
    """`model 78.6 TFLOPS of 78.1 promised (seed-trn2 2024: `."""
    words = f"{_said_by(line)} {show(line.sweep.best, line.sweep.unit)}"
    if line.of is None:
        return words
    value = _bare(line.of.value, line)
    if line.question == "all-reduce" and line.of.figure:  # what its links allow: no document prints it
        return f"{words} of {value} that {line.of.figure} allow ({_document(line.of)}: "
    return f"{words} of {value} promised ({_document(line.of)}: "


def _said_by(line: Line) -> str:
    return _BY.get(str(line.grade), str(line.grade))


def _since(line: Line) -> str:
    """What follows the share up to the end of its bracket."""
    if line.of is None:
        return ""
    words = ""
    if line.beyond and not at_clock(line):
        unbounded = line.clock is None
        words += (
            ", above it: no clock bounds it" if unbounded else ", the figure is low: the clocks allow more"
        )
    if line.since is not None:
        newer = line.since
        words += f"; since {_bare(newer.value, line)}, {_document(newer)}: {percent(newer.fraction)}"
    return f"{words})"


def _sweep(line: Line) -> str:
    """Where the best stands, and what it is the best of."""
    sweep = line.sweep
    if sweep.points == 1:
        return f" at {sweep.over}" if sweep.over else ""
    over = sweep.over or f"{sweep.points} cases"
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
    return "At its clock: this compares a clock with a document, not a kernel." if at_clock(line) else ""


def _no_interval(line: Line, alike: int) -> str:
    if not line.muted or alike < 0:
        return ""
    also = f" here nor in the {f'{alike} lines' if alike > 1 else 'line'} below" if alike else ""
    return f"No interval{also}: {line.reason}."


def _expect(line: Line) -> str:
    """`expect 45–79 (operation, 7 votes, widened)`."""
    if line.expected is None:
        return ""
    low, high = (_bare(end, line) for end in line.expected)
    # `45–1.2 TFLOPS` would lend the unit of one end to the other.
    if (" " in low) != (" " in high):
        low, high = (end if " " in end else f"{end} {_unit(line)}" for end in (low, high))
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
        core = line.of_core.published
        return f"best published {show(core.value, core.unit)} {line.of_core.where} ({core.id})"
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
        return f"The rest: {', '.join(_causes(line))}."
    return f"Bound by {line.bound}." if line.bound else ""


def _causes(line: Line) -> list[str]:
    return [f"{cause.name} {percent(cause.share)}" for cause in line.rest]


def own_products(line: Line) -> str:
    """How far they spread; of the time, so that − is too fast. `trnbench validate same` lists them.

    Where what is shipped of them does not hold, that, its reason and what to type.
    """
    if not line.own:
        return f"Our product against published: out of date. {line.own_outdated}" if line.own_outdated else ""
    errors = [error.e for error in line.own]
    least, most = (signed_text(error) for error in (min(errors), max(errors)))
    spread = least if len(errors) == 1 else f"{least} … {most}"
    shapes = "1 shape" if len(errors) == 1 else f"{len(errors)} shapes"
    middle = ""
    if len(errors) > FEW:
        from statistics import median  # brings random and decimal along

        middle = f", median {signed_text(median(errors))}"
    return f"Our product against published: {spread} of the time at {shapes}{middle}."


ROWS = {"product": "compute", "stream": "memory", "all-reduce": "links"}
"""Question of a line → the row of its generation's card; any other is called by its kernel."""
ORDER = ("product", "attention", "stream", "decode step", "all-reduce")
"""Questions in the order of a card's rows."""

LARGEST = 2
"""Causes that a clause has room for."""


class Row(Record, kw_only=True):
    """One bar of a card, and beside it the largest loss in a clause.

    `line` is None where the run has no case that answers; `clause` then says so. `own` tells how the model
    does with products that others published.
    """

    name: str
    line: Line | None
    clause: str
    own: str = ""


class Card(Record, kw_only=True):
    """What a run says of one generation; `device` as its documents call it."""

    generation: str
    device: str
    rows: tuple[Row, ...]

    @property
    def sentence(self) -> str:
        """What it does of what is promised, what to expect, and what takes most: its first row in words."""
        line = next((row.line for row in self.rows if row.line is not None), None)
        if line is None:
            return ""
        called = self.device or self.generation
        called = f"{called[:1].upper()}{called[1:]}"
        if line.question not in ROWS:
            return f"{called}: {line.kernel} {_briefly(line)}."
        does, most = " ".join(_DOES[line.question].format(dtype=line.dtype).split()), _most(line)
        ending = f"; {most}" if most else ""
        return f"{_whole(line, called)} {does} {_briefly(line, 'of the promised', named=True)}{ending}."

    @property
    def text(self) -> str:
        """The sentence, and the other rows in a few words each: the first of each name."""
        first: dict[str, Line] = {}
        for row in self.rows:
            if row.line is not None:
                first.setdefault(row.name, row.line)
        parts = [f"{name} {_briefly(line)}" for name, line in list(first.items())[1:]]
        others = f" {'; '.join(parts)}." if parts else ""
        return self.sentence + others[:2].upper() + others[2:]


def _whole(line: Line, called: str) -> str:
    """What a line is of: `A Trainium2 device`, `A core of Trainium2`, `trn2-16.48xlarge`."""
    if line.scope.rank > Scope.DEVICE.rank:
        return line.systems[0]
    scope, article = str(line.scope).replace("-", " "), "An" if called[0] in "AEIOU" else "A"
    return f"{article} {called} device" if line.scope is Scope.DEVICE else f"A {scope} of {called}"


_DOES = {
    "product": "multiplies {dtype} at",
    "stream": "copies within its memory at",
    "all-reduce": "reduces {dtype} over its ranks at",
}
"""Verb of the sentence for each question."""


def _briefly(line: Line, of: str = "of", *, named: bool = False) -> str:
    """`519–629 of 667 TFLOPS`, `takes 23.5–142 ms at batch 1, 32.7 token/s`; without a band what the model
    says. `named`: the sentence has said on which system."""
    where = "" if named else _where(line)
    if line.step is not None:
        text, rate = f"takes {_step_time(line.step)}", show(line.step.tokens_per_s, "token/s")
        at = f" at {line.step.at}" if line.step.at else ""
        return f"{text}{at}{where}, {rate}{_alone(line)}"
    ends = [_bare(end, line) for end in line.expected or (line.sweep.best,)]
    unit = "" if any(" " in end for end in ends) else _unit(line)
    if not unit:  # `557 GB/s–1.79 TB/s`: the unit of one end is not that of the other
        ends = [end if " " in end else f"{end} {_unit(line)}" for end in ends]
    value = "–".join(ends)
    text = f"{value} {unit}".rstrip()
    if line.of is not None:
        promise = show(line.of.value, line.sweep.unit)
        if line.question == "all-reduce":
            # What links allow a collective is worked out: no document promises that number.
            text = f"{text} over links of {line.of.figure}" if line.of.figure else text
        else:  # one unit for both where they share it
            shared = unit and promise.endswith(f" {unit}")
            text = f"{value if shared else text} {of} {promise}"
    return text + where + _alone(line)


def _step_time(step: Step) -> str:
    """`23.5–142 ms`: what to expect of it, else what it takes."""
    ends = [show(end, "s") for end in step.expected_s or (step.time_s,)]
    units = {end.partition(" ")[2] for end in ends}
    return "–".join([*(end.partition(" ")[0] for end in ends[:-1]), ends[-1]] if len(units) == 1 else ends)


def _where(line: Line) -> str:
    return "" if line.scope.rank <= Scope.DEVICE.rank else f" on {line.systems[0]}"


def _alone(line: Line) -> str:
    return "" if line.expected or line.grade is Grade.MEASURED else f" ({_said_by(line)} alone, no band)"


def _most(line: Line) -> str:
    """`waiting for operands takes most of the rest`; "" where nothing is known."""
    if line.of is None:
        return ""
    if line.beyond:
        return line.beyond
    if at_clock(line):
        return "its clock allows no more"
    if line.rest:
        return f"{line.rest[0].name} takes most of the rest"
    return f"bound by {line.bound}" if line.bound else ""


def cards(run: Run, lines: Sequence[Line]) -> tuple[Card, ...]:
    """In the order in which the run's systems are shown; a generation without a line has no card.

    Rows come in the order of `ORDER`. Compute, memory or links that the run did not ask says so, unless the
    run asked none of them.
    """
    devices = {record.generation: record.device for record in run.systems.values()}
    place = place_of(run)
    generations = sorted(dict.fromkeys(line.generation for line in lines), key=order_of(run))
    asked = any(line.question in ROWS for line in lines)
    drawn = []
    for generation in generations:
        mine = sorted(
            (line for line in lines if line.generation == generation),
            key=lambda each: min(map(place, each.systems)),
        )
        rows: list[Row] = []
        for question in ORDER if asked else ():
            answered = [line for line in mine if line.question == question]
            rows += map(_row, answered)
            if not answered and question in ROWS:
                rows.append(Row(name=ROWS[question], line=None, clause="not in this run"))
        rows += [_row(line) for line in mine if line.question not in ORDER]
        drawn.append(Card(generation=generation, device=devices.get(generation, ""), rows=tuple(rows)))
    return tuple(drawn)


def _row(line: Line) -> Row:
    """Ranks of one device need no links: their row is called by the collective."""
    called = line.kernel if line.question == OTHER else line.question
    needs_none = line.question == "all-reduce" and line.of is None
    name = called if needs_none else ROWS.get(line.question, called)
    return Row(name=name, line=line, clause=clause(line), own=own_products(line))


def clause(line: Line) -> str:
    """The largest loss and what it costs; why there is no evidence where there is none.

    Shares are of the time of the best case; at its clock a model has no loss to show, only what the clock
    leaves of the promise.
    """
    if at_clock(line) and line.of is not None and line.clock:
        allowed = line.of.fraction / line.clock
        return f"at its clock, which allows {percent(allowed)} of the promise"
    if line.rest:
        return f"time lost: {', '.join(_causes(line)[:LARGEST])}"
    short = f"{percent(1 - line.of.fraction)} below the promise" if line.of and line.of.fraction < 1 else ""
    return ", ".join(filter(None, (short, f"bound by {line.bound}" if line.bound else "")))
