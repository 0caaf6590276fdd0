"""Layouts: groups, shares, and what does not divide."""

from __future__ import annotations

from pathlib import Path

import pytest
from messages import messages
from msgspec.structs import replace

from trnbench.errors import UsageError
from trnbench_steps.division import divide
from trnbench_steps.hbm import rank_parameters
from trnbench_steps.job import Job, Task
from trnbench_steps.layout import Axis, Layout
from trnbench_steps.model import parameters
from trnbench_steps.shipped_models import load_model
from trnbench_steps.weight import Part

TRAIN = Job(task=Task.TRAIN, batch=64, sequence=4096)
DECODE = Job(task=Task.DECODE, batch=64, kv=4096)
PREFILL = Job(task=Task.PREFILL, batch=64, sequence=4096)


def test_tensor_ranks_are_neighbours_and_stages_are_apart() -> None:
    layout = Layout(tp=2, cp=2, dp=2, pp=2)
    assert layout.groups(Axis.TENSOR)[:2] == ((0, 1), (2, 3))
    assert layout.groups(Axis.CONTEXT)[:2] == ((0, 2), (1, 3))
    assert layout.groups(Axis.DATA)[:2] == ((0, 4), (1, 5))
    assert layout.groups(Axis.PIPELINE)[:2] == ((0, 8), (1, 9))
    assert [layout.stage(rank) for rank in (0, 7, 8, 15)] == [0, 0, 1, 1]


@pytest.mark.parametrize("axis", Axis)
def test_every_rank_is_in_one_group_of_each_axis(axis: Axis) -> None:
    layout = Layout(tp=4, cp=2, dp=4, pp=2, ep=8, expert_tp=2)
    groups = layout.groups(axis)
    assert sorted(rank for group in groups for rank in group) == list(range(layout.ranks))
    assert len({len(group) for group in groups}) == 1


def test_a_placement_moves_ranks_to_cores() -> None:
    layout = Layout(tp=2, dp=2, placement=(7, 3, 5, 1))
    assert layout.groups(Axis.TENSOR) == ((7, 3), (5, 1))
    assert layout.groups(Axis.DATA) == ((7, 5), (3, 1))
    assert layout.groups(Axis.PIPELINE) == ()


@pytest.mark.parametrize(
    ("name", "layout", "job"),
    [
        ("llama-3-70b", Layout(tp=8, pp=4, dp=2), TRAIN),
        ("llama-3.2-1b", Layout(tp=4), DECODE),
        ("bert-large", Layout(tp=2), Job(task=Task.PREFILL, batch=64, sequence=512)),
        ("deepseek-v3", Layout(tp=16, ep=4, expert_tp=4), DECODE),
        ("gpt-oss-120b", Layout(tp=4, dp=4, ep=16, expert_tp=1), DECODE),
        ("qwen3.5-2b", Layout(tp=2), DECODE),
        ("trinity-mini", Layout(tp=4, pp=2), DECODE),
    ],
)
def test_shares_of_all_ranks_are_the_model(name: str, layout: Layout, job: Job) -> None:
    """Nothing is padded here: what is cut adds up, and what is not is on every rank."""
    model = load_model(name)
    division = divide(model, layout, job)
    assert division.notes == ()
    cut = whole = 0
    for layer, count in model.runs():
        kind = model.kinds.index(layer)
        for weight in layer.weights(model.hidden):
            share = division.share(weight, kind) * count
            ranks = weight.parameters * count // share
            assert weight.parameters * count == ranks * share, weight.name
            cut, whole = cut + (ranks > 1), whole + (ranks == 1)
    assert cut
    assert whole
    stages = [rank_parameters(division, stage) for stage in range(layout.pp)]
    assert sum(each.experts for each in stages) * layout.ep * layout.expert_tensor == sum(
        weight.parameters * count
        for layer, count in model.runs()
        for weight in layer.weights(model.hidden)
        if weight.part is Part.EXPERTS
    )
    assert sum(each.experts + each.others for each in stages) < parameters(model).all


@pytest.mark.parametrize(
    ("name", "layout", "job", "heads", "notes"),
    [
        (
            "llama-3-70b",
            Layout(tp=32),
            DECODE,
            (2, 1),
            ["8 heads of keys and values are kept by 4 ranks each"],
        ),
        (
            "llama-4-scout",
            Layout(tp=64),
            DECODE,
            (1, 1),
            ["40 heads are padded to 64 for 64 ranks", "8 heads of keys and values are kept by 8 ranks each"],
        ),
        (
            "falcon-7b",
            Layout(tp=8),
            DECODE,
            (9, 1),
            ["71 heads are padded to 72 for 8 ranks", "1 heads of keys and values are kept by 8 ranks each"],
        ),
        (
            "llama-3.2-3b",
            Layout(tp=16),
            PREFILL,
            (2, 1),
            ["24 heads are padded to 32 for 16 ranks", "8 heads of keys and values are kept by 2 ranks each"],
        ),
        ("phi-4", Layout(tp=20), DECODE, (2, 1), ["10 heads of keys and values are kept by 2 ranks each"]),
        (
            "phi-4",
            Layout(tp=8),
            DECODE,
            (5, 5),
            ["10 heads of keys and values do not fit 8 ranks: every query head gets its own"],
        ),
    ],
)
def test_heads_are_padded_and_kept_by_several(
    name: str, layout: Layout, job: Job, heads: tuple[int, int], notes: list[str]
) -> None:
    division = divide(load_model(name), layout, job)
    assert (division.heads[0].queries, division.heads[0].keys) == heads
    assert [note for note in division.notes if "vocabulary" not in note] == notes


def test_a_vocabulary_is_padded() -> None:
    division = divide(load_model("gpt-3-175b"), Layout(tp=8, pp=2), replace(TRAIN, sequence=2048))
    assert division.notes == ("the vocabulary of 50,257 is padded to 50,264 for 8 ranks",)


@pytest.mark.parametrize(("call", "message", "_"), messages(Path(__file__).with_name("refusals.txt")))
def test_what_does_not_divide_is_refused_with_the_reason(call: str, message: str, _: int) -> None:
    """A call of `of` with a model, a layout and a job."""

    def of(name: str, layout: Layout, job: Job) -> None:
        divide(load_model(name), layout, job)

    with pytest.raises(UsageError) as caught:
        eval(call, {**globals(), "of": of})
    assert str(caught.value) == message
    assert caught.value.exit_code == 2


def test_stages_of_an_interleaved_pipeline_take_every_other_run() -> None:
    model = load_model("trinity-large")  # 60 layers, the first six without experts
    division = divide(model, Layout(pp=2, chunks=3), TRAIN)
    runs = [model.pattern[place : place + 10] for place in range(0, 60, 10)]
    for stage in (0, 1):
        layers = runs[stage] + runs[stage + 2] + runs[stage + 4]
        assert division.stages[stage] == {kind: layers.count(kind) for kind in set(layers)}
