"""What public kernels write and documents do not name: assignments, spreading, keywords; where it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trnbench.errors import KernelError
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel, record
from trnbench_emulator.nki.beta1.index import Mask, arange

GENERATOR = np.random.default_rng(3)
WIDE = GENERATOR.standard_normal((128, 64)).astype(np.float32)
COLUMN = GENERATOR.standard_normal((128, 1)).astype(np.float32)
ROW = GENERATOR.standard_normal((1, 128)).astype(np.float32)
ONE = np.full((1, 1), 2.5, np.float32)
OUT = "out = nl.ndarray({shape}, dtype=nl.float32, buffer=nl.shared_hbm)\nnl.store(out, {value})\nreturn out"


def test_assignments_to_parts_of_a_tile(snippets: Any) -> None:
    body = """
    x, column = args
    t = nl.ndarray((128, 4), dtype=nl.float32, buffer=nl.sbuf)
    t[:, 0:1] = nl.load(column)
    t[:, 1:3] = nl.load(x[:, 5:7])
    t[:, 3:4] = 1.5
    out = nl.ndarray((128, 4), dtype=nl.float32, buffer=nl.shared_hbm)
    out[0:64] = t[0:64]
    out[64:128, :] = t[64:128, :]
    return out
    """
    trace = snippets.run(body, WIDE, COLUMN, functional=True, keep=True)
    wanted = np.concatenate([COLUMN, WIDE[:, 5:7], np.full((128, 1), 1.5)], axis=1)
    np.testing.assert_array_equal(trace.outputs[0], wanted)
    opcodes = [instruction.op.opcode for instruction in trace.instructions]
    assert opcodes[1::2][:2] == ["tensor_copy", "tensor_copy"]
    assert (opcodes.count("memset"), len(opcodes)) == (1, 7)
    assert "dma" in opcodes[-1]


@pytest.mark.parametrize(
    ("first", "second"), [(COLUMN[:64], ONE), (ONE, COLUMN[:64]), (COLUMN, ROW), (ROW, COLUMN), (WIDE, ONE)]
)
@pytest.mark.parametrize("call", ["add", "subtract", "multiply"])
def test_one_partition_is_spread_over_many(snippets: Any, first: Any, second: Any, call: str) -> None:
    wanted = getattr(np, call)(first, second)
    body = f"t = nl.{call}(nl.load(args[0]), nl.load(args[1]))\n" + OUT.format(shape=wanted.shape, value="t")
    trace = snippets.run(body, first, second, functional=True)
    np.testing.assert_allclose(trace.outputs[0], wanted, rtol=1e-6)


def test_a_mask_or_a_truth_value() -> None:
    mask = arange(8) < 3
    assert isinstance(mask, Mask)
    assert (mask | True) is True is (True | mask)
    assert (mask | False) is mask is (False | mask)
    assert (mask | (arange(8) < 9)).conditions == ()
    with pytest.raises(KernelError, match="a mask is one condition or another"):
        mask | (arange(8) > 5)


def test_keywords_of_the_first_release(snippets: Any) -> None:
    body = """
    (x,) = args
    tile, out = sbuf.view(dtype=x.dtype, shape=x.shape), hbm.view(x.dtype, x.shape)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out
    """
    np.testing.assert_array_equal(snippets.run(body, WIDE, functional=True).outputs[0], WIDE)


def test_annotations_of_what_is_written(tmp_path: Path, v3: Machine) -> None:
    path = tmp_path / "written.py"
    path.write_text(
        "from neuronxcc import nki\nimport neuronxcc.nki.language as nl\n"
        "import neuronxcc.nki.typing as nt\n\n"
        "@nki.jit(experimental_flags='enable-mutable-parameter')\n"
        "def halved(x: nt.tensor[nt.mutable]):\n    nl.store(x, nl.load(x) * 0.5)\n    return x\n"
    )
    kernel, _, _ = load_kernel(f"{path}::halved", nki="trnbench")
    np.testing.assert_array_equal(record(kernel, (WIDE,), machine=v3, functional=True).outputs[0], WIDE / 2)


def test_a_range_picks_its_numbers(snippets: Any) -> None:
    body = "x, = args\nrows, columns = nl.affine_range(128), range(2, 10)\nt = nl.load(x[rows, columns])\n"
    trace = snippets.run(body + OUT.format(shape=(128, 8), value="t"), WIDE, functional=True)
    np.testing.assert_array_equal(trace.outputs[0], WIDE[:, 2:10])


def test_counters_are_turned() -> None:
    grid = arange(8)[:, None].T
    assert (grid.shape, grid.coefficients) == ((1, 8), (0, 1))


@pytest.mark.parametrize(("columns", "refused"), [(1, False), (2, True)])
def test_patterns_of_a_part_as_if_it_were_whole(snippets: Any, columns: int, refused: bool) -> None:
    """`TensorView` of nki-library counts the strides of a part from the part's own shape. A kernel that hands
    it one column of several reads neighbours: models/qwen3_6_moe/tests of KevGomes1403 differ by it with two
    cores, where the largest value of each core has a column."""
    body = f"""
    t = nl.load(args[0][:, 0:{columns}])
    spread = nl.ndarray((64, 128), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_transpose(spread, t[:, 0:1].ap(pattern=[[1, 128], [0, 64]]))
    copied = nl.ndarray((64, 128), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(copied, spread)
    out = nl.ndarray((64, 128), dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(out, copied)
    return out
    """
    if refused:
        words = "partition stride is 1, it must be equal to the storage's free-dim element count, which is 2"
        with pytest.raises(KernelError, match=words):
            snippets.run(body, WIDE, functional=True)
        return
    trace = snippets.run(body, WIDE, functional=True)
    np.testing.assert_array_equal(trace.outputs[0], np.broadcast_to(WIDE[:, 0], (64, 128)))


# Where a helper fails --------------------------------------------------------------------------------

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl
from tiles import halves, wrong


@nki.jit
def kernel(x):
    t = nl.load(x)
    {call}
"""
TILES = """
import nki.isa as nisa
import nki.language as nl


def halves(t):
    return nisa.tensor_copy(dst=t[:, 0:2], src=t[:, 0:4])


def wrong(t, sizes):
    return sizes[len(t.shape) + 7]
"""


@pytest.mark.parametrize(
    ("call", "place"),
    [
        ("halves(t)", "(tiles.py:7, called at kernel.py:11)"),
        ("wrong(t, [1, 2])", "(tiles.py:11, called at kernel.py:11)"),
        ("[halves(part) for part in [t]]", "(tiles.py:7, called at kernel.py:11)"),
        ("nisa.tensor_copy(dst=t, src=t[:, 0:4])", "(kernel.py:11)"),
        ("[][len(t.shape)]", "(kernel.py:11)"),
    ],
)
def test_a_fault_inside_a_helper_names_its_line_and_the_callers(
    call: str, place: str, tmp_path: Path, v3: Machine
) -> None:
    (tmp_path / "tiles.py").write_text(TILES)
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(call=call))
    kernel, _, _ = load_kernel(f"{path}::kernel", nki="trnbench")
    with pytest.raises(KernelError) as caught:
        record(kernel, (WIDE,), machine=v3)
    assert caught.value.what.endswith(place)


@pytest.mark.parametrize("call", ["halves(t)", "wrong(t, [1, 2])"])
def test_a_file_with_tracebackhide_gives_its_lines_to_the_callers(
    call: str, tmp_path: Path, v3: Machine
) -> None:
    (tmp_path / "tiles.py").write_text(TILES + "\n__tracebackhide__ = True\n")
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(call=call))
    kernel, _, _ = load_kernel(f"{path}::kernel", nki="trnbench")
    with pytest.raises(KernelError) as caught:
        record(kernel, (WIDE,), machine=v3)
    assert caught.value.what.endswith("(kernel.py:11)")


@pytest.mark.parametrize("name", ["rows::softmax", "gemm::gemm_blocked"])
def test_what_shipped_kernels_share_is_told_as_their_own_lines(name: str, v3: Machine) -> None:
    module, _, function = name.partition("::")
    kernel, _, _ = load_kernel(f"trnbench_kernels.nki.{module}:{function}", nki="trnbench")
    spec = TensorSpec((256, 256), "float32")
    trace = record(kernel, (spec,) * (2 if module == "gemm" else 1), machine=v3, keep=True)
    assert {Path(instruction.file).name for instruction in trace.instructions} == {f"{module}.py"}
    assert any(instruction.op.opcode == "dma_copy" for instruction in trace.instructions)
