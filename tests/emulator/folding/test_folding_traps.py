"""Folding changes nothing: the program is that of all rounds executed, the schedule that of all instructions.

Kernels are drawn at random. Traps are loops that look alike from round to round, and are not.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from drawn_kernels import START, kernels, source
from folded import SPEC, TRN1, TRN2, TRN3, Both
from hypothesis import given
from hypothesis import strategies as st

from trnbench.errors import KernelError
from trnbench_emulator.core.builder import Builder
from trnbench_emulator.nki import Machine, load_kernel, record

LOOPS = tomllib.loads(Path(__file__).with_name("loops.toml").read_text())
TRAPS, ERRORS = LOOPS["traps"], LOOPS["errors"]


@given(body=kernels(), where=st.sampled_from([TRN1, TRN2, TRN3]))
def test_kernels_of_any_shape(both: Callable[..., Both], body: str, where: str) -> None:
    both(body, where).check()


@pytest.mark.parametrize("where", [TRN1, TRN2])
@pytest.mark.parametrize("name", TRAPS)
def test_traps(both: Callable[..., Both], name: str, where: str) -> None:
    both(START + TRAPS[name], where).check()


@pytest.mark.parametrize("name", TRAPS)
def test_traps_of_loops_over_pythons_range(both: Callable[..., Both], name: str) -> None:
    both(START + TRAPS[name].replace("nl.affine_range(", "range(")).check()


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_a_late_round_are_the_same(registry: Any, tmp_path: Path, name: str) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(source(START + ERRORS[name]))
    machine, said = Machine.of(registry.system(TRN2)), []
    for fold in (True, False):
        kernel, _, _ = load_kernel(f"{file}::kernel", nki="trnbench")
        with pytest.raises(KernelError) as caught:
            record(kernel, (SPEC,), machine=machine, sink=Builder(machine), fold=fold)
        said.append((caught.value.what, caught.value.cause))
    assert said[0] == said[1]


def test_a_limit_is_reached_at_the_same_instruction(registry: Any, tmp_path: Path) -> None:
    file = tmp_path / "long.py"
    file.write_text(
        source("a, b = tile(), tile()\nfor i in nl.affine_range(10**9):\n    nisa.tensor_copy(dst=a, src=b)")
    )
    machine, said = Machine.of(registry.system(TRN2)), []
    for fold in (True, False):
        kernel, _, _ = load_kernel(f"{file}::kernel", nki="trnbench")
        with pytest.raises(KernelError, match="issued more than 5,000 instructions") as caught:
            record(kernel, (SPEC,), machine=machine, sink=Builder(machine), limit=5000, fold=fold)
        said.append(caught.value.what)
    assert said[0] == said[1]
