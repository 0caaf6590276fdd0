"""Shipped descriptions: sources, and parameters against what others counted."""

from __future__ import annotations

import tomllib

import pytest

from trnbench_steps.attention import AttentionKind
from trnbench_steps.layer import architectures
from trnbench_steps.model import parameters
from trnbench_steps.model_config import read_model
from trnbench_steps.shipped_models import FOLDER, load_model, shipped_names

PUBLISHED = [(name, count) for name in shipped_names() for count in load_model(name).published]

# Models of the published steps, by the names they have here.
OF_PUBLISHED_STEPS = [
    "albert-base-v2",
    "bert-large",
    "distilbert-base",
    "electra-base",
    "roberta-base",
    "gemma-3-4b",
    "gpt-3-23b",
    "gpt-3-175b",
    "llama-2-7b",
    "llama-2-70b",
    "llama-3-8b",
    "llama-3-70b",
    "llama-3.1-8b",
    "llama-3.3-70b",
    "llama-4-maverick",
    "llama-4-scout",
    "qwen3-235b-a22b",
    "qwen3.5-2b",
    "trinity-large",
    "trinity-nano",
]


@pytest.mark.parametrize(("name", "count"), PUBLISHED, ids=[name for name, _ in PUBLISHED])
def test_parameters_are_those_that_others_counted(name: str, count) -> None:
    found = parameters(load_model(name))
    assert found.all == pytest.approx(count.parameters, rel=count.tolerance, abs=0)
    if count.active:
        assert found.all_active == pytest.approx(count.active, rel=count.active_tolerance, abs=0)


def test_most_models_are_held_to_a_count_to_the_last_parameter() -> None:
    exact = {name for name, count in PUBLISHED if not count.tolerance}
    assert len(exact) >= 50
    assert {name for name, _ in PUBLISHED} >= set(OF_PUBLISHED_STEPS)


@pytest.mark.parametrize("count", [count for _, count in PUBLISHED])
def test_a_tolerance_is_small_and_explained(count) -> None:
    # One digit of a name ("A3B") is as far as a rounded figure goes.
    assert count.tolerance <= 0.03
    assert count.active_tolerance <= 0.17
    assert count.document
    assert count.locator
    assert bool(count.note) or not (count.tolerance or count.active_tolerance)


@pytest.mark.parametrize("name", shipped_names())
def test_each_file_says_where_it_is_from(name: str) -> None:
    model = load_model(name)
    assert model.source.document
    assert model.source.version
    assert model.source.locator
    tables = tomllib.loads((FOLDER / f"{name}.toml").read_text())
    assert tables["config"]["model_type"] == model.architecture


def test_every_kind_of_model_is_among_them() -> None:
    models = [load_model(name) for name in shipped_names()]
    assert {model.kind for model in models} == {"dense", "expert", "encoder"}
    mixers = {layer.attention.kind for model in models for layer in model.kinds}
    assert mixers == set(AttentionKind)


def test_every_architecture_names_its_source() -> None:
    for name, rules in architectures().items():
        assert rules.source.startswith("huggingface/transformers, src/transformers/models/"), name


@pytest.mark.parametrize(
    ("name", "layers"),
    [
        # Gemma 3 (arXiv:2503.19786, section 2): five local layers for each global one, of 1,024 tokens.
        ("gemma-3-4b", {("sliding", 1024): 29, ("full", 0): 5}),
        # gpt-oss model card, section 2: alternating, bands of 128 tokens.
        ("gpt-oss-120b", {("sliding", 128): 18, ("full", 0): 18}),
        ("qwen3.5-2b", {("linear", 0): 18, ("full", 0): 6}),
        ("trinity-large", {("sliding", 4096): 45, ("full", 0): 15}),
        ("llama-4-scout", {("chunked", 8192): 36, ("full", 0): 12}),
        ("deepseek-v3", {("latent", 0): 61}),
    ],
)
def test_layers_are_of_the_kinds_that_the_documents_give(name: str, layers: dict) -> None:
    model = load_model(name)
    found: dict[tuple[str, int], int] = {}
    for layer, count in model.runs():
        key = (str(layer.attention.kind), layer.attention.window)
        found[key] = found.get(key, 0) + count
    assert found == layers


@pytest.mark.parametrize(
    ("name", "dense", "sparse"),
    [
        ("deepseek-v3", 3, 58),
        ("trinity-large", 6, 54),
        ("llama-4-maverick", 24, 24),
        ("llama-4-scout", 0, 48),
    ],
)
def test_experts_are_in_the_layers_that_the_documents_give(name: str, dense: int, sparse: int) -> None:
    counts = {True: 0, False: 0}
    for layer, count in load_model(name).runs():
        counts[bool(layer.feed_forward.experts)] += count
    assert (counts[False], counts[True]) == (dense, sparse)


def test_biases_of_falcon_are_in_attention_too() -> None:
    """Falcon-RW-1B has 1,311,625,216 parameters (its safetensors)."""
    config = {
        "model_type": "falcon",
        "hidden_size": 2048,
        "num_hidden_layers": 24,
        "num_attention_heads": 32,
        "vocab_size": 50304,
        "bias": True,
        "multi_query": False,
        "parallel_attn": False,
    }
    assert parameters(read_model(config, "falcon-rw-1b", "config.json")).all == 1_311_625_216
