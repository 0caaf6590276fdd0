"""A kernel's emulation as people and machines read it."""

from __future__ import annotations

import linecache
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trnbench.cli.output import Column, emit, emit_json, plain, use_rich, write

if TYPE_CHECKING:
    from trnbench.run.kernel import KernelRun

_EVEN = 1e-4  # programs whose ends are closer than that take the same time

LINES = 20
"""Source lines shown to people, the slowest first; JSON and CSV have all of them."""


def _time(seconds: float) -> str:
    from trnbench.facts.format import show

    return show(seconds, "s")


def _percent(fraction: float) -> str:
    from trnbench.facts.format import percent

    return percent(fraction)


def _bytes(count: float) -> str:
    from trnbench.facts.format import show

    return show(count, "B")


_SHARE = Column("share", "of the time", align="right", show=_percent)
_SECONDS = Column("seconds", "time", align="right", show=_time)


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
    said = f"{run.kernel} on {run.system}, {many}: {_time(run.latency_s)} {run.evidence.grade}"
    said += f", bound by {run.bound}"
    from trnbench.run.kernel import best_of

    best = best_of(run.shares)
    if best is not None:
        said += f", {_percent(best.fraction)} of the {best.what} peak"
    return said


def facts(run: KernelRun) -> list[str]:
    """What the headline leaves out, one line each."""
    made = [f"{run.instructions:,} instructions; nki: {run.nki}; model: {run.evidence.by}"]
    if run.intensity is not None:
        made.append(f"{run.intensity:.3g} FLOP per byte of device memory")
    if run.programs:
        made.append(
            "all programs end within 0.01 % of each other"
            if run.imbalance < _EVEN
            else f"program {run.last} ends last, {_percent(run.imbalance)} later than they do on average"
        )
    return [*made, *run.notes]


def blocks(run: KernelRun, *, lines: bool) -> list[Block]:
    """Everything but the headline, in reading order. `lines`: with the time by source line."""
    total = run.latency_s
    whose, of_all = (f"program {run.last}", "all programs") if run.programs else ("one core", "one core")
    parts = [
        Block("program", "Each program", _programs(run), _PROGRAMS),
        Block("peak", f"Of each peak, scope {run.scope}", _shares(run), _SHARES),
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
            ("name", Column("bytes", "amount", align="right", show=_bytes)),
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
    Column("waited", "of it waiting for others", align="right", show=_time),
    "bound",
    "instructions",
)
_SHARES: tuple[Column | str, ...] = (
    "name",
    Column("reached_text", "reached", align="right"),
    Column("peak_text", "peak", align="right"),
    Column("fraction", "%", align="right", show=_percent),
    Column("of_engine_bound", "of the clocks' bound", align="right", show=_percent),
    "evidence",
    "source",
    Column("formula", "how"),
)
_NEEDS = {"formula": 140, "of_engine_bound": 110, "source": 90}
"""Columns of a terminal below which these of the peaks are left out."""
_LINES: tuple[Column | str, ...] = (
    "place",
    Column("source", "source", show=lambda text: text if len(text) <= 60 else f"{text[:59]}…"),
    "engine",
    "instructions",
    _SECONDS,
    _SHARE,
)


def _shares(run: KernelRun) -> list[dict[str, Any]]:
    from trnbench.facts.format import show

    made = []
    for each in run.shares:
        peak = each.choice.chosen
        made.append(
            {
                "name": each.what,
                "reached": each.value,
                "reached_text": show(each.value, each.unit),
                "peak": peak.value,
                "peak_text": show(peak.value, each.unit),
                "unit": each.unit,
                "scope": run.scope,
                "fraction": each.fraction,
                "of_engine_bound": each.of_engine_bound,
                "evidence": peak.evidence,
                "source": peak.source,
                "formula": peak.formula,
                "note": each.choice.note,
            }
        )
    return made


def _programs(run: KernelRun) -> list[dict[str, Any]]:
    return [
        {
            "name": f"program {each.program}",
            "seconds": each.latency_s,
            "waited": each.waited_s,
            "bound": each.bound,
            "instructions": each.instructions,
        }
        for each in run.programs
    ]


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


