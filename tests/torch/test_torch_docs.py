"""docs/torch.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import trnbench
from trnbench.cli.doctor import _backend
from trnbench.cli.main import cli
from trnbench.registry import Registry
from trnbench_cuda.unverified import UNVERIFIED as ON_CUDA
from trnbench_torch import library
from trnbench_torch.neuron import UNVERIFIED as ON_NEURON
from trnbench_torch.plugin import DISTRIBUTED, SOURCES


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "torch.md").read_text()


def test_every_kernel_is_named(page: str) -> None:
    shown = page.partition("There is one implementation")[2].partition("They take the same axes")[0]
    assert set(re.findall(r"`(\w+)`", shown)) == {*SOURCES, *DISTRIBUTED}


def test_every_system_is_named(page: str) -> None:
    registry = trnbench.load_registry()
    row = next(line for line in page.splitlines() if line.startswith("| system |"))
    ours = {name for each in ("hopper", "cuda", "host") for name in _names(registry, each)}
    assert set(re.findall(r"`([\w-]+)`", row)) - {"neuron-ls"} == ours


def _names(registry: Registry, generation: str) -> set[str]:
    return {instance.name for instance in registry.generations[generation].instances}


def test_every_trap_has_a_test_that_exists(page: str, root: Path) -> None:
    rows = [line for line in page.splitlines() if "::test_" in line]
    assert len(rows) == 11
    for path, test in re.findall(r"`([./\w]+\.py)::(\w+)`", "\n".join(rows)):
        assert f"def {test}(" in (root / "tests" / "cuda" / path).read_text(), (path, test)


def test_the_commands_it_shows_are_understood(page: str) -> None:
    shown = re.findall(r"^    trnbench (.*?)(?:  +#.*)?$", page, flags=re.MULTILINE)
    assert len(shown) >= 6
    for line in shown:
        words = line.split()
        told = CliRunner().invoke(cli, [words[0], "--help"])
        assert told.exit_code == 0
        for option in (word for word in words if word.startswith("--")):
            assert option in told.output


def test_what_to_install_and_how_much_it_is_are_the_same_everywhere(page: str, root: Path) -> None:
    assert library.INSTALL in page
    assert library.SIZE in page
    assert library.SIZE in (root / "pyproject.toml").read_text()


def test_doctor_prints_what_was_never_tried() -> None:
    backends = trnbench.load_registry().backends
    for name, unverified in (("cuda", ON_CUDA), ("torch-neuron", ON_NEURON)):
        rows = list(_backend(backends[name]))
        assert [row["found"] for row in rows if row["state"] == "unverified"] == list(unverified)
