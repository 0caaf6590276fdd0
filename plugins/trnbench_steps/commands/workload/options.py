"""The options that say how a model lies on ranks and what is done with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from trnbench.bounded import kinds
from trnbench.cli.bundle import F, bundle
from trnbench.cli.names import complete_instances
from trnbench.cli.number import NumberType

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from trnbench_steps.job import Job
    from trnbench_steps.layout import Layout


def complete_models(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Models that are shipped, and files; no plugin is asked."""
    from click.shell_completion import CompletionItem

    from trnbench_steps.shipped import shipped_names

    found = [CompletionItem(name) for name in shipped_names() if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


TASKS = ("train", "prefill", "decode")
RECOMPUTE = ("none", "selective", "full")

_DEGREE, _TOKENS = NumberType(kinds.DEGREE), NumberType(kinds.TOKENS)
_SEQUENCES = NumberType(kinds.SEQUENCES)


def model_options(named: str = "Name, alias or NAME:SIZE") -> Callable[[F], F]:
    """MODEL, and the systems that it is held against; `named` says how they may be given."""
    return bundle(
        click.argument("model", shell_complete=complete_models),
        click.option(
            "-i",
            "--instance",
            "instances",
            multiple=True,
            metavar="NAME",
            help=f"{named}. Repeatable.  [default: every system of a run]",
            shell_complete=complete_instances,
        ),
    )


_LAYOUT: tuple[tuple[str, Any, str], ...] = (
    ("tp", _DEGREE, "Tensor parallelism: ranks that share each matrix."),
    ("pp", _DEGREE, "Pipeline stages."),
    ("dp", _DEGREE, "Data parallelism."),
    ("cp", _DEGREE, "Context parallelism: ranks that share each sequence."),
    ("ep", _DEGREE, "Expert parallelism: groups that experts lie over."),
    ("expert-tp", _DEGREE, "Ranks that share each expert.  [default: as --tp]"),
    ("chunks", _DEGREE, "Runs of layers of a stage; more than one interleaves the pipeline."),
    ("zero", NumberType(kinds.OPTIONAL), "1 cuts the optimiser's state over the data-parallel ranks."),
    ("lnc", _DEGREE, "Physical cores of a rank.  [default: the system's]"),
)
_TYPES = (
    ("weights", "bf16", "Type of the weights."),
    ("activations", "bf16", "Type of what is between layers."),
    ("cache", "bf16", "Type of the KV cache."),
    ("gradients", "bf16", "Type of the gradients."),
    ("moments", "fp32", "Type of the optimiser's two moments."),
    ("master", "fp32", "Type of the optimiser's copy of the weights; none for none."),
)

layout_options = bundle(
    *(click.option(f"--{name}", type=kind, metavar="N", help=text) for name, kind, text in _LAYOUT),
    click.option(
        "--sequence-parallel", is_flag=True, help="Cut what lies between the cut parts along the sequence."
    ),
    click.option(
        "--placement",
        default="",
        metavar="CORES",
        help="Which core each rank is: 0,2,1,3.  [default: its number]",
    ),
)
"""Of a layout, for `layout_from`."""

job_options = bundle(
    click.option("--task", type=click.Choice(TASKS), help="What is done with the model."),
    click.option(
        "--batch",
        type=_SEQUENCES,
        default="1",
        show_default=True,
        metavar="N",
        help="Sequences of a step, on all ranks together.",
    ),
    click.option(
        "--micro-batch",
        type=_SEQUENCES,
        default="1",
        show_default=True,
        metavar="N",
        help="Sequences of a rank at once, in training.",
    ),
    click.option(
        "--sequence",
        type=_TOKENS,
        metavar="TOKENS",
        help="Tokens of a sequence that is trained on, or of a prompt.",
    ),
    click.option(
        "--kv",
        type=_TOKENS,
        metavar="TOKENS",
        help="Tokens in the cache of each sequence, the new one among them.",
    ),
    click.option(
        "--recompute",
        type=click.Choice(RECOMPUTE),
        default="none",
        show_default=True,
        help="What the backward pass works out again.",
    ),
    *(
        click.option(f"--{name}", default=default, metavar="TYPE", show_default=True, help=text)
        for name, default, text in _TYPES
    ),
)
"""Of a job, for `job_from`."""


def layout_from(options: dict[str, Any]) -> Layout:
    """The layout that the options mean. Raises `UsageError`."""
    from trnbench_steps.layout import Layout

    given = {
        name: options[name]
        for name in ("tp", "pp", "dp", "cp", "ep", "expert_tp", "chunks", "zero", "lnc")
        if options[name] is not None
    }
    return Layout(
        **given, sequence_parallel=options["sequence_parallel"], placement=_placement(options["placement"])
    )


def _placement(text: str) -> tuple[int, ...]:
    return tuple(kinds.RANK.counted(part, "--placement") for part in text.split(",")) if text else ()


def job_from(options: dict[str, Any]) -> Job:
    """The job that the options mean."""
    from trnbench_steps.job import Job, Recompute, Task

    return Job(
        task=Task(options["task"]),
        batch=options["batch"],
        micro_batch=options["micro_batch"],
        sequence=options["sequence"] or 0,
        kv=options["kv"] or 0,
        recompute=Recompute(options["recompute"]),
        **{name: options[name] for name, _, _ in _TYPES if name != "master"},
        master="" if options["master"] == "none" else options["master"],
    )
