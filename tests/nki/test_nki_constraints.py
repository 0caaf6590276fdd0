"""Every broken rule names call, rule, limit, generation, file and line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from messages import messages

from trnbench.errors import KernelError
from trnbench_emulator.nki import Machine, TensorSpec

ALLOCATED = """
s = nl.ndarray((128, 256), dtype=nl.bfloat16)
m = nl.ndarray((128, 1024), dtype=nl.bfloat16)
f = nl.ndarray((128, 512), dtype=nl.float32)
i = nl.ndarray((128, 512), dtype=nl.int32)
e = nl.ndarray((128, 2, 512), dtype=nl.float8_e4m3)
p = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
q = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
h = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.hbm)
a, b = s[:, 0:128], m[:, 0:512]
"""


HERE = Path(__file__).parent


@pytest.mark.parametrize(("line", "message", "_"), messages(HERE / "allocations_and_names.txt"))
def test_allocations_and_names(snippets: Any, line: str, message: str, _: int) -> None:
    with pytest.raises(KernelError) as caught:
        snippets.run(line)
    assert str(caught.value) == message


@pytest.mark.parametrize(("line", "message", "_"), messages(HERE / "illegal_instructions.txt"))
@pytest.mark.parametrize("functional", [False, True])
def test_instructions(snippets: Any, line: str, message: str, _: int, functional: bool) -> None:
    with pytest.raises(KernelError) as caught:
        snippets.run(ALLOCATED + line, functional=functional)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        (
            "nisa.activation_reduce(f, nl.square, f, nl.add, f[:, 0:1])",
            "nisa.activation_reduce(f, nl.square, f, nl.maximum, f[:, 0:1])",
            "Scalar adds",
        ),
        (
            "nisa.range_select(f, f, nl.greater_equal, nl.less, f[:, 0:1], f[:, 1:2])",
            "nisa.range_select(f, f, nl.greater_equal, nl.less, f[:, 0:1], f[:, 1:2], on_false_value=0.0)",
            "on_false_value is 0.0",
        ),
        (
            "nisa.dma_compute(f, [f, f], nl.add)",
            "nisa.dma_compute(f, [f, f], nl.add, scales=[1.0, 2.0])",
            "scales are [1.0, 2.0]",
        ),
    ],
)
def test_a_wrong_option_is_found_after_a_right_one(
    snippets: Any, right: str, wrong: str, says: str, v3: Machine
) -> None:
    snippets.run(f"{ALLOCATED}{right}", machine=v3)
    with pytest.raises(KernelError) as caught:
        snippets.run(f"{ALLOCATED}{right}\n{wrong}", machine=v3)
    assert says in caught.value.what


def test_generations_differ(snippets: Any, v2: Machine, v3: Machine) -> None:
    body = "t = nl.ndarray((4, 4), dtype=nl.float32)\nnisa.tensor_copy(t, t, engine=nisa.engine.scalar)"
    snippets.run(body, machine=v3)
    with pytest.raises(KernelError) as caught:
        snippets.run(body, machine=v2)
    assert caught.value.what == (
        "tensor_copy on trn1: engine scalar copies from NeuronCore-v3 on (snippet.py:7)"
    )


FP8 = """
fn = nl.ndarray((128, 2, 128), dtype=nl.float8_e4m3fn)
e5 = nl.ndarray((128, 2, 128), dtype=nl.float8_e5m2)
sums, double = p[:, 0:256], dict(perf_mode=nisa.matmul_perf_mode.double_row)
"""


PRODUCT = """
wide = nl.ndarray((128, {0}), dtype=nl.bfloat16)
nisa.nc_matmul(nl.ndarray((128, {0}), dtype=nl.{1}, buffer=nl.psum), a, wide)
"""


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nisa.nc_matmul(sums, fn[:, 0], fn)", "stationary has dtype float8_e4m3fn"),
        ("nisa.nc_matmul(sums, a, fn)", "moving has dtype float8_e4m3fn"),
        ("nisa.nc_matmul(p[:, 0:128], fn, e5, **double)", "stationary has dtype float8_e4m3fn"),
        ("nisa.dma_copy(b, h, priority=1)", "priority is 1"),
        (PRODUCT.format(4096, "float32"), "moving free size is 4096, the limit is 512"),
        (PRODUCT.format(8192, "bfloat16"), "moving free size is 8192, the limit is 512"),
    ],
)
def test_what_starts_with_version_4(
    snippets: Any, line: str, says: str, v2: Machine, v3: Machine, v4: Machine
) -> None:
    snippets.run(ALLOCATED + FP8 + line, machine=v4)
    for machine in (v2, v3):
        with pytest.raises(KernelError) as caught:
            snippets.run(ALLOCATED + FP8 + line, machine=machine)
        assert says in caught.value.what


@pytest.mark.parametrize("line", ["nisa.nc_matmul(p, fn[:, 0], e)", "nisa.nc_matmul(p, e, fn, **double)"])
def test_the_two_forms_of_e4m3_do_not_mix(snippets: Any, line: str, v4: Machine) -> None:
    with pytest.raises(KernelError) as caught:
        snippets.run(ALLOCATED + FP8 + line, machine=v4)
    assert "the two forms of e4m3 do not mix" in caught.value.what


def test_a_tile_is_held_to_its_last_use_only(snippets: Any) -> None:
    """The names of the round before still refer to eight tiles while the next eight are made."""
    body = """
    for n in nl.affine_range(3):
        kept = [nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum) for _ in range(8)]
        for each in kept:
            nisa.memset(each, 1)
    """
    assert snippets.run(body).psum_peak_bytes == 16 << 10


def test_device_memory_is_bounded(snippets: Any) -> None:
    huge = TensorSpec((1 << 20, 1 << 15), "fp32")
    with pytest.raises(KernelError) as caught:
        snippets.run("return args[0]", huge)
    assert caught.value.what.startswith(
        "ndarray: 137,438,953,472 bytes of HBM in all exceed the 103,079,215,104 of one trn2 device"
    )


@pytest.mark.parametrize("functional", [False, True])
def test_outputs_are_tensors_in_hbm(snippets: Any, functional: bool) -> None:
    with pytest.raises(KernelError) as caught:
        snippets.run("return nl.ndarray((4, 4), dtype=nl.int8)", functional=functional)
    assert (
        caught.value.what == "kernel 'kernel' returns NkiTensor(int8[4, 4]@sbuf), outputs are tensors in HBM"
    )


def test_shapes_have_no_values(snippets: Any) -> None:
    with pytest.raises(KernelError) as caught:
        snippets.run("pass", TensorSpec((4, 4), "fp32"), functional=True)
    assert caught.value.what.endswith("has a shape but no values")
    assert snippets.run("pass", np.ones((4, 4), np.float32)).count == 0


# With the engine left open, the first that can do it: Vector, then Scalar, then GpSimd ---------------

TILE = """
def tile(rows=128, width=64, dtype=nl.float32, buffer=nl.sbuf):
    return nl.ndarray((rows, width), dtype=dtype, buffer=buffer)
"""


def engine_of(snippets: Any, call: str, machine: Machine) -> str:
    return str(snippets.run(call, head=TILE, machine=machine, keep=True).instructions[-1].op.engine)


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
def test_the_first_that_can(snippets: Any, v3: Machine, call: str, engine: str) -> None:
    assert engine_of(snippets, call, v3) == engine


def test_the_load_of_engines_is_not_looked_at(snippets: Any, v2: Machine, v3: Machine) -> None:
    busy = "for i in range(50): nisa.tensor_copy(tile(), tile(), engine=nisa.engine.vector)\n"
    for machine in (v2, v3):
        assert engine_of(snippets, busy + "nisa.tensor_copy(tile(), tile())", machine) == "vector"
