"""Copies whose engine a kernel leaves open go to Vector or Scalar, by what these have to do."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from trnbench.registry import Registry
from trnbench_emulator.compiler import assumptions
from trnbench_emulator.core.recording import Launch, Recorder, Recording, record_launch
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel

TRN1, TRN2, TRN3 = "trn1.32xlarge", "trn2-16.48xlarge", "trn3-gen2-ultraserver"
KERNELS = (Path(__file__).parent / "kernels" / "copies.txt").read_text()


@pytest.fixture(scope="module")
def recorded(registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp("kernels") / "copies.py"
    file.write_text(KERNELS)

    def made(name: str, *rest: Any, where: str = TRN2, **options: Any) -> Recording:
        kernel, _, _ = load_kernel(f"{file}::{name}", nki="trnbench")
        launch = Launch(**options)
        chosen = kernel[launch.programs] if launch.programs > 1 else kernel
        arguments = (TensorSpec((128, 512), "float32"), *rest)
        return record_launch(chosen, arguments, Machine.of(registry.system(where)), launch)

    return made


def copies(recording: Recording) -> Counter[tuple[str, int]]:
    """How many copies of how many columns are on each engine."""
    return Counter(
        {
            (op.engine, op.variables["N"]): count
            for op, count in recording.tally.items()
            if op.opcode == "tensor_copy"
        }
    )


@pytest.mark.parametrize("where", [TRN2, TRN3])
def test_a_copy_goes_where_less_is_to_do(recorded: Any, where: str) -> None:
    busy = recorded("beside", "vector", where=where)
    assert copies(busy) == {("scalar", 512): 1}
    assert busy.programs[0].assumed == {"copy-balance": 1}
    idle = recorded("beside", "scalar", where=where)
    assert copies(idle) == {("vector", 512): 1}
    assert idle.programs[0].assumed == {}


def test_where_both_have_as_much_vector_copies(recorded: Any) -> None:
    assert copies(recorded("alone", 1)) == {("vector", 512): 1}
    assert copies(recorded("alone", 7)) == {("vector", 512): 7}  # equal ones stay together


def test_the_widest_copy_is_placed_first(recorded: Any) -> None:
    """512 columns to Vector; 256 to Scalar, and the two of 128 too, since they come to as much then."""
    assert copies(recorded("widths")) == {("vector", 512): 1, ("scalar", 256): 1, ("scalar", 128): 2}


def test_a_given_engine_stays(recorded: Any) -> None:
    assert copies(recorded("given", "vector")) == {("vector", 512): 1}
    assert copies(recorded("given", "gpsimd")) == {("gpsimd", 512): 1}


def test_scalar_of_the_first_generation_copies_nothing(recorded: Any) -> None:
    assert copies(recorded("beside", "vector", where=TRN1)) == {("vector", 512): 1}


def test_without_the_switch_vector_copies(recorded: Any) -> None:
    found = recorded("beside", "vector", assumptions=assumptions("no-copy-balance"))
    assert copies(found) == {("vector", 512): 1}
    assert found.programs[0].assumed == {}


def test_the_load_is_that_of_all_programs(recorded: Any) -> None:
    """The first program adds on Vector, the second does not: there is one text, and one choice."""
    found = recorded("split", programs=2)
    engines = {op.engine for program in found.programs for op in program.ops if op.opcode == "tensor_copy"}
    assert engines == {"scalar"}


def test_a_choice_is_not_that_of_another_size(registry: Registry, tmp_path: Path) -> None:
    """What is recorded once for several sizes is so only where nothing is left open."""
    file = tmp_path / "copies.py"
    file.write_text(KERNELS)
    kernel, _, _ = load_kernel(f"{file}::alone", nki="trnbench")
    recorder, machine = Recorder(), Machine.of(registry.system(TRN2))
    part = (TensorSpec((128, 512), "float32"), 200)
    first = recorder.of(kernel, part, machine, Launch(), ((part, 40),))
    other = recorder.of(kernel, (part[0], 201), machine, Launch(), ((part, 50),))
    assert first.open
    assert first.pieces
    assert first.programs[0] is not other.programs[0]
