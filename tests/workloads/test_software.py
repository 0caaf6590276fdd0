"""Which path of the software a step takes: named with a source, told as two times where not known."""

from __future__ import annotations

import msgspec
import pytest
from command import listed

import trnbench
from trnbench.generation import System
from trnbench.registry import load_registry
from trnbench_steps.division import Division, divide
from trnbench_steps.flops import floor_s, read_bytes, routed_bytes
from trnbench_steps.hbm import memory
from trnbench_steps.job import Job, Task
from trnbench_steps.layout import Layout
from trnbench_steps.paths import PATHS
from trnbench_steps.step import StepModel
from trnbench_steps.step_cases import paths_of
from trnbench_steps.step_constants import NONE, StepConstants
from trnbench_steps.step_parts import ATTENTION, COMPILER, MEMORY, StepTime

MODEL = StepModel()


@pytest.fixture(scope="module")
def trn1() -> System:
    return load_registry().system("trn1.32xlarge")


def _division(model: str, job: Job, tp: int = 8) -> Division:
    return divide(trnbench.load_model(model), Layout(tp=tp), job)


def _prompt(system: System, sequence: int, attention: str, constants: StepConstants = NONE) -> StepTime:
    job = Job(task=Task.PREFILL, sequence=sequence, attention_path=attention)
    return MODEL.time(_division("llama-3.2-1b", job), system, constants)


def test_scores_that_no_kernel_keeps_cost_with_the_square_of_the_length(trn1: System) -> None:
    """What is missing at 8,192 tokens is four times what is at 4,096, and passes through memory."""
    short, long = (
        _prompt(trn1, tokens, "unfused").time_s - _prompt(trn1, tokens, "fused").time_s
        for tokens in (4096, 8192)
    )
    assert short > 0
    assert long == pytest.approx(4 * short, rel=0.1)
    unfused, fused = (_prompt(trn1, 8192, word).parts[MEMORY] for word in ("unfused", "fused"))
    assert unfused > fused + 0.5 * long


def test_scores_of_a_short_prompt_stay_in_sbuf(trn1: System) -> None:
    unfused, fused = (_prompt(trn1, 128, word).parts[MEMORY] for word in ("unfused", "fused"))
    assert unfused == pytest.approx(fused, rel=0.02)


def test_a_token_has_no_scores_to_fuse(trn1: System) -> None:
    times = [
        MODEL.time(
            _division("llama-3.2-1b", Job(task=Task.DECODE, kv=4096, attention_path=word)), trn1, NONE
        ).time_s
        for word in ("", "fused", "unfused")
    ]
    assert len(set(times)) == 1


def test_a_backward_pass_takes_the_same_path(trn1: System) -> None:
    job = Job(task=Task.TRAIN, batch=1, sequence=4096)
    fused, unfused = (
        MODEL.time(_division("llama-3.2-1b", msgspec.structs.replace(job, attention_path=word)), trn1, NONE)
        for word in ("fused", "unfused")
    )
    spent = _prompt(trn1, 4096, "unfused").time_s - _prompt(trn1, 4096, "fused").time_s
    assert unfused.time_s - fused.time_s > 2 * spent


def test_the_compiler_leaves_nothing_in_kernels_of_the_software(trn1: System) -> None:
    """Attention is a kernel's where it is fused; products are where the job says so."""
    share = StepConstants(engine_share=1.0)
    known, unknown = (_prompt(trn1, 4096, word, share) for word in ("fused", ""))
    assert unknown.parts[COMPILER] - known.parts[COMPILER] == pytest.approx(known.parts[ATTENTION], rel=1e-6)
    job = Job(task=Task.PREFILL, sequence=4096, attention_path="fused", products="kernels")
    made = MODEL.time(_division("llama-3.2-1b", job), trn1, share)
    assert made.parts[COMPILER] < 0.5 * known.parts[COMPILER]
    assert made.time_s < known.time_s


def test_weights_in_fp8_save_time_only_where_products_take_them(trn1: System) -> None:
    """Widened on the way, 8-bit weights take as long as those they are widened to."""
    job = Job(task=Task.DECODE, kv=512)
    wide, widened, native = (
        MODEL.time(_division("llama-3-8b", each), trn1, NONE).parts.get(MEMORY, 0.0)
        for each in (
            job,
            msgspec.structs.replace(job, weights="fp8"),
            msgspec.structs.replace(job, weights="fp8", widening="native"),
        )
    )
    assert native < 0.7 * widened
    assert widened == pytest.approx(wide, rel=0.1)


def test_each_path_has_words_and_a_source() -> None:
    for task, words in (
        (Task.DECODE, {"widening": "widened", "experts": "chosen"}),
        (Task.PREFILL, {"attention_path": "fused", "widening": "widened", "experts": "blocks"}),
    ):
        job = Job(task=task, sequence=4096, kv=4096, weights="fp8")
        paths = paths_of(_division("qwen3-30b-a3b", job))
        assert {each.name: each.path for each in paths} == words
        assert all(each.source and each.says and not each.known for each in paths)
        assert all(each.path in PATHS[each.name] for each in paths)
    (attention,) = paths_of(
        _division("llama-3-8b", Job(task=Task.PREFILL, sequence=128, attention_path="unfused"))
    )
    assert (attention.known, attention.path, attention.other) == (True, "unfused", "")


def test_experts_that_no_token_is_routed_to_are_not_in_the_bytes_that_a_step_reads() -> None:
    """Of 128 experts one token meets 8, four tokens 32 at most, and 64 tokens all."""
    one, four, many = (
        _division("qwen3-30b-a3b", Job(task=Task.DECODE, batch=batch, kv=512)) for batch in (1, 4, 64)
    )
    held = memory(many, 0).weights
    assert routed_bytes(one, 1) < 0.2 * held
    assert routed_bytes(one, 1) < routed_bytes(four, 1) < 0.4 * held
    assert 0.9 * held < routed_bytes(many, 1)
    system = load_registry().system("trn2-16.48xlarge")
    assert floor_s(one, system) == pytest.approx(
        read_bytes(one) / (2 * 3e12)
    )  # two devices, by what is documented


def test_stages_on_one_device_read_what_each_has_and_not_what_the_largest_has() -> None:
    """The last of two stages reads the head: twice its bytes were 21 % above all that the device reads."""
    division = divide(trnbench.load_model("llama-3.2-1b"), Layout(pp=2), Job(task=Task.DECODE, kv=512))
    system = load_registry().system("trn1.2xlarge")
    assert floor_s(division, system) == pytest.approx(read_bytes(division) / (820 * 2**30))
    assert routed_bytes(division, 2) == pytest.approx(read_bytes(division))


def test_a_run_tells_both_times_where_the_path_is_not_known() -> None:
    def step(*more: str) -> dict[str, object]:
        told = ("workload", "run", "llama-3.2-1b", "-i", "trn1.2xlarge", "--task", "prefill", "--tp", "2")
        found: dict[str, object] = listed("-q", *told, "--sequence", "4096", *more)["steps"][0]
        return found

    unknown, fused, unfused = step(), step("--path", "attention=fused"), step("--path", "attention=unfused")
    assert unknown["otherwise_s"] == pytest.approx(unfused["time_s"])
    assert fused["otherwise_s"] is unfused["otherwise_s"] is None
    assert "which it is, is not known" in " ".join(map(str, unknown["notes"]))  # type: ignore[call-overload]
    (path,) = unfused["paths"]  # type: ignore[misc]
    assert (path["path"], path["known"]) == ("unfused", True)
    assert "transformers-neuronx" in path["source"]
