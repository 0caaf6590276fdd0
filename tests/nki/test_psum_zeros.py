"""Zeros in PSUM that a product comes upon first: it overwrites them, so nobody has to write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trnbench.registry import load_registry
from trnbench_emulator.nki import Machine, Trace, load_kernel, record

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    a = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=x)
    out = nl.ndarray((128, 256), dtype=nl.float32, buffer=nl.shared_hbm)
    result = nl.ndarray((128, 256), dtype=nl.float32, buffer=nl.sbuf)
    for _ in range(2):
        t = nl.ndarray((128, 256), dtype=nl.float32, buffer=nl.psum)
{body}
        nisa.tensor_copy(dst=result, src=t)
    nisa.dma_copy(dst=out, src=result)
    return out
"""
ZEROS = "nisa.memset(dst=t, value=0.0)"
PRODUCTS = "[nisa.nc_matmul(dst=t[:, at : at + 128], stationary=a, moving=a) for at in (0, 128, 0)]"


def run(folder: Path, *lines: str, functional: bool = True) -> Trace:
    file = folder / "kernel.py"
    file.write_text(KERNEL.format(body="\n".join(f"        {line}" for line in lines)))
    kernel, _, _ = load_kernel(f"{file}::kernel", nki="trnbench")
    x = np.eye(128, dtype=np.float32)
    return record(
        kernel,
        (x,),
        machine=Machine.of(load_registry().system("trn2-16.48xlarge")),
        functional=functional,
        keep=True,
    )


def opcodes(trace: Trace) -> list[str]:
    return [each.op.opcode for each in trace.instructions if each.op.engine != "dma"]


@pytest.mark.parametrize("functional", [True, False])
def test_a_product_that_comes_first_overwrites(tmp_path: Path, functional: bool) -> None:
    found = run(tmp_path, ZEROS, PRODUCTS, functional=functional)
    assert opcodes(found) == [*["nc_matmul"] * 3, "tensor_copy"] * 2
    assert found.count == len(found.instructions)
    if functional:
        np.testing.assert_array_equal(found.outputs[0][:, :128], 2 * np.eye(128))
        np.testing.assert_array_equal(found.outputs[0][:, 128:], np.eye(128))


@pytest.mark.parametrize(
    "lines",
    [
        (ZEROS,),
        (ZEROS, "nisa.nc_matmul(dst=t[:, 0:128], stationary=a, moving=a, accumulate=True)"),
        ("nisa.memset(dst=t, value=1.0)", PRODUCTS),
        (ZEROS, "nisa.activation(dst=t[:, 0:128], op=nl.exp, data=a)"),
    ],
)
def test_zeros_that_somebody_finds_are_written_before(tmp_path: Path, lines: tuple[str, ...]) -> None:
    found = run(tmp_path, *lines)
    assert opcodes(found).count("memset") == 2
    assert opcodes(found)[0] == "memset"
    first = next(each for each in found.instructions if each.op.opcode == "memset")
    assert first.line == 1 + KERNEL.split("{body}")[0].count("\n")


def test_what_no_product_reaches_is_written(tmp_path: Path) -> None:
    parts = ("nisa.memset(dst=t[:, 0:128], value=0.0)", "nisa.memset(dst=t[:, 128:256], value=0.0)")
    found = run(tmp_path, *parts, "nisa.nc_matmul(dst=t[:, 0:128], stationary=a, moving=a)")
    assert opcodes(found) == ["nc_matmul", "memset", "tensor_copy"] * 2
    np.testing.assert_array_equal(found.outputs[0][:, 128:], 0)
