"""What a rank does at the end of a training step: gradients of all replicas added up, weights changed."""

from __future__ import annotations

from trnbench.kernels.dtype import item_bytes
from trnbench_steps.division import Division
from trnbench_steps.layout import Axis
from trnbench_steps.memory import rank_parameters
from trnbench_steps.operators import Elementwise, Exchange, Operator


def update_operators(division: Division, stage: int) -> list[Operator]:
    """Of one rank of `stage`, in order, once a step.

    Gradients are all-reduced over the ranks that hold the same parameters; with ZeRO stage 1 they are
    scattered, each of these ranks changes its part of the weights, and the parts are gathered (Rajbhandari et
    al. 2020, section 7.1). Experts have replicas of their own. Adam reads weights, gradient and two moments,
    and a copy of the weights where there is one.
    """
    held, layout = rank_parameters(division, stage), division.layout
    made: list[Operator] = []
    for name, parameters, axis, replicas in (
        ("weights", held.others, Axis.REPLICA, layout.replicas),
        ("experts", held.experts, Axis.EXPERT_DATA, layout.expert_data),
    ):
        if parameters:
            made += _updated(division, name, parameters, axis, replicas)
    return made


def _updated(division: Division, name: str, parameters: int, axis: Axis, replicas: int) -> list[Operator]:
    job, cut = division.job, division.layout.zero == 1
    own = parameters / (replicas if cut else 1)
    operands = 5 if job.master and job.master != job.weights else 4
    adam = Elementwise(name=f"adam of {name}", rows=own, width=1, operands=operands)
    if replicas == 1:
        return [adam]
    gradients = Exchange(
        name=f"gradients of {name}",
        collective="reduce_scatter" if cut else "all_reduce",
        axis=axis,
        size=parameters * item_bytes(job.gradients),
    )
    if not cut:
        return [gradients, adam]
    size = parameters * item_bytes(job.weights)
    return [gradients, adam, Exchange(name=name, collective="all_gather", axis=axis, size=size)]
