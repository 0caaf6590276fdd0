"""With the engine left open, the first that can do it: Vector, then Scalar, then GpSimd."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trnbench.registry import load_registry
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel, record
from trnbench_emulator.nki.instruction import Listing

TRN1, TRN2 = "trn1.32xlarge", "trn2-16.48xlarge"
KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def kernel(x):
    def tile(rows=128, width=64, dtype=nl.float32, buffer=nl.sbuf):
        return nl.ndarray((rows, width), dtype=dtype, buffer=buffer)
    {call}
    return x
"""


def engine_of(folder: Path, call: str, where: str = TRN2) -> str:
    file = folder / "kernel.py"
    file.write_text(KERNEL.format(call=call))
    kernel, _, _ = load_kernel(f"{file}::kernel", nki="trnbench")
    sink: Any = Listing()
    record(
        kernel, (TensorSpec((128, 64), "fp32"),), machine=Machine.of(load_registry().system(where)), sink=sink
    )
    return str(sink.instructions[-1].op.engine)


@pytest.mark.parametrize(
    ("call", "engine"),
    [
        ("nisa.tensor_copy(tile(), tile())", "vector"),
        ("nisa.tensor_copy(tile(), tile(buffer=nl.psum))", "vector"),
        ("nisa.tensor_scalar(tile(), tile(), nl.add, 1.0)", "vector"),
        ("nisa.memset(tile(), 0.0)", "vector"),
        ("nisa.tensor_tensor(tile(), tile(), tile(), nl.add)", "vector"),
        ("nisa.tensor_tensor(tile(), tile(), tile(), nl.power)", "gpsimd"),
        ("i = nl.int32; nisa.tensor_tensor(tile(dtype=i), tile(dtype=i), tile(dtype=i), nl.add)", "gpsimd"),
        ("nisa.nc_transpose(tile(32, 32), tile(32, 32))", "vector"),
        ("nisa.nc_transpose(tile(64, 128, buffer=nl.psum), tile())", "tensor"),
        # One that is named is taken, however busy.
        ("nisa.tensor_copy(tile(), tile(), engine=nisa.engine.gpsimd)", "gpsimd"),
        ("nisa.tensor_copy(tile(), tile(), engine=nisa.engine.scalar)", "scalar"),
    ],
)
def test_the_first_that_can(tmp_path: Path, call: str, engine: str) -> None:
    assert engine_of(tmp_path, call) == engine


def test_the_load_of_engines_is_not_looked_at(tmp_path: Path) -> None:
    busy = "for i in range(50): nisa.tensor_copy(tile(), tile(), engine=nisa.engine.vector)\n    "
    assert engine_of(tmp_path, busy + "nisa.tensor_copy(tile(), tile())") == "vector"
    assert engine_of(tmp_path, busy + "nisa.tensor_copy(tile(), tile())", TRN1) == "vector"
