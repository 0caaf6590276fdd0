"""Operators of a rank: together they are the model's work, and what they send is what the papers count."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from trnbench_steps.division import Division, divide
from trnbench_steps.flops import Flops, forward
from trnbench_steps.hbm import memory, rank_parameters
from trnbench_steps.job import Job, Task
from trnbench_steps.layout import Axis, Layout
from trnbench_steps.model import Model, parameters
from trnbench_steps.operators import Exchange, Operator, Product
from trnbench_steps.rank_operators import (
    backward_operators,
    between_stages,
    first_operators,
    last_operators,
    layer_operators,
)
from trnbench_steps.shipped_models import load_model, shipped_names
from trnbench_steps.step import update_operators
from trnbench_steps.weight import Cut

TRAIN = Job(task=Task.TRAIN, batch=64, micro_batch=2, sequence=4096)
PREFILL = Job(task=Task.PREFILL, batch=64, sequence=4096)
DECODE = Job(task=Task.DECODE, batch=64, kv=4096)


LEARNED = replace(TRAIN, sequence=2048)
"""As many tokens as GPT-3 has positions."""


def within(model: Model, job: Job) -> Job:
    """`job` of no more tokens than the model has learned positions."""
    most = model.usual_length
    return replace(job, sequence=min(job.sequence, most), kv=min(job.kv, most))


def exchanges(operators: list[Operator]) -> list[tuple[str, Axis, float]]:
    return [(each.collective, each.axis, each.size) for each in operators if isinstance(each, Exchange)]


def work(operators: list[Operator]) -> float:
    return sum(each.flops for each in operators if not isinstance(each, Exchange))


def of_stages(division: Division) -> float:
    """FLOP of one rank of each stage, for the sequences that they work on at once."""
    layers = sum(
        work(layer_operators(division, kind)) * count
        for stage in division.stages
        for kind, count in stage.items()
    )
    return layers + work(first_operators(division)) + work(last_operators(division))


@pytest.mark.parametrize("job", [TRAIN, PREFILL, DECODE], ids=lambda job: str(job.task))
@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("llama-3-70b", Layout(tp=8, pp=4, dp=2)),
        ("llama-3.2-1b", Layout(tp=4, cp=2)),
        ("gemma-3-1b", Layout()),
        ("llama-4-scout", Layout(tp=8, dp=2, ep=16, expert_tp=1)),
        ("mixtral-8x7b", Layout(tp=8, ep=4, expert_tp=2)),
        ("gpt-oss-120b", Layout(tp=4, dp=4, ep=16, expert_tp=1)),
        ("deepseek-v3", Layout(tp=16, ep=16, expert_tp=1)),
        ("qwen3.5-2b", Layout(tp=2)),
    ],
)
def test_work_of_all_ranks_is_the_models(name: str, layout: Layout, job: Job) -> None:
    """No head is padded; what every tensor rank does again (a router, say) is counted again."""
    model = load_model(name)
    division = divide(model, layout, job)
    assert [note for note in division.notes if "vocabulary" not in note] == []
    predicted = None if job.task is Task.TRAIN else 1
    once: Flops = forward(model, job.new_tokens, job.before, predicted=predicted)
    repeated = sum(
        weight.flops_per_token * count * job.new_tokens
        for layer, count in model.runs()
        for weight in layer.weights(model.hidden)
        if weight.product and weight.cut is Cut.NONE
    )
    total = of_stages(division) * layout.tp * layout.cp * layout.dp
    sequences = division.sequences * layout.dp
    scored_again = (layout.cp - 1) * once.head if job.task is not Task.TRAIN else 0
    decoded_again = 0.0
    if job.task is Task.DECODE and layout.cp > 1:
        # Each context rank projects the one token; only attention is divided.
        decoded_again = (layout.cp - 1) * (once.all - once.attention - once.head)
    expected = sequences * (once.all + (layout.tp - 1) * repeated + scored_again + decoded_again)
    padded_words = (-model.vocabulary % layout.tp) * 2 * model.hidden * sequences
    padded_words *= job.new_tokens if predicted is None else 1
    assert total == pytest.approx(expected + padded_words, rel=1e-12)


@pytest.mark.parametrize("name", shipped_names())
def test_work_of_one_rank_is_the_models(name: str) -> None:
    model = load_model(name)
    for asked in (TRAIN, PREFILL) if model.encoder else (TRAIN, PREFILL, DECODE):
        job = within(model, asked)
        division = divide(model, Layout(), job)
        predicted = None if job.task is Task.TRAIN else 1
        expected = forward(model, job.new_tokens, job.before, predicted=predicted).all * division.sequences
        assert of_stages(division) == pytest.approx(expected, rel=1e-12)
        held = memory(division, 0)
        assert all(getattr(held, part) >= 0 for part in held.__struct_fields__)
        assert held.weights == 2 * parameters(model).all


def test_a_layer_adds_up_twice_without_sequence_parallelism() -> None:
    """Shoeybi et al. 2019, section 3: two all-reduces of b·s·h a forward pass."""
    division = divide(load_model("gpt-3-175b"), Layout(tp=8), LEARNED)
    message = 2 * 2048 * 12288 * 2
    assert exchanges(layer_operators(division, 0)) == [("all_reduce", Axis.TENSOR, message)] * 2


def test_a_layer_gathers_and_scatters_twice_with_it() -> None:
    """Korthikanti et al. 2022, section 4.2.2: the same bytes, as two gathers and two scatters."""
    division = divide(load_model("gpt-3-175b"), Layout(tp=8, sequence_parallel=True), LEARNED)
    message = 2 * 2048 * 12288 * 2
    pair = [("all_gather", Axis.TENSOR, message), ("reduce_scatter", Axis.TENSOR, message)]
    assert exchanges(layer_operators(division, 0)) == pair * 2


def test_parallel_branches_are_added_up_once() -> None:
    division = divide(load_model("falcon-40b"), Layout(tp=8), DECODE)
    assert exchanges(layer_operators(division, 0)) == [("all_reduce", Axis.TENSOR, 64 * 8192 * 2)]


def test_a_token_of_llama_70b_adds_up_160_times() -> None:
    division = divide(load_model("llama-3-70b"), Layout(tp=32), DECODE)
    count = sum(
        len(exchanges(layer_operators(division, kind))) * layers
        for kind, layers in division.stages[0].items()
    )
    assert count == 160


def test_tokens_travel_to_experts_on_ranks_with_other_tokens() -> None:
    model = load_model("qwen3-235b-a22b")
    apart = divide(model, Layout(tp=4, dp=16, ep=64, expert_tp=1), DECODE)
    sent = 64 / 16 / 4 * 8 * 4096 * 2
    assert exchanges(layer_operators(apart, 0)) == [
        ("all_reduce", Axis.TENSOR, 4 * 4096 * 2),
        ("all_to_all", Axis.EXPERT, sent),
        ("all_to_all", Axis.EXPERT, sent),
        ("all_gather", Axis.TENSOR, 4 * 4096 * 2),
    ]
    together = divide(model, Layout(tp=64, ep=64, expert_tp=1), DECODE)
    assert exchanges(layer_operators(together, 0)) == [("all_reduce", Axis.TENSOR, 64 * 4096 * 2)] * 2


def test_a_cut_sequence_gathers_keys_and_values() -> None:
    model = load_model("llama-3-8b")
    prompt = divide(model, Layout(cp=4), PREFILL)
    assert exchanges(layer_operators(prompt, 0)) == [("all_gather", Axis.CONTEXT, 64 * 4096 * 8 * 256 * 2)]
    step = divide(model, Layout(cp=4), DECODE)
    assert exchanges(layer_operators(step, 0)) == [("all_reduce", Axis.CONTEXT, 64 * 32 * 128 * 2)]


def test_shapes_of_a_rank_are_exact() -> None:
    """Llama 3 70B on 32 ranks: 2 query heads, 1 of keys and values, 896 of 28,672 features."""
    division = divide(load_model("llama-3-70b"), Layout(tp=32), Job(task=Task.DECODE, batch=4, kv=4096))
    shapes = {
        each.name: (each.tokens, each.inputs, each.outputs)
        for each in (*layer_operators(division, 0), *last_operators(division))
        if isinstance(each, Product)
    }
    assert shapes == {
        "query": (4, 8192, 256),
        "key": (4, 8192, 128),
        "value": (4, 8192, 128),
        "output": (4, 256, 8192),
        "mlp gate": (4, 8192, 896),
        "mlp up": (4, 8192, 896),
        "mlp down": (4, 896, 8192),
        "head": (4, 8192, 4008),
    }


@pytest.mark.parametrize(
    "name", ["llama-3-70b", "deepseek-v3", "trinity-large", "qwen3.5-2b", "gpt-oss-120b"]
)
def test_products_read_the_weights_that_the_rank_holds(name: str) -> None:
    model = load_model(name)
    division = divide(model, Layout(tp=2), DECODE)
    for kind, layer in enumerate(model.kinds):
        read = sum(each.weights for each in layer_operators(division, kind) if isinstance(each, Product))
        held = sum(division.share(each, kind) for each in layer.weights(model.hidden) if each.product)
        assert read == held


@pytest.mark.parametrize(
    "name", ["llama-3-70b", "deepseek-v3", "trinity-large", "qwen3.5-2b", "falcon-40b", "bert-large"]
)
@pytest.mark.parametrize("layout", [Layout(), Layout(tp=2), Layout(tp=2, cp=2, sequence_parallel=True)])
def test_a_backward_pass_is_twice_the_forward_pass(name: str, layout: Layout) -> None:
    model = load_model(name)
    division = divide(model, layout, within(model, TRAIN))
    for kind in range(len(division.model.kinds)):
        assert work(backward_operators(division, kind)) == 2 * work(layer_operators(division, kind))


def test_a_backward_pass_adds_up_the_gradients_of_its_inputs() -> None:
    """Shoeybi et al. 2019: four all-reduces of b·s·h in forward and backward pass."""
    division = divide(load_model("gpt-3-175b"), Layout(tp=8), LEARNED)
    message = 2 * 2048 * 12288 * 2
    backward = backward_operators(division, 0)
    assert exchanges(backward) == [("all_reduce", Axis.TENSOR, message)] * 2
    names = [each.name for each in backward]
    assert names.index("mlp up weight gradient") + 1 == names.index("reduce")
    assert names[-2:] == ["reduce", "norm 1 gradient"]


def test_a_backward_pass_gathers_once_more_with_sequence_parallelism() -> None:
    division = divide(load_model("gpt-3-175b"), Layout(tp=8, sequence_parallel=True), LEARNED)
    message = 2 * 2048 * 12288 * 2
    half = [("all_gather", Axis.TENSOR, message)] * 2 + [("reduce_scatter", Axis.TENSOR, message)]
    assert exchanges(backward_operators(division, 0)) == half * 2


def test_tokens_travel_back_in_a_backward_pass() -> None:
    division = divide(load_model("qwen3-30b-a3b"), Layout(tp=4, dp=16, ep=64, expert_tp=1), TRAIN)
    backward = [(collective, axis) for collective, axis, _ in exchanges(backward_operators(division, 0))]
    travel = ("all_to_all", Axis.EXPERT)
    assert backward == [travel, travel, ("all_gather", Axis.TENSOR), ("all_reduce", Axis.TENSOR)]


def test_gradients_are_added_up_over_replicas() -> None:
    model, job = load_model("mixtral-8x7b"), Job(task=Task.TRAIN, batch=16, sequence=1024)
    plain = divide(model, Layout(dp=8, cp=2, ep=8), job)
    held = rank_parameters(plain, 0)
    assert exchanges(update_operators(plain, 0)) == [
        ("all_reduce", Axis.REPLICA, 2 * held.others),
        ("all_reduce", Axis.EXPERT_DATA, 2 * held.experts),
    ]
    cut = divide(model, Layout(dp=8, cp=2, ep=8, zero=1), job)
    assert exchanges(update_operators(cut, 0)) == [
        ("reduce_scatter", Axis.REPLICA, 2 * held.others),
        ("all_gather", Axis.REPLICA, 2 * held.others),
        ("reduce_scatter", Axis.EXPERT_DATA, 2 * held.experts),
        ("all_gather", Axis.EXPERT_DATA, 2 * held.experts),
    ]
    changed = {each.name: each.rows for each in update_operators(cut, 0) if not isinstance(each, Exchange)}
    assert changed == {"adam of weights": held.others / 16, "adam of experts": held.experts / 2}
    alone = divide(load_model("llama-3-8b"), Layout(tp=8), TRAIN)
    assert exchanges(update_operators(alone, 0)) == []


def test_stages_pass_on_what_they_made() -> None:
    model = load_model("llama-3-8b")
    assert between_stages(divide(model, Layout(tp=8), TRAIN)) == []
    whole = between_stages(divide(model, Layout(tp=8, pp=4), TRAIN))
    cut = between_stages(divide(model, Layout(tp=8, pp=4, sequence_parallel=True), TRAIN))
    assert exchanges(whole) == [("permute", Axis.PIPELINE, 2 * 4096 * 4096 * 2)]
    assert exchanges(cut) == [("permute", Axis.PIPELINE, 2 * 4096 * 4096 * 2 / 8)]
