"""The options that say how a model lies on ranks and what is done with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from trnbench.bounded import kinds
from trnbench.errors import UsageError, cut
from trnbench_steps.commands.vocabulary import JOB, LAYOUT, SOFTWARE
from trnbench_steps.job import Job, Recompute, Task
from trnbench_steps.layout import Layout
from trnbench_steps.paths import TYPES

if TYPE_CHECKING:
    from trnbench_steps.division import Division
    from trnbench_steps.model import Model


def layout_from(options: dict[str, Any]) -> Layout:
    """The layout that the options mean. Raises `UsageError`."""
    degrees = {each.name: options[each.name] for each in LAYOUT if each.takes not in (bool, None)}
    return Layout(
        **{name: degree for name, degree in degrees.items() if degree is not None},
        sequence_parallel=options["sequence_parallel"],
        placement=_placement(options["placement"]),
    )


IDLE = {
    Task.TRAIN: ("kv", "cache"),
    Task.PREFILL: ("micro_batch", "gradients", "moments", "master"),
    Task.DECODE: ("sequence", "micro_batch", "gradients", "moments", "master", "attention_path"),
}
"""Fields of a job that change nothing of a task."""


def refuse_idle(task: Task, typed: Mapping[str, str]) -> None:
    """Raises `UsageError` for a field that changes nothing of `task`; `typed`: how each was typed."""
    for name in IDLE[task]:
        if name in typed:
            raise UsageError(
                f"{typed[name]} says nothing of --task {task}",
                cause=f"nothing of {task} depends on it",
                try_="leave it out, or another --task",
            )


_HAS_PATH = {
    "attention_path": "only layers that attend to tokens have it",
    "widening": "only weights of 8 bits are widened or not",
    "experts": "only experts on ranks with their tokens have it, and none in training",
}
"""Why a step has no such path; each has one of products."""


def refuse_idle_paths(division: Division, texts: Iterable[str]) -> None:
    """Raises `UsageError` for a --path that the step of `division` does not take."""
    from trnbench_steps.step_cases import paths_of

    taken = {path.name: path.path for path in paths_of(division)}
    for part, word in _parts(texts, "--path", SOFTWARE).items():
        name = SOFTWARE[part]
        if taken.get(name) != word:
            other = f"the step takes {part}={taken[name]}" if name in taken else _HAS_PATH[name]
            raise UsageError(
                f"--path {part}={word} says nothing of this step of {division.model.name}",
                cause=other,
                try_="leave it out",
            )


def typed_of(options: Mapping[str, Any]) -> dict[str, str]:
    """How each field was typed that is not as usual; of types and paths the part."""
    usual = {"batch": 1, "micro_batch": 1, "recompute": "none"}
    typed = {
        each.name: f"--{each.key}"
        for each in (*JOB, *LAYOUT)
        if options[each.name] and options[each.name] != usual.get(each.name)
    }
    parts = _parts(options["types"], "--type", TYPES)
    others = {part: f"--type {part}" for part, dtype in parts.items() if dtype != TYPES[part]}
    others |= {SOFTWARE[part]: f"--path {part}" for part in _parts(options["paths"], "--path", SOFTWARE)}
    return {
        **{name: flag for name, flag in typed.items() if name not in ("task", "types", "paths")},
        **others,
    }


def _placement(text: str) -> tuple[int, ...]:
    return tuple(kinds.RANK.counted(part, "--placement") for part in text.split(",")) if text else ()


def job_from(options: dict[str, Any], model: Model) -> Job:
    """The job that the options mean for `model`. Raises `UsageError`."""
    task = Task(options["task"])
    refuse_idle(task, typed_of(options))
    decodes = task is Task.DECODE
    types = types_from(options["types"])
    paths = _parts(options["paths"], "--path", SOFTWARE)
    length = model.usual_length
    return Job(
        task=task,
        batch=options["batch"],
        micro_batch=options["micro_batch"],
        sequence=options["sequence"] or (0 if decodes else length),
        kv=options["kv"] or (length if decodes else 0),
        recompute=Recompute(options["recompute"]),
        **types,
        **{SOFTWARE[part]: path for part, path in paths.items()},
    )


def types_from(texts: Iterable[str]) -> dict[str, str]:
    """The type of every part, those of --type over what is usual. Raises `UsageError`."""
    types = {**TYPES, **_parts(texts, "--type", TYPES)}
    return {**types, "master": "" if types["master"] == "none" else types["master"]}


def _parts(texts: Iterable[str], option: str, known: Iterable[str]) -> dict[str, str]:
    """`weights=fp8` as a part and its value; the last of several for one holds."""
    parts = {}
    for text in texts:
        part, equals, value = text.partition("=")
        if part not in known or not equals or not value:
            raise UsageError(
                f"{option} {cut(text)} is of no part",
                cause=f"parts: {', '.join(known)}",
                try_=f"{option} {next(iter(known))}=…",
            )
        parts[part] = value
    return parts
