"""What there is to say of a kernel's emulation: its headline, and a table of each kind of number."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trnbench.facts.units import percent, show
from trnbench.peaks.shares import best_of
from trnbench.terminal.cell import Column
from trnbench_emulator.kernel_run.result import Alternative

if TYPE_CHECKING:
    from trnbench_emulator.kernel_run.result import KernelRun


def told(run: KernelRun) -> list[str]:
    """What was assumed, and what that is worth: a line for each that matters, one for the rest."""
    lines = []
    on = [f"{each.name} ({_times(each.times)})" for each in run.assumed if each.on]
    off = [each.name for each in run.assumed if not each.on]
    if on:
        lines.append(f"the compiler is taken to do: {', '.join(on)}")
    if off:
        lines.append(f"the compiler is not taken to do: {', '.join(off)}")
    lines += [worth(each) for each in run.alternatives if each.matters or each.problem]
    rest = [said(each.name) for each in run.alternatives if not each.matters and not each.problem]
    if rest:
        lines.append(f"within 10 % of this: {', '.join(rest)}")
    if run.not_compared:
        lines.append(f"what each is worth was left out: {run.not_compared}; --assume no-NAME tells")
    return lines


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def worth(of: Alternative) -> str:
    """`without hoisting: 4.31 ms (+38 %)`"""
    if of.problem:
        return f"{said(of.name)}: cannot be timed: {of.problem}"
    sign = "−" if of.slower < 0 else "+"
    return f"{said(of.name)}: {show(of.latency_s, 's')} ({sign}{abs(of.slower) * 100:.0f} %)"


def said(name: str) -> str:
    """ "no-hoisting" → "without hoisting", "hoisting" → "with hoisting"."""
    bare = name.removeprefix("no-")
    return f"with {bare}" if bare == name else f"without {bare}"


_EVEN = 1e-4  # programs whose ends are closer than that take the same time


time_text = partial(show, unit="s")

_SHARE = Column("share", "of the time", align="right", show=percent)
_SECONDS = Column("seconds", "time", align="right", show=time_text)


class Block(NamedTuple):
    """One table: `part` is its name in CSV."""

    part: str
    title: str
    rows: Sequence[dict[str, Any]]
    columns: Sequence[Column | str]


def headline(run: KernelRun) -> str:
    """`matmul on trn2-16.48xlarge, 1 core: 142 µs emulated, bound by dma, 51.2 % of the bf16 peak`."""
    many = f"{run.cores:,} cores at once" if run.cores > 1 else "1 core"
    if run.programs:
        launches = run.cores // len(run.programs)
        many = f"{len(run.programs):,} programs, a core each"
        many += f", {launches:,} such launches at once" if launches > 1 else ""
    said = f"{run.kernel} on {run.system}, {many}: {time_text(run.latency_s)} {run.evidence.grade}"
    said += f", bound by {run.bound}"
    best = best_of(run.shares)
    if best is not None:
        said += f", {percent(best.fraction)} of the {best.what} peak"
    return said


def facts(run: KernelRun) -> list[str]:
    """What the headline leaves out, one line each."""
    lines = [f"suspect: {doubt}" for doubt in run.doubts]
    lines += [f"{run.instructions:,} instructions; nki: {run.nki}; model: {run.evidence.by}"]
    if run.intensity is not None:
        lines.append(f"{run.intensity:.3g} FLOP per byte of device memory")
    if run.programs:
        lines.append(
            "all programs end within 0.01 % of each other"
            if run.imbalance < _EVEN
            else f"program {run.last} ends last, {percent(run.imbalance)} later than they do on average"
        )
    return [*lines, *nearness(run), *told(run), *run.notes]


def nearness(run: KernelRun) -> list[str]:
    """What the nearest published evidence is, and what to expect by its band."""
    nearest = run.evidence.nearest
    if nearest is None:
        return []
    points = f" ({', '.join(nearest.points)})" if nearest.points else ""
    said = [f"nearest published evidence: {nearest.kind}{points}"]
    if (interval := run.expected_s) is not None:
        said.append(f"expect {' to '.join(map(time_text, interval))}")
    if nearest.best is not None:
        said.append(f"best published {show(nearest.best.value, nearest.best.unit)} ({nearest.best.id})")
    said += filter(None, (nearest.note, run.evidence.note))
    return ["; ".join(said)]


def expect_text(run: KernelRun) -> str | None:
    """ "171 µs to 304 µs"; None without a band."""
    return None if run.expected_s is None else " to ".join(map(time_text, run.expected_s))


def blocks(run: KernelRun, *, lines: bool) -> list[Block]:
    """Everything but the headline, in reading order. `lines`: with the time by source line."""
    total = run.latency_s
    whose, of_all = (f"program {run.last}", "all programs") if run.programs else ("one core", "one core")
    programs = [
        {
            "name": f"program {each.program}",
            "seconds": each.latency_s,
            "waited": each.waited_s,
            "bound": each.bound,
            "instructions": each.instructions,
        }
        for each in run.programs
    ]
    parts = [
        Block("program", "Each program", programs, _PROGRAMS),
        Block("peak", f"Of each peak, scope {run.scope}", share_rows(run), _SHARES),
        Block(
            "busy",
            f"Busy, {whose}",
            [
                {"name": name, "seconds": seconds, "share": seconds / total}
                for name, seconds in sorted(run.busy_s.items(), key=lambda each: -each[1])
            ],
            ("name", _SECONDS, _SHARE),
        ),
        Block(
            "bytes",
            f"Bytes moved, {of_all}",
            [{"name": name, "bytes": count} for name, count in run.bytes.items()],
            ("name", Column("bytes", "amount", align="right", show=partial(show, unit="B"))),
        ),
        Block("waterfall", "From the peak to the time", _terms(run.waterfall, total), _TERMS),
        Block("path", "Critical path", _terms(run.path, total), _TERMS),
    ]
    if lines:
        parts.append(Block("line", "Time by source line", _lines(run), _LINES))
    return [each for each in parts if each.rows]


_TERMS = ("name", _SECONDS, _SHARE)
_PROGRAMS: tuple[Column | str, ...] = (
    "name",
    _SECONDS,
    Column("waited", "of it waiting for others", align="right", show=time_text),
    "bound",
    "instructions",
)
_SHARES: tuple[Column | str, ...] = (
    "name",
    Column("reached_text", "reached", align="right", keep=2),
    Column("peak_text", "peak", align="right", keep=2),
    Column("fraction", "%", align="right", show=percent, keep=2),
    Column("of_engine_bound", "of the clocks' bound", align="right", show=percent),
    Column("evidence", keep=2),
    Column("source", keep=1),
    Column("formula", "how", keep=-1),
)
_LINES: tuple[Column | str, ...] = (
    "place",
    Column("source", "source", show=lambda text: text if len(text) <= 60 else f"{text[:59]}…"),
    "engine",
    "instructions",
    _SECONDS,
    _SHARE,
)


def share_rows(run: KernelRun) -> list[dict[str, Any]]:
    """Numbers as they are, and `…_text` for people."""
    rows = []
    for share in run.shares:
        peak = share.choice.chosen
        rows.append(
            {
                "name": share.what,
                "reached": share.value,
                "reached_text": show(share.value, share.unit),
                "peak": peak.value,
                "peak_text": show(peak.value, share.unit),
                "unit": share.unit,
                "scope": run.scope,
                "fraction": share.fraction,
                "of_engine_bound": share.of_engine_bound,
                "evidence": peak.evidence,
                "source": peak.source,
                "formula": peak.formula,
                "note": share.choice.note,
            }
        )
    return rows


def _terms(terms: Sequence[Any], total: float) -> list[dict[str, Any]]:
    return [
        {"name": each.name, "seconds": each.seconds, "share": each.seconds / total}
        for each in terms
        if each.seconds
    ]


def _lines(run: KernelRun) -> list[dict[str, Any]]:
    return [
        {
            "place": f"{Path(each.file).name}:{each.line}",
            "source": linecache.getline(each.file, each.line).strip(),
            "engine": each.engine,
            "instructions": each.instructions,
            "seconds": each.seconds,
            "share": each.seconds / run.latency_s,
        }
        for each in run.lines
    ]
