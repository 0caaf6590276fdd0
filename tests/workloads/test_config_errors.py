"""What a configuration that is none says: file, key, cause and what to type."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench.errors import BadInput, MissingFile, UnknownName
from trnbench_steps.layer import architectures
from trnbench_steps.model import Model, parameters
from trnbench_steps.model_config import read_model
from trnbench_steps.shipped_models import FOLDER, load_model

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 100,
}
MOE = LLAMA | {
    "model_type": "qwen3_moe",
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
}


def refused(values: Any) -> str:
    with pytest.raises(BadInput) as caught:
        read_model(values, "mine", "config.json")
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_an_unknown_architecture_names_the_near_ones() -> None:
    assert refused(LLAMA | {"model_type": "lama"}) == (
        "config.json: model_type 'lama' is no architecture known here\n"
        "  cause: did you mean llama, llama4?\n"
        "  try:   the model_type of a known one whose layers are the same, in a copy of the file"
    )
    assert "known: afmoe, albert, bert" in refused(LLAMA | {"model_type": "transformer-of-mine"})


def test_a_missing_key_is_named() -> None:
    without = {key: value for key, value in LLAMA.items() if key != "intermediate_size"}
    assert refused(without) == (
        "config.json: key 'intermediate_size' is missing\n"
        "  cause: a model of architecture llama is described by it\n"
        '  try:   add it, as in "intermediate_size": 4096'
    )
    assert "key 'model_type' is missing" in refused({})


def test_a_key_inside_a_table_is_named_with_it() -> None:
    text = refused({"model_type": "gemma3", "text_config": {"hidden_size": 64, "intermediate_size": 1}})
    assert text.startswith("config.json: key 'text_config.num_hidden_layers' is missing\n")


@pytest.mark.parametrize("key", [key for key in LLAMA if key != "model_type"])
@pytest.mark.parametrize(
    ("value", "said"),
    [
        (-5, "is -5: that is no"),
        (0, "is 0: that is no"),
        (10**30, "that is no"),
        (1e400, "must be a whole number, is inf"),
        (float("nan"), "must be a whole number, is nan"),
        (4096.5, "must be a whole number, is 4096.5"),
        ("4096", "must be a whole number, is '4096'"),
        (True, "must be a whole number, is true"),
        ([4096], "must be a whole number, is a list"),
        ({"a": 1}, "must be a whole number, is an object"),
    ],
)
def test_a_value_that_no_model_has_names_its_key(key: str, value: object, said: str) -> None:
    text = refused(LLAMA | {key: value})
    first = text.splitlines()[0]
    assert first.startswith(f"config.json: {key} ")
    assert said in first
    assert len(text) < 1000


def test_a_width_that_is_too_large_says_the_range() -> None:
    assert refused(LLAMA | {"hidden_size": 2**40}) == (
        "config.json: hidden_size is 1,099,511,627,776: that is no width\n"
        "  cause: it counts features, heads, words or tokens, 1 to 2,147,483,647\n"
        '  try:   "hidden_size": 4096'
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (LLAMA | {"num_key_value_heads": 3}, "3 heads of keys and values do not divide 4 heads of queries"),
        (LLAMA | {"num_attention_heads": 3, "num_key_value_heads": 3}, "3 heads do not divide 64 features"),
        (LLAMA | {"tie_word_embeddings": 1}, "tie_word_embeddings must be true or false, is 1"),
        (LLAMA | {"layer_types": ["full_attention"]}, "layer_types names 1 layers"),
        (
            LLAMA | {"layer_types": ["full_attention", "mamba"]},
            "layer_types has 'mamba', which is no kind of layer",
        ),
        (LLAMA | {"layer_types": "full_attention"}, "layer_types must be a list, is 'full_attention'"),
        (MOE | {"num_experts_per_tok": 9}, "num_experts_per_tok 9 is more than the 8 experts there are"),
        (MOE | {"mlp_only_layers": [2]}, "mlp_only_layers has 2, which is the number of no layer"),
        ({"model_type": "gemma3", "text_config": []}, "text_config must be an object, is a list"),
        ([LLAMA], "config.json is no model's configuration"),
    ],
)
def test_what_contradicts_itself_is_said(values: Any, said: str) -> None:
    assert said in refused(values).splitlines()[0]


def test_a_window_of_layer_types_needs_its_length() -> None:
    text = refused(LLAMA | {"layer_types": ["full_attention", "sliding_attention"]})
    assert text.startswith("config.json: key 'sliding_window' is missing")


@pytest.mark.parametrize("architecture", sorted(architectures()))
def test_every_architecture_says_what_it_lacks(architecture: str) -> None:
    inside = architectures()[architecture].inside
    text = refused({"model_type": architecture} | ({inside: {}} if inside else {}))
    assert "is missing\n" in text


def test_keys_that_are_null_count_as_missing() -> None:
    plain = read_model(LLAMA | {"model_type": "mistral"}, "mine", "x")
    assert read_model(LLAMA | {"model_type": "mistral", "sliding_window": None}, "mine", "x") == plain
    assert read_model(LLAMA | {"model_type": "mistral", "sliding_window": 16}, "mine", "x") != plain


def test_a_file_and_its_folder_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA))
    model = load_model(folder)
    assert model == load_model(folder / "config.json")
    assert model.name == "my-model"
    assert model.source is None
    attention, network = 64 * 64 * 2 + 2 * 64 * 32, 3 * 64 * 128
    assert parameters(model).all == 2 * (attention + network + 2 * 64) + 64 + 2 * 100 * 64


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName) as unknown:
        load_model("llama-3-8c")
    assert str(unknown.value).splitlines()[0] == "unknown model 'llama-3-8c'"
    assert "llama-3-8b" in str(unknown.value)
    with pytest.raises(MissingFile):
        load_model(tmp_path / "nothing.json")
    deep = tmp_path / "deep.json"
    deep.write_text('{"a":' * 100_000)
    with pytest.raises(BadInput, match="is no JSON: it is nested more than 64 deep"):
        load_model(deep)
    table = tmp_path / "mine.toml"
    table.write_text("[source]\ndocument = 'mine'\n")
    with pytest.raises(BadInput, match="table 'config' is missing"):
        load_model(table)
    table.write_text("[config]\nmodel_type = 'llama'\n[source]\ndocument = 'mine'\n")
    with pytest.raises(BadInput, match="missing required field"):
        load_model(table)
    table.write_text("[mode]\n")
    with pytest.raises(BadInput, match="unknown table 'mode'"):
        load_model(table)


HOSTILE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.integers(0, 70)
    | st.floats()
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "name", ["llama-3-8b", "gemma-3-4b", "deepseek-v3", "qwen3.5-2b", "falcon-40b", "albert-base-v2"]
)
@given(data=st.data())
@settings(max_examples=40)
def test_a_file_of_anything_is_a_model_or_a_sentence(name: str, data: st.DataObject) -> None:
    config = tomllib.loads((FOLDER / f"{name}.toml").read_text())["config"]
    for key in data.draw(st.lists(st.sampled_from(sorted(config)), min_size=1, max_size=3, unique=True)):
        config[key] = data.draw(HOSTILE)
    found = read_or_refused(config)
    if isinstance(found, BadInput):
        assert str(found).startswith("config.json")
        assert found.cause
        assert found.try_
    else:
        assert parameters(found).all > 0


def read_or_refused(config: dict[str, Any]) -> Model | BadInput:
    try:
        return read_model(config, "mine", "config.json")
    except BadInput as error:
        return error
