"""Which layouts of a model on a system are worth a look."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench.errors import UsageError
from trnbench.generation import System
from trnbench_steps.hbm import logical_cores
from trnbench_steps.job import Task
from trnbench_steps.layout import Layout
from trnbench_steps.model import Model

STAGES = (1, 2, 4, 8, 16)


def layouts(model: Model, task: Task, system: System) -> Iterator[Layout]:
    """Tensor degrees that are powers of two and divide the cores; the rest are replicas of the model.

    Of experts also those that lie whole on the tensor ranks. Training: sequence parallel, ZeRO-1, and stages
    of a pipeline, the fewest first. A system without logical cores has none.
    """
    try:
        cores, _ = logical_cores(system, 0)
    except UsageError:
        return
    experts = max((each.feed_forward.experts for each in model.kinds), default=0)
    instance = cores // system.size if system.instance.sizable else cores
    tp = 1
    while tp <= instance and instance % tp == 0:
        if task is Task.TRAIN:
            for pp in STAGES:
                if cores % (tp * pp) == 0:
                    yield Layout(tp=tp, pp=pp, dp=cores // (tp * pp), zero=1, sequence_parallel=tp > 1)
        else:
            yield Layout(tp=tp, dp=cores // tp)
            if experts and tp > 1 and experts % tp == 0:
                yield Layout(tp=tp, dp=cores // tp, ep=tp, expert_tp=1)
        tp *= 2


def words(layout: Layout) -> str:
    """`tp 32, pp 4, dp 8`: degrees above 1."""
    degrees = [
        f"{name} {getattr(layout, name)}" for name in ("tp", "pp", "dp", "ep") if getattr(layout, name) > 1
    ]
    return ", ".join(degrees) or "1 rank"
