"""Whose place in SBUF and PSUM a tile of Beta 1 takes, and that it waits until it is free."""

from __future__ import annotations

import textwrap
from functools import partial
from pathlib import Path

import pytest
from beta1_kernel import HEAD, Run

from trnbench.registry import load_registry
from trnbench_emulator.core.program import BUFFER, Dep, Program
from trnbench_emulator.core.recording import Launch, record_launch
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel
from trnbench_emulator.nki.beta1.residence import places
from trnbench_emulator.nki.instruction import Instruction
from trnbench_emulator.nki.memory import Buffer

KIB = 1024
ROUNDS = """
    @nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for n in nl.affine_range(x.shape[0]):
            nl.store(out[n], nl.exp(nl.load(x[n])))
        return out
"""
KEPT = """
    @nki.jit
    def kernel(x):
        out = nl.ndarray((4, 128, 8192), dtype=x.dtype, buffer=nl.shared_hbm)
        first = nl.load(x[0])
        second = nl.load(x[1])
        nl.store(out[0], second)
        nl.store(out[1], first)
        third = nl.load(x[2])
        fourth = nl.load(x[3])
        nl.store(out[2], third)
        nl.store(out[3], fourth)
        return out
"""
PRODUCTS = """
    @nki.jit
    def kernel(x):
        out = nl.ndarray((12, 128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
        tile = nl.load(x)
        for n in nl.affine_range(12):
            nl.store(out[n], nl.copy(nisa.nc_matmul(tile[:, 0:128], tile)))
        return out
"""


@pytest.fixture
def run(beta1: Run) -> Run:
    """Records a kernel given as text, with shapes only."""
    return partial(beta1, functional=False)


def spec(*shape: int) -> TensorSpec:
    return TensorSpec(shape, "float32")


def taken(instructions: tuple[Instruction, ...], sbuf: int) -> dict[int, list[int]]:
    """By the number of an instruction, which instructions began the tiles whose places it takes."""
    begun: dict[object, int] = {}
    for number, each in enumerate(instructions):
        for view in each.writes:
            begun.setdefault(view.storage.life, number)
    found = places(instructions, {Buffer.SBUF: sbuf, Buffer.PSUM: 16 * KIB})
    return {number: [begun[life] for _, gone in each for life in gone] for number, each in found.items()}


def test_what_fits_takes_no_place(run: Run) -> None:
    assert taken(run(ROUNDS, spec(3, 128, 8192)).instructions, 192 * KIB) == {}


def test_the_place_that_is_free_for_longest_is_taken_first(run: Run) -> None:
    """Two tiles fit; the second is used last before the first is."""
    assert taken(run(KEPT, spec(4, 128, 8192)).instructions, 64 * KIB) == {4: [1], 5: [0]}


def test_what_is_in_use_gives_no_place(run: Run) -> None:
    """One fits: the second does not wait for the first, which is used after it."""
    assert taken(run(KEPT, spec(4, 128, 8192)).instructions, 32 * KIB) == {4: [1, 0]}


def program(tmp_path: Path, text: str, *shape: int) -> Program:
    file = tmp_path / "kernel.py"
    file.write_text(HEAD + textwrap.dedent(text))
    kernel, _, _ = load_kernel(f"{file}::kernel", nki="trnbench")
    machine = Machine.of(load_registry().system("trn1.2xlarge"))
    return record_launch(kernel, (spec(*shape),), machine, Launch()).programs[0]


def waits(found: Program) -> dict[int, set[int]]:
    """Which instructions wait for a place, and for whom."""
    by_number: dict[int, set[int]] = {}
    for number, packed in zip(found.waiters, found.deps, strict=True):
        dep = Dep.of(packed)
        if dep.kind == BUFFER:
            by_number.setdefault(number, set()).add(dep.source)
    return by_number


def test_a_load_waits_for_those_who_use_the_place_that_it_takes(tmp_path: Path) -> None:
    """Six tiles of 32 KiB fit in SBUF, two a round: the fourth load waits for the first exponential."""
    assert waits(program(tmp_path, ROUNDS, 3, 128, 8192)) == {}
    found = waits(program(tmp_path, ROUNDS, 4, 128, 8192))
    assert found[9] == {0, 1}  # who brought it, and who read it


def test_a_product_waits_for_a_bank(tmp_path: Path) -> None:
    """Eight tiles of 2 KiB fit in PSUM: the ninth product waits until the first was copied."""
    found = program(tmp_path, PRODUCTS, 128, 512)
    products = [n for n, op in enumerate(found.op) if found.ops[op].opcode == "nc_matmul"]
    assert sorted(waits(found)) == products[8:]
