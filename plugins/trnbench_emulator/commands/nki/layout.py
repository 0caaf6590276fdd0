"""A kernel's emulation as people and machines read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trnbench.facts.units import percent
from trnbench.terminal.cell import Column, plain
from trnbench.terminal.output import emit, emit_json, paragraph, write
from trnbench_emulator.commands.nki.blocks import (
    Block,
    blocks,
    expect_text,
    facts,
    headline,
    share_rows,
    time_text,
    told,
)
from trnbench_emulator.commands.nki.check import VALUES

if TYPE_CHECKING:
    from trnbench_emulator.kernel_run.result import KernelRun
    from trnbench_emulator.nki.shadow import Finding

LINES = 20
"""Source lines shown to people, the slowest first; JSON and CSV have all of them."""


def as_json(run: KernelRun, *, values: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """The whole run, with what is derived from it."""
    document = plain(run)
    assert isinstance(document, dict)
    document["intensity_flops_per_byte"] = run.intensity
    document["expected_s"] = run.expected_s
    document["status"], document["reason"] = str(run.status), "; ".join(run.doubts)
    document["shares"] = [
        {name: plain(value) for name, value in row.items() if not name.endswith("_text")}
        for row in share_rows(run)
    ]
    if values:
        document["outputs"] = plain(values)
    return document


def show_run(
    run: KernelRun,
    format: str,
    *,
    lines: bool,
    values: Sequence[dict[str, Any]],
    findings: Sequence[Finding],
) -> None:
    """To stdout, in the format asked for."""
    if format == "json":
        noted = {"findings": [finding.row() for finding in findings]} if findings else {}
        emit_json(as_json(run, values=values) | noted)
        return
    if format == "csv":
        _csv([run])
        return
    if format == "md":
        write(f"**{headline(run)}**\n")
    else:
        paragraph(headline(run))
    for fact in facts(run):
        _told(fact, format)
    parts = blocks(run, lines=lines)
    if values:
        parts.insert(0, Block("output", "Values", values, VALUES))
    for each in parts:
        write("\n")
        left = len(each.rows) - LINES if each.part == "line" else 0
        emit(each.rows[:LINES] if left > 0 else each.rows, each.columns, format, title=each.title)
        if left > 0:
            write(f"… and {left} more lines: --format json\n")


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
            "status": str(run.status),
            "evidence": run.evidence.grade,
            "near": run.evidence.nearest.kind if run.evidence.nearest else None,
            "expect": expect_text(run),
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
            Column("latency", align="right", show=time_text, keep=2),
            "bound",
            *(Column(each, f"% of {each}", align="right", show=percent) for each in what),
            *((Column("status", keep=2),) if any(run.doubts for run in runs) else ()),
            Column("evidence", keep=2),
            "near",
            Column("expect", align="right"),
            Column("why", "cannot, because", keep=1),
        ],
        format,
    )
    for run in runs:
        for each in told(run):
            _told(f"{run.system}: {each}", format)


def _told(text: str, format: str) -> None:
    if format == "md":
        write(f"\n{text}\n")
    else:
        paragraph(text)


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
        if run.evidence.nearest is not None:
            nearest = run.evidence.nearest
            row(run, "nearest", str(nearest.kind), None, "", "; ".join(filter(None, nearest.points)))
            for name, seconds in zip(("least expected", "most expected"), run.expected_s or (), strict=False):
                row(run, "nearest", name, seconds, "s", nearest.note)
            if nearest.best is not None:
                best = nearest.best
                row(run, "nearest", "best published", best.value, best.unit, best.id)
        row(run, "run", "instructions", run.instructions, "1", f"nki: {run.nki}")
        if run.intensity is not None:
            row(run, "run", "intensity", run.intensity, "FLOP/B")
        for switch in run.assumed:
            how = "assumed" if switch.on else "not assumed"
            row(run, "assumption", switch.name, switch.times, "1", f"{how}: {switch.about}")
        for other in run.alternatives:
            if not other.problem:
                row(run, "alternative", other.name, other.latency_s, "s", f"slower by {other.slower:.4f}")
        for block in blocks(run, lines=True):
            for line in block.rows:
                name = str(line.get("name") or line.get("place"))
                if block.part == "peak":
                    row(run, "rate", name, line["reached"], line["unit"])
                    row(
                        run, "peak", name, line["peak"], line["unit"], f"{line['evidence']}: {line['source']}"
                    )
                elif block.part == "bytes":
                    row(run, "bytes", name, line["bytes"], "B")
                else:
                    row(run, block.part, name, line["seconds"], "s", str(line.get("engine", "")))
    emit(rows, ("system", "scope", "part", "name", "value", "unit", "note", "evidence"), "csv")
