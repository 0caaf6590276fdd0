"""The options that say how a model lies on ranks and what is done with it."""

from __future__ import annotations

from typing import Any

from trnbench.bounded import kinds
from trnbench_steps.commands.vocabulary import LAYOUT, SOFTWARE, TYPES
from trnbench_steps.job import Job, Recompute, Task
from trnbench_steps.layout import Layout


def layout_from(options: dict[str, Any]) -> Layout:
    """The layout that the options mean. Raises `UsageError`."""
    degrees = {each.name: options[each.name] for each in LAYOUT if each.takes not in (bool, None)}
    return Layout(
        **{name: degree for name, degree in degrees.items() if degree is not None},
        sequence_parallel=options["sequence_parallel"],
        placement=_placement(options["placement"]),
    )


def _placement(text: str) -> tuple[int, ...]:
    return tuple(kinds.RANK.counted(part, "--placement") for part in text.split(",")) if text else ()


def job_from(options: dict[str, Any]) -> Job:
    """The job that the options mean."""
    return Job(
        task=Task(options["task"]),
        batch=options["batch"],
        micro_batch=options["micro_batch"],
        sequence=options["sequence"] or 0,
        kv=options["kv"] or 0,
        recompute=Recompute(options["recompute"]),
        **{each.name: options[each.name] for each in TYPES if each.name != "master"},
        **{each.name: options[each.name] or "" for each in SOFTWARE},
        master="" if options["master"] == "none" else options["master"],
    )
