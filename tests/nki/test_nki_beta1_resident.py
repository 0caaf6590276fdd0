"""What the compiler of Beta 1 leaves out and adds: repeated loads, what loops repeat, what does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
from beta1_kernel import Run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trnbench_emulator.nki import TensorSpec, Trace
from trnbench_emulator.nki.instruction import Instruction
from trnbench_emulator.nki.memory import Buffer, Storage

KIB = 1024


@pytest.fixture
def run(beta1: Run) -> Run:
    """Records a kernel given as text, with shapes only."""
    return partial(beta1, functional=False)


def spec(*shape: int) -> TensorSpec:
    return TensorSpec(shape, "float32")


def count(trace: Trace, opcode: str) -> int:
    return sum(each.op.opcode == opcode for each in trace.instructions)


def loads(trace: Trace) -> int:
    return sum(each.op.opcode == "dma_copy" and each.writes[0].form.on_chip for each in trace.instructions)


PRODUCT = """
    @nki.jit
    def kernel(x, w):
        out = nl.ndarray((512, 2048), dtype=x.dtype, buffer=nl.shared_hbm)
        for m in nl.affine_range(4):
            for n in nl.affine_range(4):
                acc = nl.zeros((128, 512), nl.float32, buffer=nl.psum)
                for k in nl.affine_range(2):
                    left = nl.load(x[k * 128:(k + 1) * 128, m * 128:(m + 1) * 128])
                    right = nl.load(w[k * 128:(k + 1) * 128, n * 512:(n + 1) * 512])
                    acc += nl.matmul(left, right, transpose_x=True)
                nl.store(out[m * 128:(m + 1) * 128, n * 512:(n + 1) * 512], nl.copy(acc))
        return out
"""


def test_what_was_loaded_is_not_loaded_again(run: Run) -> None:
    found = run(PRODUCT, spec(256, 512), spec(256, 2048))
    assert loads(found) == 2 * 4 + 2 * 4  # each operand once
    assert count(found, "nc_matmul") == 4 * 4 * 2


def test_what_was_written_in_between_is_loaded_again(run: Run) -> None:
    found = run(
        """
        @nki.jit
        def kernel(x):
            out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
            for turn in nl.affine_range(3):
                tile = nl.load(x)
                nl.store(out, tile)
                nl.store(x, nl.load(out))
            return out
        """,
        spec(128, 64),
    )
    assert loads(found) == 6


def test_what_does_not_fit_is_loaded_again(run: Run) -> None:
    body = """
    @nki.jit
    def kernel(x):
        out = nl.ndarray((128, 8192), dtype=x.dtype, buffer=nl.shared_hbm)
        for turn in nl.affine_range(3):
            for n in nl.affine_range(8):
                nl.store(out, nl.load(x[0:128, n * 8192:(n + 1) * 8192]))
        return out
    """
    # Tiles of 32 KiB in 224 KiB: of eight the oldest is always gone, until the last turn needs none again.
    assert loads(run(body, spec(128, 8192 * 8))) == 8 + 8 + 2
    less = body.replace("affine_range(8)", "affine_range(7)")
    assert loads(run(less, spec(128, 8192 * 7))) == 7


def test_what_does_not_depend_on_a_loop_is_done_once(run: Run) -> None:
    body = """
    @nki.jit
    def kernel(x, y):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        a, b = nl.load(x), nl.load(y)
        total = nl.zeros((128, 64), dtype=x.dtype)
        for turn in nl.affine_range(5):
            product = nisa.tensor_tensor(a, b, nl.multiply)
            total += product
        nl.store(out, total)
        return out
    """
    assert count(run(body, spec(128, 64), spec(128, 64)), "tensor_tensor") == 1 + 5
    changing = body.replace("total += product", "total += product\n            a[...] = nl.copy(total)")
    assert count(run(changing, spec(128, 64), spec(128, 64)), "tensor_tensor") == 5 + 5


INNER = """
    @nki.jit
    def kernel(x, y):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        total = nl.zeros((128, 64), dtype=x.dtype)
        for turn in nl.affine_range(5):
            for part in nl.INNER(3):
                a, b = nl.load(x[part]), nl.load(y[part])
                total += nisa.tensor_tensor(a, b, nl.multiply)
        nl.store(out, total)
        return out
