"""The words of a line: the same on a terminal, in a report and in a pull request."""

from __future__ import annotations

from typing import NamedTuple

from trnbench.facts.format import percent, show
from trnbench.facts.scope import Scope
from trnbench.results.error_text import signed_text
from trnbench.results.own_product import OwnProduct
from trnbench.run.headline.line import Line, Promised

AT_CLOCK = 0.98
"""From this share of the clock bound on, a model says what the clock is, and nothing of a kernel."""
LISTED = 4
"""Published shapes of our own product that are named one by one."""

_STANDS = {
    "same": "this kernel near this size is published",
    "kernel": "this kernel is published at other sizes",
    "operation": "other kernels of this operation are published",
    "family": "other kernels of this family are published",
}
_CALLED = {"gemm": "product", "hbm_copy": "copy within device memory", "all_reduce": "all-reduce"}


class Said(NamedTuple):
    """`subject: result, share promise. trust`; the share stands apart for those who link it."""

    subject: str
    result: str
    share: str
    promise: str
    trust: str

    @property
    def text(self) -> str:
        """The whole line."""
        claim = f"{self.subject}: {self.result}"
        if self.share:
            claim += f", {self.share}{self.promise}"
        return f"{claim}. {self.trust}".rstrip()


def said(line: Line) -> Said:
    """The words of `line`; every number in them is a field of it."""
    parts = (_expect(line), _published(line), _clock(line), _rest(line), _own(line))
    return Said(
        subject=_subject(line),
        result=_result(line),
        share=percent(line.of.fraction) if line.of else "",
        promise=_promise(line),
        trust=" ".join(filter(None, parts)),
    )


def _subject(line: Line) -> str:
    """`Emulated, trn2, one core, bf16 product`; systems are named where they answer for themselves."""
    part = line.scope.rank <= Scope.DEVICE.rank
    where = line.generation if part and len(line.systems) > 1 else ", ".join(line.systems)
    reach = f", one {str(line.scope).replace('-', ' ')}" if part else ""
    what = " ".join(filter(None, (line.dtype, _CALLED.get(line.kernel, line.kernel))))
    ranks = f" ({line.ranks})" if line.ranks else ""
    grade = str(line.grade)
    return f"{grade[:1].upper()}{grade[1:]}, {where}{reach}, {what}{ranks}"


def _result(line: Line) -> str:
    sweep = line.sweep
    if sweep.points == 1:
        return show(sweep.best, sweep.unit) + (f" at {sweep.over}" if sweep.over else "")
    over = sweep.over or f"{sweep.points} cases"
    at = f", best at {sweep.at}" if sweep.at else ""
    return f"{between(sweep.worst, sweep.best, sweep.unit)} over {over}{at}"


def between(first: float, last: float, unit: str) -> str:
    """`70 to 78 TFLOPS`: the unit once where both have the same."""
    start, end = show(first, unit), show(last, unit)
    if start == end:
        return end
    bare, _, name = start.partition(" ")
    return f"{bare} to {end}" if name and end.endswith(f" {name}") else f"{start} to {end}"


def _promise(line: Line) -> str:
    if line.of is None:
        return ""
    of, unit = line.of, line.sweep.unit
    words = f" of the {show(of.value, unit)} that {_document(of)} {'prints' if of.printed else 'implies'}"
    if of.note:
        words += f" ({of.note})"
    if of.fraction > 1 and not _at_clock(line):
        allowed = "no clock bounds it" if line.clock is None else "less than the clocks allow"
        words += f" ({allowed}: the figure is low)"
    if line.since is not None:
        since = "printed" if line.since.printed else "implied"
        words += f", {percent(line.since.fraction)} of the {show(line.since.value, unit)} {since} since by"
        words += f" {_document(line.since)}"
    return words


def _document(promised: Promised) -> str:
    named = promised.document or promised.source or "the clocks"
    return f"{named} ({promised.date})" if promised.date else named


def _at_clock(line: Line) -> bool:
    return line.clock is not None and line.clock >= AT_CLOCK and str(line.grade) != "measured"


def _clock(line: Line) -> str:
    if line.clock is None or not _at_clock(line):
        return ""
    return (
        f"The model is at its clock ({percent(line.clock)} of what it allows): "
        "this holds a clock against a document and says nothing of a kernel."
    )


def _expect(line: Line) -> str:
    if line.muted:
        return f"No interval: {line.reason}."
    if line.expected is None:
        return ""
    stands = _STANDS.get(line.nearness, line.nearness)
    behind = "; ".join(filter(None, (stands, _band(line), line.band_note)))
    return f"Expect {between(*line.expected, line.sweep.unit)} at best ({behind})."


def _band(line: Line) -> str:
    if not line.votes:
        return f"none of them votes, the band is that of {line.widened or 'all points'}"
    counted = f"{line.votes:,} vote{'' if line.votes == 1 else 's'}"
    return f"{counted}, widened towards {line.widened}" if line.widened else counted


def _published(line: Line) -> str:
    best = line.published
    if best is None or best.metric != line.sweep.metric:
        return ""
    above = f"; the model is {line.above}" if line.above else ""
    return f"Best published: {show(best.value, best.unit)} ({best.kind}: {best.id}){above}."


def _rest(line: Line) -> str:
    if line.rest:
        causes = ", ".join(f"{each.name} {percent(each.share)}" for each in line.rest)
        return f"The rest: {causes} of the time."
    return f"Bound by {line.bound}." if line.bound and not _at_clock(line) else ""


def _own(line: Line) -> str:
    """Each shape where they are few, else how far they spread; of the time, so that − is too fast."""
    if not line.own:
        return ""
    spread = sorted(each.e for each in line.own)
    if len(spread) <= LISTED:
        told = ", ".join(f"{_shape(each)} {signed_text(each.e)}" for each in line.own)
    else:
        least, middle, most = (signed_text(spread[at]) for at in (0, len(spread) // 2, -1))
        told = f"{least} to {most} over {len(spread)} shapes, median {middle}"
    return f"The model's time of our product against the best published one of the same shape: {told}."


def _shape(of: OwnProduct) -> str:
    cube = of.m == of.n == of.k
    return f"{f'{of.m}³' if cube else f'{of.m}×{of.n}×{of.k}'} {of.dtype}"
