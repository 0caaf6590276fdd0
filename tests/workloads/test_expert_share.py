"""How many experts a rank works through and with how many tokens, as libraries of Neuron do it."""

from __future__ import annotations

import pytest

from trnbench.errors import UnknownName, UsageError
from trnbench_steps.division import Division, ExpertShare, divide, experts_of
from trnbench_steps.job import Job, Task, check_job
from trnbench_steps.layout import Layout
from trnbench_steps.operators import Elementwise, Product
from trnbench_steps.rank_operators import layer_operators
from trnbench_steps.shipped_models import load_model


def _division(model: str, job: Job, layout: Layout) -> Division:
    return divide(load_model(model), layout, job)


def _share(division: Division) -> ExpertShare:
    kind = next(n for n, each in enumerate(division.model.kinds) if each.feed_forward.experts)
    found = {
        experts_of(division, each)
        for each in layer_operators(division, kind)
        if isinstance(each, Product) and each.name.startswith("experts")
    }
    assert len(found) == 1, "all matrices of an expert are read alike"
    return found.pop()


def _sums(division: Division) -> dict[str, tuple[float, int]]:
    kind = next(n for n, each in enumerate(division.model.kinds) if each.feed_forward.experts)
    return {
        each.name: (each.rows, each.operands)
        for each in layer_operators(division, kind)
        if isinstance(each, Elementwise) and each.name in ("gather", "weighted sum")
    }


@pytest.mark.parametrize(
    ("batch", "expected"), [(1, (8, 1, 1)), (4, (32, 1, 4)), (15, (120, 1, 15))], ids=str
)
def test_few_tokens_load_their_own_one_after_the_other(batch: int, expected: tuple[int, ...]) -> None:
    """8 of 128 experts each."""
    division = _division("qwen3-235b-a22b", Job(task=Task.DECODE, batch=batch, kv=512), Layout(tp=64))
    assert _share(division) == (*expected, True, False)
    assert _sums(division) == {"weighted sum": (batch, 8)}


def test_from_as_many_as_there_are_every_expert_takes_every_token() -> None:
    division = _division("qwen3-235b-a22b", Job(task=Task.DECODE, batch=16, kv=512), Layout(tp=64))
    assert _share(division)[:3] == (128, 16, 1)
    assert _sums(division) == {"weighted sum": (16, 128)}
    apart = _division(
        "qwen3-235b-a22b", Job(task=Task.DECODE, batch=16, kv=512), Layout(tp=64, ep=64, expert_tp=1)
    )
    assert _share(apart)[:3] == (2, 16, 1)
    assert _sums(apart) == {"weighted sum": (16, 2)}


@pytest.mark.parametrize(("model", "blocks"), [("llama-4-maverick", 135), ("llama-4-scout", 23)])
def test_a_prompt_is_cut_into_blocks_of_the_worst_spread(model: str, blocks: int) -> None:
    """⌈(4,096 tokens - (experts - 1)) / 512⌉ + experts - 1, in a kernel: experts are 128 wide on a rank."""
    division = _division(model, Job(task=Task.PREFILL, sequence=4096), Layout(tp=64))
    assert _share(division)[:3] == (blocks, 512, 1)
    assert _sums(division) == {"weighted sum": (4096, 1)}


def test_blocks_that_no_kernel_takes_are_operators_of_the_graph() -> None:
    """24 features of an expert on a rank."""
    division = _division("qwen3-235b-a22b", Job(task=Task.PREFILL, sequence=4096), Layout(tp=64))
    assert _share(division)[:3] == (191, 512, 191)
    assert _sums(division) == {"gather": (191 * 512, 1), "weighted sum": (191 * 512, 2)}
    assert _share(division)[3:] == (True, False)
    halved = _division("qwen3-235b-a22b", Job(task=Task.PREFILL, sequence=4096), Layout(tp=32))
    assert _share(halved) == (191, 512, 1, False, True)


@pytest.mark.parametrize(
    ("task", "path", "expected"),
    [
        (Task.DECODE, "all", (128, 4, 1, False, False)),
        (Task.PREFILL, "operators", (191, 512, 191, True, False)),
        (Task.PREFILL, "blocks", (191, 512, 1, False, True)),
        (Task.PREFILL, "all", (128, 4096, 1, False, False)),
    ],
)
def test_a_path_of_experts_that_the_job_names_is_taken(task: Task, path: str, expected: object) -> None:
    batch, sequence = (4, 0) if task is Task.DECODE else (1, 4096)
    job = Job(task=task, batch=batch, sequence=sequence, kv=4096, experts=path)
    assert _share(_division("qwen3-235b-a22b", job, Layout(tp=64))) == expected


def test_a_task_has_its_own_paths_of_experts() -> None:
    for task, path in ((Task.DECODE, "blocks"), (Task.PREFILL, "chosen"), (Task.TRAIN, "all")):
        with pytest.raises(UsageError, match=f"--path experts={path} is no path of {task}"):
            check_job(Job(task=task, sequence=128, kv=128, experts=path))
    with pytest.raises(UnknownName, match="path 'none'"):
        check_job(Job(task=Task.PREFILL, sequence=128, attention_path="none"))


def test_a_prompt_that_fills_no_block_is_taken_by_every_expert() -> None:
    division = _division("llama-4-scout", Job(task=Task.PREFILL, sequence=256), Layout(tp=64))
    assert _share(division)[:3] == (16, 256, 1)


def test_experts_that_tokens_travel_to_get_those_alone_that_chose_them() -> None:
    layout = Layout(tp=4, dp=16, ep=64, expert_tp=1)
    division = _division("qwen3-235b-a22b", Job(task=Task.DECODE, batch=512, kv=512), layout)
    assert _share(division)[:3] == (2, 32, 1)  # 512 · 8 pairs on 128 experts


def test_training_spreads_its_tokens_evenly() -> None:
    division = _division("qwen3-30b-a3b", Job(task=Task.TRAIN, sequence=4096), Layout(tp=4))
    assert _share(division)[:3] == (128, 4096 * 8 / 128, 1)
