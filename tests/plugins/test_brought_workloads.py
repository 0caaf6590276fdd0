"""Models and kernels of operators that plugins bring, from the hook to the commands and the check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import listed
from parts import part
from plugin_parts import plugin

from trnbench import ModelFile, StepKernel
from trnbench.errors import BadInput, UnknownName
from trnbench.registry import Registry, load_registry
from trnbench.testing.subject import Finding, Subject

workloads = part("trnbench_steps.checks.workloads").workloads
model_of = part("trnbench_steps.shipped_models").model_of

MODEL = """[source]
document = "notes"
version = "1"
locator = "page 1"
[config]
model_type = "llama"
hidden_size = 512
num_hidden_layers = 4
num_attention_heads = 8
num_key_value_heads = 4
intermediate_size = 1536
vocab_size = 32000
"""


def bringing(*values: Any) -> Any:
    return plugin(trnbench_workloads=lambda: values)


@pytest.fixture
def model(tmp_path: Path) -> ModelFile:
    path = tmp_path / "mine.toml"
    path.write_text(MODEL)
    return ModelFile(name="acme-small", path=path)


def test_a_model_of_a_plugin_is_found_by_its_name(model: ModelFile) -> None:
    registry = Registry.of(acme=bringing(model))
    found = model_of(registry, "acme-small")
    assert (found.name, found.layers, found.hidden) == ("acme-small", 4, 512)
    assert model_of(registry, "gpt2").layers == 12
    with pytest.raises(UnknownName) as error:
        model_of(registry, "acme-smal")
    assert "acme-small" in error.value.known


def test_a_model_that_is_described_here_keeps_its_name(model: ModelFile) -> None:
    registry = Registry.of(acme=bringing(ModelFile(name="gpt2", path=model.path)))
    assert model_of(registry, "gpt2").layers == 12


def test_what_is_no_workload_is_refused(model: ModelFile) -> None:
    registry = Registry.of(acme=bringing("llama"), other=bringing(model))
    assert list(registry.models) == ["acme-small"]
    (problem,) = registry.problems
    assert (
        problem.what == "plugin 'acme' of acme 0 yields from trnbench_workloads what it should not: 'llama'"
    )
    assert problem.cause == "trnbench_workloads takes a ModelFile or StepKernel, not str"


def test_a_key_that_is_missing_is_written_as_the_file_is(model: ModelFile) -> None:
    model.path.write_text(MODEL.replace("vocab_size = 32000", ""))
    with pytest.raises(BadInput) as error:
        model_of(Registry.of(acme=bringing(model)), "acme-small")
    assert error.value.try_ == "add it, as in vocab_size = 4096"


def test_commands_take_it(model: ModelFile) -> None:
    registry = load_registry()
    registry.models["acme-small"] = model
    assert listed("-q", "workload", "list", registry=registry)[-1]["model"] == "acme-small"
    assert listed("-q", "workload", "info", "acme-small", registry=registry)["name"] == "acme-small"


def checked(*values: Any) -> list[str]:
    registry = Registry.of(acme=bringing(*values))
    (loaded,) = registry.loaded
    return [
        f"{each.about}: {each.problem}"
        for each in workloads(Subject(registry, loaded, ()))
        if isinstance(each, Finding)
    ]


def test_the_check_reads_models_and_looks_for_kernels(tmp_path: Path, model: ModelFile) -> None:
    assert checked(model) == []
    bare = tmp_path / "bare.toml"
    bare.write_text(MODEL.partition("[config]")[2].join(("[config]", "")))
    missing = ModelFile(name="none", path=tmp_path / "none.toml")
    found = checked(
        ModelFile(name="bert-base", path=bare),
        missing,
        StepKernel(name="k", operator="attention", kernel="nowhere_at_all:flash"),
    )
    assert found[0] == "model bert-base: is called as one that trnbench describes, which stays"
    assert found[1] == "model bert-base: does not say where it is from"
    assert found[2].startswith(f"model none: there is no file {missing.path}")
    assert found[3].startswith("operator k: ")
