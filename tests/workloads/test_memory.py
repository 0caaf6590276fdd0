"""Memory of a rank: the formulas of the papers, and what was seen on devices."""

from __future__ import annotations

from pathlib import Path

import pytest

import trnbench
from trnbench_steps.division import divide
from trnbench_steps.hbm import fit, in_flight, kept_per_layer, logical_cores, memory, rank_parameters
from trnbench_steps.job import Job, Recompute, Task
from trnbench_steps.layout import Layout
from trnbench_steps.model import parameters
from trnbench_steps.shipped_models import load_model


@pytest.mark.parametrize(
    ("layout", "recompute", "of_sbh", "of_scores"),
    [
        # Korthikanti et al. 2022, table 2, less dropout's masks: 2 of the 34, and 3 of the 5·a·s/h.
        (Layout(), Recompute.NONE, 32.0, 2.0),
        (Layout(tp=8), Recompute.NONE, 8 + 24 / 8, 2 / 8),
        (Layout(tp=8, sequence_parallel=True), Recompute.NONE, 32 / 8, 2 / 8),
        (Layout(tp=8, sequence_parallel=True), Recompute.SELECTIVE, 32 / 8, 0.0),
        (Layout(tp=8), Recompute.FULL, 2.0, 0.0),
    ],
)
def test_activations_of_a_layer_are_korthikantis(
    layout: Layout, recompute: Recompute, of_sbh: float, of_scores: float
) -> None:
    model, s, b, h, heads = load_model("gpt-3-175b"), 2048, 3, 12288, 96
    division = divide(model, layout, Job(task=Task.TRAIN, batch=3, micro_batch=3, sequence=s))
    expected = s * b * h * of_sbh + s * b * heads * s * of_scores
    assert float(kept_per_layer(division, 0, recompute)) * 2 == pytest.approx(expected, rel=1e-12)


def test_a_pipeline_keeps_one_micro_batch_for_each_stage_behind() -> None:
    assert [in_flight(Layout(pp=4), stage, 100) for stage in range(4)] == [4, 3, 2, 1]
    assert [in_flight(Layout(pp=4), stage, 2) for stage in range(4)] == [2, 2, 2, 1]
    # Korthikanti et al. 2022: 1 + (p - 1) / (p·m) of what the first stage keeps without interleaving.
    first = in_flight(Layout(pp=4, chunks=3), 0, 100) / 3
    assert first == pytest.approx(4 * (1 + 3 / (4 * 3)))


def test_training_states_are_zeros_sixteen_bytes() -> None:
    """Rajbhandari et al. 2020, section 3.1: 2 + 2 + 12 bytes a parameter; section 5.1: 12 / N at stage 1."""
    count = parameters(load_model("llama-3-8b")).all
    job = Job(task=Task.TRAIN, batch=64, sequence=1024)
    plain = memory(divide(load_model("llama-3-8b"), Layout(dp=64), job), 0)
    assert (plain.weights, plain.gradients, plain.optimiser) == (2 * count, 2 * count, 12 * count)
    cut = memory(divide(load_model("llama-3-8b"), Layout(dp=64, zero=1), job), 0)
    assert (cut.weights, cut.gradients, cut.optimiser) == (2 * count, 2 * count, 12 * count / 64)
    assert cut.cache == plain.cache == 0


def test_experts_are_cut_over_the_ranks_that_hold_the_same_ones() -> None:
    model, job = load_model("mixtral-8x7b"), Job(task=Task.TRAIN, batch=16, sequence=1024)
    division = divide(model, Layout(dp=16, ep=8, zero=1), job)
    held = rank_parameters(division, 0)
    assert held.experts == 32 * 3 * 4096 * 14336
    assert memory(division, 0).optimiser == 12 * (held.others / 16 + held.experts / 2)


def test_weights_of_trinity_large_are_what_a_logical_core_held(registry) -> None:
    """aws-neuron/neuronx-distributed-inference 4bcdc54bf3b6, contrib/models/Trinity/README.md.

    About 23.5 GB a core at TP 32 on trn2.48xlarge, which leaves no room; at TP 64 it runs.
    """
    model = load_model("trinity-large")
    job = Job(task=Task.DECODE, batch=1, kv=4096)
    tight = fit(divide(model, Layout(tp=32), job), registry.system("trn2.48xlarge"))
    assert tight.rank.weights / 2**30 == pytest.approx(23.5, rel=0.005)
    roomy = fit(divide(model, Layout(tp=64), job), registry.system("trn2.48xlarge"))
    assert roomy.fits
    assert roomy.rank.weights < 12 * 2**30


