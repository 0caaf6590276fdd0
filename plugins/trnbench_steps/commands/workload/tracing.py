"""The timeline of a step, written for trace viewers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trnbench.cli.output import say

if TYPE_CHECKING:
    from trnbench.results.run import Run
    from trnbench.run.plan import Plan

LIMIT = 64 << 20
"""Bytes of the file, at most."""


def write_step_trace(planned: Plan, done: Run, target: Path) -> None:
    """Of the first case that has a time; nothing where none has."""
    from trnbench.run.writing import write_whole
    from trnbench_emulator.trace import write_trace
    from trnbench_steps.asked import Asked
    from trnbench_steps.step import StepModel
    from trnbench_steps.step_constants import constants_of
    from trnbench_steps.timeline import step_timeline

    times = {each.id: each.time_s for each in done.measurements if each.time_s is not None}
    case = next((each for each in planned.cases if each.id in times), None)
    if case is None or not isinstance(case.kernel.subject, Asked):
        return
    system = planned.systems[case.key.instance]
    asked, point = case.kernel.subject, case.key.point
    timeline = step_timeline(StepModel(), asked.at(point), system, constants_of(system), asked.own(point))
    about = {"tool": f"trnbench {done.tool_version}", "run": done.id, "case": case.id}
    file = write_trace(
        timeline, evidence="emulated", about={**about, "latency_s": times[case.id] or 0.0}, cap=LIMIT
    )
    write_whole(target, file.data)
    say(f"{target}: {file.kept:,} slices of {case.id}; open it at ui.perfetto.dev", level=0)
    if file.said:
        say(f"note: {file.said}")