"""


@pytest.mark.parametrize(("loop", "products"), [("affine_range", 5 * 3), ("static_range", 3)])
def test_the_innermost_loop_counts_unless_it_is_unrolled(run: Run, loop: str, products: int) -> None:
    found = run(INNER.replace("INNER", loop), spec(3, 128, 64), spec(3, 128, 64))
    assert loads(found) == 6
    assert count(found, "tensor_tensor") == products + 5 * 3


def test_a_row_of_one_bank_is_read_in_psum(run: Run) -> None:
    body = """
    @nki.jit
    def kernel(x, row):
        out = nl.ndarray((128, COLUMNS), dtype=x.dtype, buffer=nl.shared_hbm)
        wide = nl.load(row).broadcast_to((128, COLUMNS))
        nl.store(out, nisa.tensor_tensor(nl.load(x), wide, nl.multiply))
        return out
    """
    values = np.random.default_rng(3)
    for columns, copies in ((512, 0), (1024, 2)):
        x = values.standard_normal((128, columns)).astype(np.float32)
        row = values.standard_normal((1, columns)).astype(np.float32)
        found = run(body.replace("COLUMNS", str(columns)), x, row, functional=True)
        assert count(found, "activation") == copies
        product = next(each for each in found.instructions if each.op.opcode == "tensor_tensor")
        assert product.op.variables["psum_inputs"] == (0 if copies else 1)
        np.testing.assert_allclose(found.outputs[0], x * row, rtol=1e-6)


def test_what_is_kept_until_the_kernel_ends_takes_no_room(run: Run) -> None:
    found = run(
        """
        @nki.jit
        def kernel(row):
            out = nl.ndarray((4, 128, 2048), dtype=row.dtype, buffer=nl.shared_hbm)
            for n in nl.affine_range(4):
                nl.store(out[n], nl.load(row[n:n + 1, 0:2048]).broadcast_to((128, 2048)))
            return out
        """,
        spec(4, 2048),
    )
    assert count(found, "nc_matmul") == 16
    assert found.psum_peak_bytes == 2 * KIB  # of one product, not of all


SPILLED = """
    @nki.jit
    def kernel(x, order):
        out = nl.ndarray((len(order), 128, 8192), dtype=x.dtype, buffer=nl.shared_hbm)
        tiles = [nl.exp(nl.load(x[n])) for n in nl.affine_range(x.shape[0])]
        for at, n in enumerate(order):
            nl.store(out[at], tiles[n])
        return out
"""


def test_tiles_that_do_not_fit_go_to_memory_and_come_back_once(run: Run) -> None:
    """Eight computed tiles where seven fit, six beside the one that is loaded."""
    found = run(SPILLED, spec(8, 128, 8192), tuple(range(8)))
    spilled = [each for each in found.instructions if each.writes[0].form.buffer is Buffer.PRIVATE_HBM]
    back = [each for each in found.instructions if each.reads[:1] and _from_spill(each)]
    assert 1 <= len(spilled) == len(back) <= 2
    assert {each.line for each in spilled} <= {
        each.line for each in found.instructions if each not in spilled
    }


def _from_spill(each: Instruction) -> bool:
    return each.reads[0].form.buffer is Buffer.PRIVATE_HBM


@given(tiles=st.integers(1, 12), order=st.lists(st.integers(0, 11), min_size=1, max_size=20))
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_tile_is_there_when_it_is_read_and_all_of_them_fit(
    run: Run, tiles: int, order: list[int]
) -> None:
    found = run(SPILLED, spec(tiles, 128, 8192), tuple(each % tiles for each in order))
    instructions = found.instructions
    written: set[Storage] = set()
    for each in instructions:
        for view in each.reads:
            if view.storage.form.buffer is Buffer.SBUF:
                assert view.storage in written
        written |= {view.storage for view in each.writes}
    assert _most(instructions) <= 224 * KIB
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
