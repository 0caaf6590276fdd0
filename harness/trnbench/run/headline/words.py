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
    """`subject: result, share. trust`: the share alone, for those who link it; "" where there is none."""

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
    where = line.generation
    if line.scope.rank > Scope.DEVICE.rank or len(line.systems) == 1:
        where = ", ".join(line.systems)
    reach = f", one {str(line.scope).replace('-', ' ')}" if line.scope.rank <= Scope.DEVICE.rank else ""
    what = " ".join(filter(None, (line.dtype, _CALLED.get(line.kernel, line.kernel))))
    ranks = f" ({line.ranks})" if line.ranks else ""
    grade = str(line.grade)
    return f"{grade[:1].upper()}{grade[1:]}, {where}{reach}, {what}{ranks}"


def _result(line: Line) -> str:
    sweep = line.sweep
    if sweep.points == 1:
        return (
            f"{show(sweep.best, sweep.unit)} at {sweep.over}" if sweep.over else show(sweep.best, sweep.unit)
        )
    at = f", best at {sweep.at}" if sweep.at else ""
    over = f" over {sweep.over}" if sweep.over else f" over {sweep.points} cases"
    return f"{between(sweep.worst, sweep.best, sweep.unit)}{over}{at}"


def between(low: float, high: float, unit: str) -> str:
    """`70 to 78 TFLOPS`: the unit once where both have the same."""
    first, last = show(low, unit), show(high, unit)
    if first == last:
        return last
    bare, _, name = first.partition(" ")
    return f"{bare} to {last}" if name and last.endswith(f" {name}") else f"{first} to {last}"


def _promise(line: Line) -> str:
    if line.of is None:
        return ""
    of, unit = line.of, line.sweep.unit
    says = "prints" if of.printed else "implies"
    words = f" of the {show(of.value, unit)} that {_document(of)} {says}"
    if line.since is not None:
        since = "printed" if line.since.printed else "implied"
        words += (
            f", {percent(line.since.fraction)} of the {show(line.since.value, unit)} "
            f"{since} since by {_document(line.since)}"
        )
    return words + (f"; {of.note}" if of.note else "")


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
    counted = f"{line.votes:,} kernel{'' if line.votes == 1 else 's'} voted"
    behind = "; ".join(filter(None, (_STANDS.get(line.nearness, line.nearness), counted, line.band_note)))
    return f"Expect {between(*line.expected, line.sweep.unit)} at best ({behind})."


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
        ends, middle = (
            f"{signed_text(spread[0])} to {signed_text(spread[-1])}",
            signed_text(spread[len(spread) // 2]),
        )
        told = f"{ends} over {len(spread)} shapes, median {middle}"
    return f"The model's time of our product against the best published one of the same shape: {told}."


def _shape(of: OwnProduct) -> str:
    cube = of.m == of.n == of.k
    return f"{f'{of.m}³' if cube else f'{of.m}×{of.n}×{of.k}'} {of.dtype}"