def as_json(run: KernelRun, *, values: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """The whole run, with what is derived from it."""
    made = plain(run)
    assert isinstance(made, dict)
    made["intensity_flops_per_byte"] = run.intensity
    made["shares"] = [
        {name: plain(value) for name, value in row.items() if not name.endswith("_text")}
        for row in _shares(run)
    ]
    if values:
        made["outputs"] = plain(values)
    return made


def show_run(
    run: KernelRun,
    format: str,
    *,
    lines: bool,
    values: Sequence[dict[str, Any]] = (),
    value_columns: Sequence[Column | str] = (),
) -> None:
    """To stdout, in the format asked for."""
    if format == "json":
        emit_json(as_json(run, values=values))
        return
    if format == "csv":
        _csv([run])
        return
    strong = "**" if format == "md" else ""
    write(f"{strong}{headline(run)}{strong}\n")
    write("".join(f"\n{each}\n" if format == "md" else f"{each}\n" for each in facts(run)))
    parts = blocks(run, lines=lines)
    if values:
        parts.insert(0, Block("output", "Values", values, value_columns))
    for each in parts:
        write("\n")
        left = len(each.rows) - LINES if each.part == "line" else 0
        columns = _fitting(each.columns) if each.part == "peak" and format == "table" else each.columns
        emit(each.rows[:LINES] if left > 0 else each.rows, columns, format, title=each.title)
        if len(columns) < len(each.columns):
            write("more columns: a wider terminal, or --format json\n")
        if left > 0:
            write(f"… and {left} more lines: --format json\n")


def _fitting(columns: Sequence[Column | str]) -> Sequence[Column | str]:
    """Without those that a narrow terminal would break into syllables, the least needed first."""
    if not use_rich():
        return columns
    width = shutil.get_terminal_size().columns
    gone = {key for key, least in _NEEDS.items() if width < least}
    return [each for each in columns if (each if isinstance(each, str) else each.key) not in gone]


def show_runs(runs: Sequence[KernelRun], refused: Sequence[tuple[str, str, str]], format: str) -> None:
    """The same kernel side by side; `refused` are (generation, system, why)."""
    if format == "json":
        cannot = [
            {"generation": generation, "system": system, "cannot": why} for generation, system, why in refused
        ]
        emit_json([*(as_json(run) for run in runs), *cannot])
        return
    if format == "csv":
        _csv(runs)
        return
    rows: list[dict[str, Any]] = [
        {
            "generation": run.generation,
            "system": run.system,
            "cores": run.cores,
            "programs": len(run.programs) or None,
            "latency": run.latency_s,
            "bound": run.bound,
            **{each.what: each.fraction for each in run.shares},
            "evidence": run.evidence.grade,
            "why": "",
        }
        for run in runs
    ]
    rows += [{"generation": generation, "system": system, "why": why} for generation, system, why in refused]
    what = list(dict.fromkeys(each.what for run in runs for each in run.shares))
    emit(
        rows,
        [
            "generation",
            "system",
            "cores",
            *(("programs",) if any(run.programs for run in runs) else ()),
            Column("latency", align="right", show=_time),
            "bound",
            *(Column(each, f"% of {each}", align="right", show=_percent) for each in what),
            "evidence",
            Column("why", "cannot, because"),
        ],
        format,
    )


def _csv(runs: Sequence[KernelRun]) -> None:
    """Long form: one row per number, whatever table it stands in."""
    rows: list[dict[str, Any]] = []

    def row(run: KernelRun, part: str, name: str, value: object, unit: str, note: str = "") -> None:
        rows.append(
            {
                "system": run.system,
                "scope": run.scope,
                "part": part,
                "name": name,
                "value": value,
                "unit": unit,
                "note": note,
                "evidence": run.evidence.grade,
            }
        )

    for run in runs:
        row(run, "run", "latency", run.latency_s, "s", f"bound by {run.bound}")
        row(run, "run", "instructions", run.instructions, "1", f"nki: {run.nki}")
        if run.intensity is not None:
            row(run, "run", "intensity", run.intensity, "FLOP/B")
        for block in blocks(run, lines=True):
            for each in block.rows:
                name = str(each.get("name") or each.get("place"))
                if block.part == "peak":
                    row(run, "rate", name, each["reached"], each["unit"])
                    row(
                        run, "peak", name, each["peak"], each["unit"], f"{each['evidence']}: {each['source']}"
                    )
                elif block.part == "bytes":
                    row(run, "bytes", name, each["bytes"], "B")
                else:
                    row(run, block.part, name, each["seconds"], "s", str(each.get("engine", "")))
    emit(rows, ("system", "scope", "part", "name", "value", "unit", "note", "evidence"), "csv")
