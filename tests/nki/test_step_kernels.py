"""The kernels of a model's step give the numbers of plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trnbench_emulator.nki import Machine, load_kernel, record
from trnbench_kernels.nki import step_references as references

Array = np.ndarray[Any, Any]


def _values(shape: tuple[int, ...], seed: int = 3) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _given(source: str, arguments: tuple[Any, ...], machine: Machine) -> list[Array]:
    kernel, _, _ = load_kernel(f"trnbench_kernels.nki.{source}", nki="trnbench")
    return list(record(kernel, arguments, machine=machine, functional=True).outputs)


@pytest.mark.parametrize(
    ("parts", "tiles", "columns", "tokens"), [(1, 1, 64, 1), (3, 9, 128, 5), (2, 2, 96, 700)], ids=str
)
def test_a_few_tokens_are_multiplied(parts: int, tiles: int, columns: int, tokens: int, v2: Machine) -> None:
    x, w = _values((2, 128, parts, tokens)), _values((2, 128, tiles, parts * columns), 4)
    (got,) = _given("decode:linear_few", (x, w), v2)
    np.testing.assert_allclose(got, references.linear_few(x, w), rtol=1e-4, atol=1e-3)


def test_weights_of_another_type_are_turned_on_the_way(v2: Machine) -> None:
    x = _values((1, 128, 2, 3))
    w = np.random.default_rng(5).integers(-8, 8, (1, 128, 2, 2 * 64)).astype(np.int8)
    (got,) = _given("decode:linear_few", (x, w), v2)
    np.testing.assert_allclose(got, references.linear_few(x, w), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("tokens", [1, 6, 600])
def test_a_few_tokens_are_normalised(tokens: int, v2: Machine) -> None:
    x, gamma = _values((128, 4, tokens)), _values((128, 4), 4)
    (got,) = _given("decode:norm_few", (x, gamma), v2)
    np.testing.assert_allclose(got, references.norm_few(x, gamma), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("caches", "parts", "keys", "width", "heads"),
    [(1, 1, 128, 64, 2), (6, 1, 384, 128, 3), (3, 2, 640, 256, 40), (2, 1, 256, 64, 100)],
    ids=str,
)
def test_one_token_attends_to_its_cache(
    caches: int, parts: int, keys: int, width: int, heads: int, v2: Machine
) -> None:
    q = _values((caches, 96, parts, heads))
    k, v = _values((caches, 96, parts, keys), 4), _values((caches, 128, keys // 128, width), 5)
    (got,) = _given("cache:attention_cached", (q, k, v), v2)
    np.testing.assert_allclose(got, references.attention_cached(q, k, v), rtol=1e-3, atol=1e-4)


BLOCK = 256
PROMPTS = [(100, False, 0), (384, True, 0), (600, True, 0), (900, True, 256)]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "BLOCK", BLOCK)


def _in_blocks(name: str, arguments: tuple[Any, ...], machine: Machine) -> Array:
    """With blocks so small that a few hundred tokens are several of them."""
    kernel, module, _ = load_kernel(f"trnbench_kernels.nki.flash:{name}", nki="trnbench")
    vars(module)["BLOCK"] = BLOCK
    (got,) = record(kernel, arguments, machine=machine, functional=True).outputs
    return np.asarray(got)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(("tokens", "causal", "window"), PROMPTS, ids=str)
def test_a_prompt_attends_block_by_block(tokens: int, causal: bool, window: int, v2: Machine) -> None:
    q, k, v = _values((1, 64, 1, tokens)), _values((1, 64, 1, tokens), 4), _values((1, tokens, 64), 5)
    got = _in_blocks("flash", (q, k, v, causal, window), v2)
    expected = references.flash(q, k, v, causal, window)
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(("tokens", "causal", "window"), PROMPTS, ids=str)
def test_a_prompt_attends_backwards(tokens: int, causal: bool, window: int, v2: Machine) -> None:
    by_token, out, v = _values((2, 1, tokens, 64)), _values((1, tokens, 64), 4), _values((1, tokens, 64), 5)
    q, k, by_feature, along = (
        each.reshape(1, tokens, 64).transpose(0, 2, 1)[:, :, None, :].copy()
        for each in (by_token[0], by_token[1], v, out)
    )
    total = np.log(np.exp(references.scores_of(q, k, causal, window)).sum(axis=-1, keepdims=True))
    kept = np.concatenate([-total, _values((1, tokens, 1), 6)], axis=-1).astype(np.float32)
    arguments = (q, k, by_feature, by_token, (along, out), kept, causal, window)
    got = _in_blocks("flash_backward", arguments, v2)
    expected = references.flash_backward(*arguments)
    np.testing.assert_allclose(got, expected, rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("operands", [1, 2, 5])
def test_operands_are_added_up(operands: int, v2: Machine) -> None:
    x = _values((128, 3000))
    (got,) = _given("elementwise:combine", (x, operands), v2)
    np.testing.assert_allclose(got, references.combine(x, operands), rtol=1e-4, atol=1e-5)


def test_the_largest_of_each_row_is_found(v2: Machine) -> None:
    x = _values((2, 128, 700))
    (got,) = _given("elementwise:row_maximum", (x,), v2)
    np.testing.assert_allclose(got, references.row_maximum(x))


@pytest.mark.parametrize("master", [False, True])
def test_weights_are_updated(master: bool, v2: Machine) -> None:
    weights, gradient = _values((128, 1500)), _values((128, 1500), 4)
    moments = np.abs(_values((3 if master else 2, 128, 1500), 5))
    got = _given("elementwise:adam", (weights, gradient, moments, master), v2)
    for mine, expected in zip(got, references.adam(weights, gradient, moments, master), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("parts", "tokens"), [(3, 1), (2, 300)], ids=str)
def test_a_short_convolution(parts: int, tokens: int, v2: Machine) -> None:
    x, taps = _values((128, parts, tokens + 3)), _values((128, parts, 4), 4)
    (got,) = _given("convolution:short_convolution", (x, taps), v2)
    np.testing.assert_allclose(got, references.short_convolution(x, taps), rtol=1e-3, atol=1e-4)


def test_the_delta_rule_of_a_prompt(v2: Machine) -> None:
    """Of more heads than are worked on together, and a last chunk that is not full."""
    heads, keys, values, tokens = 5, 32, 48, 200
    q, k = _values((heads, keys, tokens)), _values((heads, keys, tokens), 4)
    v, gates = _values((heads, values, tokens), 5), _values((2, heads, tokens), 6)
    rates = np.abs(_values((heads, 2), 7))
    got = _given("delta:delta_prompt", (q, k, v, gates, rates), v2)
    for mine, expected in zip(got, references.delta_prompt(q, k, v, gates, rates), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-3, atol=1e-3)


def test_the_delta_rule_of_a_token(v2: Machine) -> None:
    count, keys, values = 3, 64, 128
    q, k, v = _values((keys, count)), _values((keys, count), 4), _values((values, count), 5)
    gates, rates = _values((2, count), 6), np.abs(_values((2, count), 7))
    states = _values((count, keys, values), 8)
    got = _given("delta_step:delta_step", (q, k, v, gates, rates, states), v2)
    for mine, expected in zip(got, references.delta_step(q, k, v, gates, rates, states), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("spans", "heads"), [(2, 5), (3, 600)], ids=str)
def test_spans_of_a_cache_become_one(spans: int, heads: int, v2: Machine) -> None:
    parts, logs = _values((spans, 64, 2, heads)), 5 * _values((spans, heads), 4)
    (got,) = _given("spans:spans_merged", (parts, logs), v2)
    np.testing.assert_allclose(got, references.spans_merged(parts, logs), rtol=1e-3, atol=1e-4)
