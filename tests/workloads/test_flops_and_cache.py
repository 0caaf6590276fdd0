"""Operations and caches: the formulas of the papers, and sums over every token one by one."""

from __future__ import annotations

import pytest

from trnbench_steps.attention import Attention, AttentionKind
from trnbench_steps.flops import between_tokens, forward, step_flops, training
from trnbench_steps.hbm import cache_bytes, cache_bytes_per_token
from trnbench_steps.job import Job, Recompute, Task
from trnbench_steps.model import parameters
from trnbench_steps.shipped_models import load_model
from trnbench_steps.weight import Part


def attention(kind: AttentionKind, window: int = 0, **fields: int) -> Attention:
    return Attention(
        kind=kind, window=window, **({"heads": 4, "kv_heads": 2, "head_dim": 8, "value_dim": 8} | fields)
    )


def test_training_is_palms_formula() -> None:
    """PaLM, appendix B: 6·N + 12·L·H·Q·T a token; N without what is looked up."""
    model, tokens = load_model("llama-3-8b"), 2048
    counted = parameters(model)
    multiplied = counted.all - counted.total[Part.EMBEDDING] - counted.total[Part.NORMS]
    expected = 6 * multiplied + 12 * 32 * 32 * 128 * tokens
    assert training(model, tokens, masked=False).all == expected * tokens


def test_training_with_recomputation_is_megatrons_formula() -> None:
    """Narayanan et al. 2021, equation 3: 96·B·s·l·h²·(1 + s/6h + V/16lh), the head not recomputed."""
    model, s, h, layers, words = load_model("gpt-3-175b"), 2048, 12288, 96, 50257
    whole = 96 * s * layers * h**2 * (1 + s / (6 * h) + words / (16 * layers * h))
    once = forward(model, s, masked=False)
    assert once.times(3).all + once.all - once.head == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("recompute", Recompute)
def test_a_step_counts_what_is_recomputed(recompute: Recompute) -> None:
    model = load_model("llama-3-8b")
    once = forward(model, 512)
    extra = {"none": 0, "selective": once.attention, "full": once.all - once.head}[str(recompute)]
    step = step_flops(model, Job(task=Task.TRAIN, batch=8, sequence=512, recompute=recompute))
    assert step.all == 8 * (3 * once.all + extra)


@pytest.mark.parametrize(
    "name", ["llama-3-8b", "gemma-3-1b", "gpt-oss-20b", "llama-4-scout", "qwen3.5-2b", "mistral-7b-v0.1"]
)
def test_a_prompt_costs_what_its_tokens_cost_one_by_one(name: str) -> None:
    model, tokens = load_model(name), 300
    assert forward(model, tokens).all == sum(forward(model, 1, place).all for place in range(tokens))


@pytest.mark.parametrize(
    "mixer",
    [
        attention(AttentionKind.FULL),
        attention(AttentionKind.SLIDING, 5),
        attention(AttentionKind.CHUNKED, 5),
        attention(AttentionKind.LINEAR),
    ],
    ids=lambda mixer: str(mixer.kind),
)
@pytest.mark.parametrize("before", [0, 3, 5, 12])
@pytest.mark.parametrize("tokens", [1, 4, 5, 17])
def test_pairs_are_those_that_the_mask_lets_through(mixer: Attention, before: int, tokens: int) -> None:
    def sees(query: int, key: int) -> bool:
        if mixer.kind is AttentionKind.LINEAR or key > query:
            return False
        if mixer.kind is AttentionKind.SLIDING:
            return query - key < mixer.window
        return mixer.kind is AttentionKind.FULL or query // mixer.window == key // mixer.window

    places = range(before, before + tokens)
    expected = sum(sees(query, key) for query in places for key in range(before + tokens))
    assert mixer.pairs(before, tokens) == expected


def test_an_encoder_attends_both_ways() -> None:
    model = load_model("bert-large")
    assert forward(model, 128).attention == 24 * 4 * 128 * 128 * 1024


def test_a_prompt_predicts_one_token() -> None:
    model = load_model("llama-3-8b")
    prompt = step_flops(model, Job(task=Task.PREFILL, batch=2, sequence=100))
    assert prompt.head == 2 * 2 * 4096 * 128256
    decoded = step_flops(model, Job(task=Task.DECODE, batch=2, kv=100))
    assert decoded.head == prompt.head
    assert decoded.attention == 2 * 32 * 4 * 100 * 32 * 128


def test_latent_attention_over_a_cache_works_on_compressed_vectors() -> None:
    mixer = load_model("deepseek-v3").kinds[0].attention
    assert between_tokens(mixer, 1, 99) == 2 * 100 * 128 * (512 + 64 + 512)
    assert between_tokens(mixer, 100) == 2 * 5050 * 128 * (128 + 64 + 128)


@pytest.mark.parametrize(
    ("name", "kilobytes"), [("deepseek-v3", 70.272), ("qwen2.5-72b", 327.680), ("llama-3.1-405b", 516.096)]
)
def test_cache_of_a_token_is_as_published(name: str, kilobytes: float) -> None:
    """Zhao et al. 2025, Insights into DeepSeek-V3 (arXiv:2505.09343), table 1, BF16."""
    assert cache_bytes_per_token(load_model(name), "bf16") == kilobytes * 1000


def test_a_window_and_a_state_bound_the_cache() -> None:
    model = load_model("gemma-3-1b")  # 22 layers of 512 tokens and 4 of all; one head of 256 features
    assert cache_bytes(model, 4096, "bf16") == 2 * 2 * 256 * (22 * 512 + 4 * 4096)
    hybrid = load_model("qwen3.5-2b")
    grown = cache_bytes(hybrid, 4096, "bf16") - cache_bytes(hybrid, 2048, "bf16")
    assert grown == 2048 * cache_bytes_per_token(hybrid, "bf16") == 2048 * 6 * 2 * 2 * 256 * 2
    state = 18 * (16 * 128 * 128 * 4 + 3 * 3 * 16 * 128 * 2)
    assert cache_bytes(hybrid, 2048, "bf16") - grown == state


def test_an_encoder_keeps_nothing() -> None:
    assert cache_bytes(load_model("bert-base"), 128, "bf16") == 0
