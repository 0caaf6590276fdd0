"""A step put together: parts that add up, bounds that hold, what a change of layout or job does."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import trnbench
from trnbench.generation import System
from trnbench.registry import load_registry
from trnbench_steps.calls import Shapes
from trnbench_steps.division import Division, divide
from trnbench_steps.flops import floor_s
from trnbench_steps.job import Job, Recompute, Task
from trnbench_steps.layout import Layout
from trnbench_steps.measures import measures
from trnbench_steps.operators import Elementwise, Exchange, Mixing, Product
from trnbench_steps.rank_operators import mixer_operators
from trnbench_steps.step import Composition, StepModel
from trnbench_steps.step_cases import doubts_of
from trnbench_steps.step_constants import NONE, constants_of
from trnbench_steps.step_parts import (
    ATTENTION,
    BUBBLE,
    COLLECTIVES,
    MEMORY,
    OPTIMISER,
    PARTS,
    STARTS,
    StepParts,
)

MODEL = StepModel()
DECODE = Job(task=Task.DECODE, batch=1, kv=2112)


@pytest.fixture(scope="module")
def trn1() -> System:
    return load_registry().system("trn1.32xlarge")


@pytest.fixture(scope="module")
def trn2() -> System:
    return load_registry().system("trn2-16.48xlarge")


def _division(job: Job, layout: Layout, model: str = "llama-3.2-1b") -> Division:
    return divide(trnbench.load_model(model), layout, job)


def _parts(job: Job, layout: Layout, system: System, model: str = "llama-3.2-1b") -> StepParts:
    return MODEL.parts(_division(job, layout, model), system)


@pytest.mark.parametrize("kv", [1024, 2048])
def test_a_sequence_more_takes_latent_attention_no_less_time(trn2: System, kv: int) -> None:
    """Two cores share two, four, eight caches as they share three, five, nine."""
    times = []
    for batch in (1, 2, 3, 4, 5, 8, 9):
        job = Job(task=Task.DECODE, batch=batch, kv=kv)
        division = _division(job, Layout(tp=64, ep=64, expert_tp=1), "deepseek-v3")
        (mixing,) = (each for each in mixer_operators(division, 0) if isinstance(each, Mixing))
        calls = Shapes(division, trn2, cores=2).of(mixing)
        times.append(sum(MODEL.kernels.time(call, trn2, 1).all for _, call in calls))
    assert times == sorted(times)


def test_parts_are_in_the_order_of_a_table_and_add_up(trn1: System) -> None:
    found = _parts(DECODE, Layout(tp=8), trn1).time(constants_of(trn1))
    assert list(found.parts) == [name for name in PARTS if name in found.parts]
    assert found.time_s == sum(found.parts.values())
    assert {MEMORY, COLLECTIVES} <= set(found.parts)


def test_the_public_function_takes_a_name_and_the_constants_of_the_generation(trn1: System) -> None:
    found = trnbench.step("llama-3.2-1b", Layout(tp=8), DECODE, trn1)
    parts = _parts(DECODE, Layout(tp=8), trn1).time(constants_of(trn1))
    assert (found.time_s, found.parts) == (parts.time_s, parts.parts)
    assert found.band_s[0] < found.time_s < found.band_s[1]


def test_words_of_a_job_are_what_they_stand_for() -> None:
    """A word equals its task; what tells tasks apart asks whether it is the same object."""
    job = Job(task="train", recompute="full", sequence=8)
    assert (job.task, job.recompute) == (Task.TRAIN, Recompute.FULL)
    assert job.task is Task.TRAIN
    assert msgspec.structs.replace(job, task="decode").task is Task.DECODE
    with pytest.raises(trnbench.UnknownName, match="unknown task 'none'"):
        Job(task="none")
    with pytest.raises(trnbench.UnknownName, match="unknown recompute 'zz'"):
        Job(task=Task.TRAIN, recompute="zz")


def test_each_constant_adds_to_a_part_of_its_own(trn1: System) -> None:
    parts = _parts(DECODE, Layout(tp=8), trn1)
    without = parts.time(NONE)
    told = {"collective_residue": 0.7, "operator_s": 1e-6, "engine_share": 0.5}
    for name, value in told.items():
        more = parts.time(msgspec.structs.replace(NONE, **{name: value}))
        new = set(more.parts) - set(without.parts)
        assert len(new) == 1, name
        assert more.time_s - without.time_s == pytest.approx(more.parts[new.pop()], rel=1e-9)


def test_a_layer_has_as_many_collectives_as_its_operators(trn1: System) -> None:
    division = _division(DECODE, Layout(tp=8))
    made = Composition(MODEL, division, trn1)
    ((_, operators),) = made.passes(0)
    exchanges = sum(isinstance(each, Exchange) for each in operators)
    assert exchanges == 2
    starts = made.stretches(operators).series().seconds[STARTS]
    # Beside the layers: an all-reduce of what is looked up, and a gather of the scores.
    whole = made.parts().stages[0].seconds[STARTS]
    assert whole == pytest.approx((exchanges * 16 + 1) * starts / exchanges + 0.37 * 11e-6)


def test_one_rank_sends_nothing(trn1: System) -> None:
    assert COLLECTIVES not in _parts(DECODE, Layout(), trn1).time(NONE).parts


def test_weights_stream_in_while_engines_work(trn1: System) -> None:
    """Between two collectives a rank takes no less than its weights take to arrive, and less than the sum."""
    made = Composition(MODEL, _division(DECODE, Layout(tp=8)), trn1)
    product = Product(name="up", tokens=1, inputs=2048, outputs=1024)
    alone = made.stretches([product]).series().all
    twice = made.stretches([product, product]).series().all
    assert alone < twice < 2 * alone
    weights = 2 * 2 * 2048 * 1024
    rate = trn1.fact(trnbench.Scope.DEVICE, "hbm_bandwidth")
    assert twice > weights / (rate / 2)


@pytest.mark.parametrize("part", ["weights", "cache"])
def test_what_is_kept_in_more_bytes_takes_longer_to_read(part: str, trn1: System) -> None:
    bf16, fp32, tf32 = (
        _parts(msgspec.structs.replace(DECODE, **{part: dtype}), Layout(tp=4), trn1, "llama-3-8b").time(NONE)
        for dtype in ("bf16", "fp32", "tf32")
    )
    assert bf16.parts[MEMORY] < fp32.parts[MEMORY] == pytest.approx(tf32.parts[MEMORY], rel=0.01)


@pytest.mark.parametrize(
    ("task", "part", "dtype"),
    [(Task.DECODE, "weights", "mxfp4"), (Task.DECODE, "cache", "mxfp8"), (Task.TRAIN, "gradients", "fp64")],
)
def test_a_type_that_no_kernel_takes_is_refused(task: Task, part: str, dtype: str, trn1: System) -> None:
    job = Job(task=task, sequence=128, kv=128, **{part: dtype})
    with pytest.raises(trnbench.UsageError, match=f"no kernel of a step takes {part} in {dtype}"):
        _parts(job, Layout(), trn1)


def test_an_activation_leaves_with_its_product_and_alone_takes_its_own_time(trn1: System) -> None:
    made = Composition(MODEL, _division(DECODE, Layout(tp=8)), trn1)
    product = Product(name="mlp up", tokens=1, inputs=2048, outputs=1024)
    activation = Elementwise(name="mlp activation", rows=1, width=1024)
    alone = made.stretches([product]).series()
    assert made.stretches([product, activation]).series() == alone
    assert made.stretches([activation]).series().all > 0


def test_training_has_a_backward_pass_an_optimiser_and_what_is_worked_out_again(trn1: System) -> None:
    job = Job(task=Task.TRAIN, batch=4, sequence=512)
    layout = Layout(tp=8, dp=2, sequence_parallel=True, zero=1)
    prefill = _parts(Job(task=Task.PREFILL, batch=2, sequence=512), Layout(tp=8, dp=2), trn1).time(NONE)
    plain = _parts(job, layout, trn1).time(NONE)
    assert plain.parts[OPTIMISER] > 0
    assert plain.time_s > 3 * prefill.time_s  # two micro-batches, forward and backward
    again = [
        _parts(msgspec.structs.replace(job, recompute=each), layout, trn1).time(NONE).time_s
        for each in (Recompute.NONE, Recompute.SELECTIVE, Recompute.FULL)
    ]
    assert again == sorted(again)
    assert len(set(again)) == 3


def test_the_bubble_is_what_the_schedule_says(trn1: System) -> None:
    job = Job(task=Task.TRAIN, batch=8, sequence=512)
    found = _parts(job, Layout(tp=2, pp=4), trn1)
    assert (found.micro_batches, found.bubble) == (8, 3.0)
    time = found.time(NONE)
    series = time.time_s - time.parts[BUBBLE] - found.once.all
    assert time.parts[BUBBLE] == pytest.approx(series * 3 / 8)
    interleaved = _parts(job, Layout(tp=2, pp=4, chunks=2), trn1)
    assert interleaved.bubble == 1.5


def test_a_micro_batch_passes_all_stages_of_an_inference(trn1: System) -> None:
    whole = _parts(DECODE, Layout(tp=2), trn1).time(NONE).time_s
    staged = _parts(DECODE, Layout(tp=2, pp=4), trn1).time(NONE).time_s
    assert whole < staged < 1.1 * whole  # what the stages send each other is little


@pytest.mark.parametrize("path", ["fused", "unfused"])
@pytest.mark.parametrize("task", [Task.PREFILL, Task.TRAIN])
def test_ranks_that_share_a_sequence_attend_to_all_of_it(task: Task, path: str, trn1: System) -> None:
    job = Job(task=task, sequence=4096, attention_path=path)
    spent = [_parts(job, Layout(cp=cp), trn1).time(NONE).parts[ATTENTION] for cp in (1, 4)]
    assert 4 * spent[1] == pytest.approx(spent[0], rel=0.02)


def test_two_cores_share_the_work_of_a_rank(trn2: System) -> None:
    one = _parts(DECODE, Layout(tp=4, lnc=1), trn2).time(NONE).parts[MEMORY]
    two = _parts(DECODE, Layout(tp=4), trn2).time(NONE).parts[MEMORY]
    assert two < one


@pytest.mark.parametrize(("batch", "rows"), [(1, 1), (18, 18), (19, 10), (64, 32)])
def test_cores_share_the_rows_of_a_norm_where_that_pays(batch: int, rows: int, trn2: System) -> None:
    division = _division(Job(task=Task.DECODE, batch=batch, kv=1024), Layout(tp=4))
    norm = Elementwise(name="norm", rows=batch, width=2048)
    ((_, call),) = Shapes(division, trn2, cores=2).of(norm)
    (shape, _), _ = call.inputs
    assert shape[-1] == rows


def test_a_prompt_that_leaves_sbuf_takes_no_less_time(trn2: System) -> None:
    """1,536 tokens leave no room for the weights of a layer, 1,408 do."""
    layout = Layout(tp=8)
    jobs = [Job(task=Task.PREFILL, sequence=tokens) for tokens in (1408, 1536)]
    stays = [Shapes(_division(job, layout, "llama-3-8b"), trn2, cores=2).stays for job in jobs]
    times = [_parts(job, layout, trn2, "llama-3-8b").time(NONE).time_s for job in jobs]
    assert stays == [True, False]
    assert times[0] < times[1]


def test_experts_that_no_token_meets_are_not_read(trn2: System) -> None:
    one, two, many = (
        _parts(Job(task=Task.DECODE, batch=batch, kv=512), Layout(tp=4), trn2, "qwen3-30b-a3b").time(NONE)
        for batch in (1, 2, 64)
    )
    assert one.time_s < two.time_s < many.time_s


def test_what_no_kernel_does_is_counted_as_roofline(trn2: System) -> None:
    assert _parts(DECODE, Layout(tp=4), trn2).time(NONE).roofline_share == 0.0
    for job in (DECODE, Job(task=Task.PREFILL, sequence=256), Job(task=Task.TRAIN, sequence=256)):
        assert _parts(job, Layout(tp=4), trn2, "qwen3.5-2b").time(NONE).roofline_share == 0.0


def test_linear_attention_takes_as_long_for_each_token(trn2: System) -> None:
    one, two, four = (
        _parts(Job(task=Task.PREFILL, sequence=tokens), Layout(tp=4), trn2, "qwen3.5-2b").time(NONE)
        for tokens in (1024, 2048, 4096)
    )
    spent = [each.parts[ATTENTION] for each in (one, two, four)]
    # A quarter of the layers attend to everything.
    assert 2.0 < (spent[2] - spent[1]) / (spent[1] - spent[0]) < 3.0


@pytest.mark.parametrize("model", ["llama-3.2-1b", "deepseek-v2-lite"])
def test_a_cache_of_the_new_token_alone_takes_no_longer(model: str, trn1: System) -> None:
    alone, more = (
        _parts(msgspec.structs.replace(DECODE, kv=kv), Layout(tp=4), trn1, model).time(NONE) for kv in (1, 2)
    )
    assert alone.time_s <= more.time_s


SMALL = ("qwen3-0.6b", "gemma-3-1b", "bert-base", "trinity-nano", "gpt2")
SYSTEMS = ("trn1.32xlarge", "trn2-16.48xlarge", "trn3-gen2-ultraserver")


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    model=st.sampled_from(SMALL),
    system=st.sampled_from(SYSTEMS),
    task=st.sampled_from(Task),
    tp=st.sampled_from((1, 2, 4)),
    dp=st.sampled_from((1, 2)),
    batch=st.sampled_from((2, 8)),
    length=st.sampled_from((128, 640)),
)
def test_no_step_is_faster_than_documents_allow(
    model: str, system: str, task: Task, tp: int, dp: int, batch: int, length: int
) -> None:
    described = trnbench.load_model(model)
    if described.encoder and task is Task.DECODE:
        task = Task.PREFILL
    length = min(length, described.usual_length)
    job = Job(task=task, batch=batch, sequence=length, kv=length)
    on = load_registry().system(system)
    division = divide(described, Layout(tp=tp, dp=dp), job)
    assert MODEL.parts(division, on).time(NONE).time_s >= floor_s(division, on)


def test_a_step_beyond_documents_is_suspect(trn2: System) -> None:
    division = _division(DECODE, Layout(tp=4))
    time = MODEL.time(division, trn2, constants_of(trn2))
    assert not tuple(doubts_of(division, trn2, time))
    quick = msgspec.structs.replace(time, parts={name: each / 100 for name, each in time.parts.items()})
    mbu, least = doubts_of(division, trn2, quick)
    assert re.fullmatch(r"MBU of [\d,.]+ %, and the documented HBM rates allow 100 %", mbu)
    assert re.fullmatch(r"[\d.]+ µs, and reading and multiplying alone take [\d.]+ µs", least)


@pytest.mark.parametrize("model", ["qwen3-30b-a3b", "mixtral-8x7b", "gpt-oss-20b", "deepseek-v2-lite"])
@pytest.mark.parametrize("batch", [1, 64])
def test_experts_that_are_read_stay_below_what_memory_gives(model: str, batch: int, trn2: System) -> None:
    division = _division(Job(task=Task.DECODE, batch=batch, kv=1024), Layout(tp=4), model)
    time = MODEL.time(division, trn2, constants_of(trn2))
    assert 0.0 < (measures(division, trn2, time).mbu or 0.0) < 1.0
    assert not tuple(doubts_of(division, trn2, time))


def test_chosen_experts_take_as_long_cut_or_whole(trn1: System) -> None:
    """A matrix that SBUF does not hold is gathered in pieces, and one expert of a rank as several are."""
    cut, halves, whole = (
        _parts(Job(task=Task.DECODE, kv=512), Layout(tp=8, ep=8 // cut, expert_tp=cut), trn1, "mixtral-8x7b")
        for cut in (8, 2, 1)
    )
    assert cut.time(NONE).time_s == pytest.approx(halves.time(NONE).time_s, rel=0.02)
    assert halves.time(NONE).time_s == pytest.approx(whole.time(NONE).time_s, rel=0.02)
