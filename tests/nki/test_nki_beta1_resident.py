"""What the compiler of Beta 1 leaves out and adds: repeated loads, what loops repeat, what does not fit."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beta1_kernel import Run, loads, source, spec
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench.registry import load_registry
from trnbench_emulator.core.program import BUFFER, Dep, Program
from trnbench_emulator.core.recording import Launch, record_launch
from trnbench_emulator.nki import Machine, Trace, load_kernel
from trnbench_emulator.nki.beta1.residence import Memory, places
from trnbench_emulator.nki.instruction import Instruction
from trnbench_emulator.nki.memory import Buffer, Storage

KIB = 1024
KERNELS = tomllib.loads(Path(__file__).with_name("assumed_kernels.toml").read_text(encoding="utf-8"))


def count(trace: Trace, opcode: str) -> int:
    return sum(each.op.opcode == opcode for each in trace.instructions)


def test_what_was_written_in_between_is_loaded_again(beta1_shapes: Run) -> None:
    found = beta1_shapes(
        """
        def kernel(x) -> (128, 64):
            for turn in nl.affine_range(3):
                tile = nl.load(x)
                nl.store(out, tile)
                nl.store(x, nl.load(out))
        """,
        spec(128, 64),
    )
    assert loads(found) == 6


@pytest.mark.parametrize(("loop", "products"), [("affine_range", 5 * 3), ("static_range", 3)])
def test_the_innermost_loop_counts_unless_it_is_unrolled(beta1_shapes: Run, loop: str, products: int) -> None:
    found = beta1_shapes(KERNELS["inner"].replace("INNER", loop), spec(3, 128, 64), spec(3, 128, 64))
    assert loads(found) == 6
    assert count(found, "tensor_tensor") == products + 5 * 3


def test_a_row_of_one_bank_is_read_in_psum(beta1_shapes: Run) -> None:
    body = """
    def kernel(x, row) -> (128, COLUMNS):
        wide = nl.load(row).broadcast_to((128, COLUMNS))
        nl.store(out, nisa.tensor_tensor(nl.load(x), wide, nl.multiply))
    """
    values = np.random.default_rng(3)
    for columns, copies in ((512, 0), (1024, 2)):
        x = values.standard_normal((128, columns)).astype(np.float32)
        row = values.standard_normal((1, columns)).astype(np.float32)
        found = beta1_shapes(body.replace("COLUMNS", str(columns)), x, row, functional=True)
        assert count(found, "activation") == copies
        product = next(each for each in found.instructions if each.op.opcode == "tensor_tensor")
        assert product.op.variables["psum_inputs"] == (0 if copies else 1)
        np.testing.assert_allclose(found.outputs[0], x * row, rtol=1e-6)


def test_what_is_kept_until_the_kernel_ends_takes_no_room(beta1_shapes: Run) -> None:
    found = beta1_shapes(
        """
        def kernel(row) -> (4, 128, 2048):
            for n in nl.affine_range(4):
                nl.store(out[n], nl.load(row[n:n + 1, 0:2048]).broadcast_to((128, 2048)))
        """,
        spec(4, 2048),
    )
    assert count(found, "nc_matmul") == 16
    assert found.psum_peak_bytes == 2 * KIB  # of one product, not of all


def test_tiles_that_do_not_fit_go_to_memory_and_come_back_once(beta1_shapes: Run) -> None:
    """Eight computed tiles where seven fit, six beside the one that is loaded."""
    found = beta1_shapes(KERNELS["spilled"], spec(8, 128, 8192), tuple(range(8)))
    spilled = [each for each in found.instructions if each.writes[0].form.buffer is Buffer.PRIVATE_HBM]
    back = [each for each in found.instructions if each.reads[:1] and _from_spill(each)]
    assert 1 <= len(spilled) == len(back) <= 2
    assert {each.line for each in spilled} <= {
        each.line for each in found.instructions if each not in spilled
    }


def _from_spill(each: Instruction) -> bool:
    return each.reads[0].form.buffer is Buffer.PRIVATE_HBM


@given(tiles=st.integers(1, 12), order=st.lists(st.integers(0, 11), min_size=1, max_size=20))
@settings(max_examples=40)
def test_every_tile_is_there_when_it_is_read_and_all_of_them_fit(
    beta1_shapes: Run, tiles: int, order: Any
) -> None:
    found = beta1_shapes(KERNELS["spilled"], spec(tiles, 128, 8192), tuple(each % tiles for each in order))
    instructions = found.instructions
    written: set[Storage] = set()
    for each in instructions:
        for view in each.reads:
            if view.storage.form.buffer is Buffer.SBUF:
                assert view.storage in written
        written |= {view.storage for view in each.writes}
    assert _most(instructions) == found.sbuf_peak_bytes <= 224 * KIB
    stores = [each for each in instructions if each.writes[0].form.buffer is Buffer.SHARED_HBM]
    assert len(stores) == len(order)


def _most(instructions: Sequence[Instruction]) -> int:
    """Bytes per partition of SBUF, each place from its first use to its last."""
    first: dict[Storage, int] = {}
    last: dict[Storage, int] = {}
    for number, each in enumerate(instructions):
        for view in (*each.reads, *each.writes):
            if view.storage.form.buffer is Buffer.SBUF:
                first.setdefault(view.storage, number)
                last[view.storage] = number
    size = {storage: storage.form.free * storage.form.dtype.size for storage in first}
    return max(
        sum(size[each] for each in first if first[each] <= number <= last[each])
        for number in range(len(instructions))
    )


# Whose place in SBUF and PSUM a tile of Beta 1 takes, and that it waits until it is free -------------


def taken(instructions: tuple[Instruction, ...], sbuf: int) -> dict[int, list[int]]:
    """By the number of an instruction, which instructions began the tiles whose places it takes."""
    begun: dict[object, int] = {}
    for number, each in enumerate(instructions):
        for view in each.writes:
            begun.setdefault(view.storage.life, number)
    found = places(instructions, {Buffer.SBUF: Memory(sbuf), Buffer.PSUM: Memory(16 * KIB)})
    return {number: [begun[life] for _, gone in each for life in gone] for number, each in found.items()}


def test_what_fits_takes_no_place(beta1_shapes: Run) -> None:
    assert taken(beta1_shapes(KERNELS["rounds"], spec(3, 128, 8192)).instructions, 192 * KIB) == {}


def test_the_place_that_is_free_for_longest_is_taken_first(beta1_shapes: Run) -> None:
    """Two tiles fit; the second is used last before the first is."""
    assert taken(beta1_shapes(KERNELS["kept"], spec(4, 128, 8192)).instructions, 64 * KIB) == {4: [1], 5: [0]}


def test_what_is_in_use_gives_no_place(beta1_shapes: Run) -> None:
    """One fits: the second does not wait for the first, which is used after it."""
    assert taken(beta1_shapes(KERNELS["kept"], spec(4, 128, 8192)).instructions, 32 * KIB) == {4: [1, 0]}


def program(tmp_path: Path, text: str, *shape: int) -> Program:
    file = tmp_path / "kernel.py"
    file.write_text(source(text))
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
    assert waits(program(tmp_path, KERNELS["rounds"], 3, 128, 8192)) == {}
    found = waits(program(tmp_path, KERNELS["rounds"], 4, 128, 8192))
    assert found[9] == {0, 1}  # who brought it, and who read it


def test_a_product_waits_for_a_bank(tmp_path: Path) -> None:
    """Eight tiles of 2 KiB fit in PSUM: the ninth product waits until the first was copied."""
    found = program(tmp_path, KERNELS["products"], 128, 512)
    products = [n for n, op in enumerate(found.op) if found.ops[op].opcode == "nc_matmul"]
    assert sorted(waits(found)) == products[8:]
