"""What a configuration that is none says: file, key, cause and what to type."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import messages

from trnbench.errors import BadInput, MissingFile, UnknownName
from trnbench_steps.layer import architectures
from trnbench_steps.model import Model, parameters
from trnbench_steps.model_config import read_model
from trnbench_steps.shipped_models import FOLDER, load_model

LLAMA_FILE = Path(__file__).with_name("tiny_llama.json")
LLAMA: dict[str, Any] = json.loads(LLAMA_FILE.read_text())
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


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in LLAMA.items() if name != key}


@pytest.mark.parametrize(
    ("values", "message", "_"), messages(Path(__file__).with_name("refused_configs.txt"))
)
def test_what_is_missing_or_contradicts_itself_is_said(values: str, message: str, _: int) -> None:
    assert refused(eval(values, globals())) == message


def test_an_architecture_that_is_near_none_is_told_which_are_known() -> None:
    text = refused(LLAMA | {"model_type": "transformer-of-mine"})
    assert "known: afmoe, albert, bert" in text


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
    shutil.copy(LLAMA_FILE, folder / "config.json")
    model = load_model(folder)
    assert model == load_model(folder / "config.json")
    assert model.name == "my-model"
    assert model.source is None
    attention, network = 64 * 64 * 2 + 2 * 64 * 32, 3 * 64 * 128
    assert parameters(model).all == 2 * (attention + network + 2 * 64) + 64 + 2 * 100 * 64


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName) as unknown:
        load_model("Llama_3_8B")
    assert str(unknown.value).splitlines()[0] == "unknown model 'Llama_3_8B'"
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
