"""A collective in a graph costs the same, whoever asks: the fabric by itself, and a step in its parts."""

from __future__ import annotations

import random

import pytest
from fabric_command import rows

from trnbench.registry import load_registry
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.question import Options
from trnbench_emulator.fabric.systems import fabric_of
from trnbench_steps.division import divide
from trnbench_steps.job import Job, Task
from trnbench_steps.layout import Layout
from trnbench_steps.operators import Exchange
from trnbench_steps.shipped_models import load_model
from trnbench_steps.step import Composition, StepModel
from trnbench_steps.step_constants import constants_of
from trnbench_steps.step_parts import COLLECTIVES, RESIDUE, STARTS

MODEL = StepModel()
"""Of one collective asked twice, the second answer is the first."""

SYSTEMS = ("trn1.32xlarge", "trn2-16.48xlarge", "trn3-gen2-ultraserver")
MODELS = ("llama-3.2-1b", "llama-3-8b", "llama-3-70b")


@pytest.mark.parametrize("seed", range(50))
def test_the_fabric_and_the_parts_of_a_step_agree(seed: int) -> None:
    draw = random.Random(seed)
    system = load_registry().system(draw.choice(SYSTEMS))
    layout = Layout(tp=draw.choice((2, 4, 8, 16)), dp=draw.choice((1, 2)))
    task, batch = draw.choice((Task.DECODE, Task.PREFILL)), 2 * draw.randint(1, 16)
    length = draw.choice((128, 1024, 4096))
    job = (
        Job(task=task, batch=batch, sequence=length)
        if task is Task.PREFILL
        else Job(task=task, batch=batch, kv=length)
    )
    composition = Composition(MODEL, divide(load_model(draw.choice(MODELS)), layout, job), system)
    ((_, operators),) = composition.passes(0)
    exchanges = [each for each in operators if isinstance(each, Exchange)]
    parts = composition.stretches(exchanges).series().parts(constants_of(system))
    fabric = fabric_of(system, Options(level="logical-core", context="graph"))
    asked = [
        ask(fabric.question(each.collective, each.size, groups=layout.groups(each.axis))).time_s
        for each in exchanges
    ]
    assert len(exchanges) == 2
    assert parts[STARTS] + parts[COLLECTIVES] + parts[RESIDUE] == pytest.approx(sum(asked), rel=1e-12)


def test_the_command_prints_the_same() -> None:
    """66 all-reduces of 8 KiB and their like stand in a token; one of them by itself is asked by command."""
    system = load_registry().system("trn1.32xlarge")
    job = Job(task=Task.DECODE, batch=1, kv=2112)
    composition = Composition(MODEL, divide(load_model("llama-3-8b"), Layout(tp=32), job), system)
    ((_, operators),) = composition.passes(0)
    one = [each for each in operators if isinstance(each, Exchange)][:1]
    parts = composition.stretches(one).series().parts(constants_of(system))
    args = ("run", one[0].collective, "-i", system.name, "--ranks", "core", "--context", "graph")
    size = str(int(one[0].size))
    (row,) = rows(*args, "-b", size, "-e", size)
    assert size == "8192"
    assert row["time_s"] == pytest.approx(parts[STARTS] + parts[COLLECTIVES] + parts[RESIDUE], rel=1e-12)
    assert (row["start_s"], row["residue_s"]) == pytest.approx((parts[STARTS], parts[RESIDUE]), rel=1e-12)