def test_a_cache_is_kept_by_every_rank_that_needs_its_head(registry) -> None:
    job = Job(task=Task.DECODE, batch=4, kv=4096)
    one = memory(divide(load_model("llama-3-70b"), Layout(tp=32), job), 0)
    assert one.cache == 4 * 80 * 2 * 128 * 4096 * 2  # one head of keys and one of values
    latent = [
        memory(divide(load_model("deepseek-v3"), Layout(tp=tp, ep=tp, expert_tp=1), job), 0).cache
        for tp in (1, 64)
    ]
    assert latent[0] == latent[1] == 4 * 61 * 576 * 4096 * 2
    halved = memory(divide(load_model("llama-3-70b"), Layout(tp=32, cp=2), job), 0)
    assert halved.cache == one.cache / 2


def test_a_prefill_makes_room_for_what_follows() -> None:
    model = load_model("llama-3-8b")
    short = memory(divide(model, Layout(), Job(task=Task.PREFILL, sequence=1024)), 0)
    long = memory(divide(model, Layout(), Job(task=Task.PREFILL, sequence=1024, kv=4096)), 0)
    assert long.cache == 4 * short.cache
    assert long.activations == short.activations == 1024 * (2 * 4096 + 3 * 14336) * 2 + 128256 * 4


def test_a_tied_head_is_on_the_last_stage_too() -> None:
    model = load_model("llama-3.2-1b")
    stages = [
        rank_parameters(divide(model, Layout(pp=2), Job(task=Task.DECODE, kv=1)), stage).others
        for stage in (0, 1)
    ]
    assert sum(stages) == parameters(model).all + 128256 * 2048


def test_what_does_not_fit_is_said(registry) -> None:
    job = Job(task=Task.DECODE, batch=1, kv=4096)
    found = fit(divide(load_model("llama-3-70b"), Layout(tp=2), job), registry.system("trn1.2xlarge"))
    assert not found.fits
    assert found.verdict == "does not fit: 133 GiB on a device of 32 GiB"
    assert found.capacity == 32 * 2**30
    assert found.used == 2 * found.rank.all


def test_a_rank_that_holds_more_than_its_core_has_is_said(registry) -> None:
    job = Job(task=Task.DECODE, batch=1, kv=32768)
    found = fit(divide(load_model("llama-3-8b"), Layout(), job), registry.system("trn1.2xlarge"))
    assert found.fits
    assert found.notes == (
        "a rank holds 19 GiB, more than the 16 GiB that each of the 2 cores of a device has",
        "1 of 2 cores have nothing to do",
    )


def test_devices_hold_the_stages_that_lie_on_them(registry) -> None:
    model, job = load_model("llama-3-8b"), Job(task=Task.TRAIN, batch=8, sequence=2048)
    beside = fit(divide(model, Layout(tp=8, pp=2), job), registry.system("trn1.32xlarge"))
    mixed = tuple(core for pair in zip(range(8), range(8, 16), strict=True) for core in pair)
    order = tuple(mixed.index(rank) for rank in range(16))
    spread = fit(divide(model, Layout(tp=8, pp=2, placement=order), job), registry.system("trn1.32xlarge"))
    stages = [memory(divide(model, Layout(tp=8, pp=2), job), stage).all for stage in (0, 1)]
    named = fit(
        divide(model, Layout(tp=8, pp=2, placement=tuple(range(16))), job), registry.system("trn1.32xlarge")
    )
    assert named.used == beside.used
    assert beside.used == 2 * max(stages)
    assert spread.used == sum(stages)


@pytest.mark.parametrize(
    ("layout", "system", "said"),
    [
        (Layout(tp=64), "trn1.32xlarge", "64 ranks do not lie on trn1.32xlarge"),
        (Layout(tp=2, placement=(0, 40)), "trn1.32xlarge", "core 40 is not on trn1.32xlarge"),
        (Layout(lnc=2), "trn1.32xlarge", "trn1.32xlarge has no LNC 2"),
        (Layout(), "host", "no document gives the HBM of host"),
    ],
)
def test_what_does_not_lie_on_a_system_is_refused(registry, layout: Layout, system: str, said: str) -> None:
    division = divide(load_model("llama-3-8b"), layout, Job(task=Task.DECODE, kv=128))
    with pytest.raises(trnbench.UsageError) as caught:
        fit(division, registry.system(system))
    assert caught.value.what == said


def test_logical_cores_follow_the_lnc(registry) -> None:
    system = registry.system("trn2-16.48xlarge")
    assert logical_cores(system, 0) == (64, 4)
    assert logical_cores(system, 1) == (128, 8)
    assert logical_cores(registry.system("trn1.32xlarge"), 1) == (32, 2)


def test_all_of_it_is_importable_from_the_top() -> None:
    model = trnbench.load_model(Path(__file__).with_name("tiny_llama.json"))
    assert isinstance(model, trnbench.Model)
    division = trnbench.divide(model, trnbench.Layout(tp=2), trnbench.Job(task=trnbench.Task.DECODE, kv=8))
    assert isinstance(division, trnbench.Division)
    found = trnbench.fit(division, trnbench.load_registry().system("trn1.2xlarge"))
    assert isinstance(found, trnbench.Fit)
    assert found.fits
    assert "llama-3-8b" in trnbench.shipped_models()
