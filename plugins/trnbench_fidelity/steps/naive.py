"""The mark to beat: a step as people work it out on paper, from documents and collectives measured alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench.kernels.dtype import item_bytes
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.published import published_question
from trnbench_steps.division import Division
from trnbench_steps.floor import floor
from trnbench_steps.job import Task

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.registry import Registry

A_LAYER = 2
"""All-reduces of a layer over the tensor ranks: after attention and after the network."""


def naive_s(division: Division, system: System, registry: Registry) -> float:
    """Seconds: the larger of what is read over the documented HBM and multiplied over the clocks, and two
    all-reduces a layer as alone, of each micro-batch and forwards and backwards in training.

    Raises `UsageError` where the tensor ranks do not lie in an instance.
    """
    job, layout, model = division.job, division.layout, division.model
    seconds = floor(division, system).time_s
    if layout.tp == 1:
        return seconds
    inside = system.instance.parent if system.instance.sizable else system.name
    size = float(division.tokens * model.hidden * item_bytes(job.activations))
    question = published_question(
        registry.system(inside), "all_reduce", size, layout.tp, nodes=1, lnc=layout.lnc
    )
    passes = division.micro_batches * (2 if job.task is Task.TRAIN else 1)
    return seconds + A_LAYER * model.layers // layout.pp * passes * ask(question).time_s
