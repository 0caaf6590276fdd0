"""Every kernel in torch on this processor: right, checked by something else than torch, awaited."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench import load_registry, resolve
from trnbench_torch import SOURCES
from trnbench_torch.device import Launches

pytestmark = pytest.mark.torch

GEMM = {"size": 64}
POINTS: list[tuple[str, dict[str, Any]]] = [
    *(("gemm", {"dtype": dtype, **GEMM}) for dtype in ("bf16", "fp16", "fp32", "fp8")),
    ("gemm_int8", {"dtype": "int8", **GEMM}),
    ("gemm_skinny", {"dtype": "bf16", "m": 1, "n": 96, "k": 64}),
    ("gemm_ragged", {"dtype": "fp32", "m": 63, "n": 65, "k": 130}),
    *((name, {"size": 4096}) for name in ("hbm_read", "hbm_write", "hbm_copy")),
    *(("hbm_triad", {"dtype": dtype, "size": 4096}) for dtype in ("fp32", "bf16", "fp16")),
    *(
        (name, {"dtype": dtype, "rows": 40, "columns": 96})
        for name in ("softmax", "layer_norm", "rms_norm")
        for dtype in ("bf16", "fp32", "fp16")
    ),
    ("transpose", {"dtype": "bf16", "size": 96}),
    *(
        ("attention", {"dtype": dtype, "seq": 48, "head_dim": 32, "mask": mask, "heads": 3})
        for dtype in ("bf16", "fp32")
        for mask in ("full", "causal")
    ),
    *(
        ("vector_throughput", {"op": op, "dtype": "bf16", "elements": 16, "instructions": 4})
        for op in ("copy", "tensor_scalar", "tensor_tensor", "reduce", "reciprocal")
    ),
    *(
        ("scalar_throughput", {"op": op, "dtype": "fp32", "elements": 16, "instructions": 4})
        for op in ("copy", "exp", "gelu", "reciprocal")
    ),
]
IDS = ["-".join((name, *map(str, point.values()))) for name, point in POINTS]


def launch(name: str, point: dict[str, Any], device: Any, seed: int = 7) -> Any:
    return resolve(SOURCES[name])(point, device, np.random.default_rng(seed))


@pytest.mark.parametrize(("name", "point"), POINTS, ids=IDS)
def test_its_output_is_right_and_a_wrong_one_is_found(name: str, point: dict[str, Any], cpu: Any) -> None:
    made = launch(name, point, cpu)
    output = made.call()
    assert made.check(output) == ""
    bad = output.clone().float()
    bad.view(-1)[0] += 1.0 + 0.1 * abs(float(bad.view(-1)[0]))  # the first element is among those looked at
    assert made.check(bad) != ""


@pytest.mark.parametrize(("name", "point"), POINTS, ids=IDS)
def test_less_of_it_is_less_work_and_as_right(name: str, point: dict[str, Any], cpu: Any) -> None:
    made = launch(name, point, cpu)
    smaller = made.smaller()
    assert 0.0 < smaller.amount < made.amount or made.amount <= 2.0 * 96 * 64
    assert smaller.check(smaller.call()) == ""
    made.idle()
    assert made.check(made.call()) == ""  # what is idle leaves the operands as they are


def test_every_kernel_that_torch_has_is_tried_here() -> None:
    tried = {name for name, _ in POINTS}
    elsewhere = {"host_to_device", "device_to_host"}  # between two memories: tests/cuda
    alike = {"vector_reciprocal", "scalar_reciprocal"}  # the same functions
    assert tried | elsewhere | alike == set(SOURCES)


def test_data_are_random_and_follow_the_seed(cpu: Any) -> None:
    point = {"dtype": "fp32", "size": 32}
    one, same, other = (launch("gemm", point, cpu, seed).call().clone() for seed in (1, 1, 2))
    assert (one == same).all()
    assert not (one == other).any()


def test_a_product_in_a_smaller_type_is_not_taken_for_fp32(cpu: Any) -> None:
    """What TF32 does to operands (10 bits of them are left), done by hand."""
    import torch
    from trnbench_torch import data
    from trnbench_torch.kernels.gemm import compare

    rng = np.random.default_rng(0)
    for n in (128, 1024):
        a, b = (data.uniform(cpu, rng, (n, n), "fp32") for _ in range(2))
        exact = data.exact(a) @ data.exact(b)

        def tf32(x: Any) -> Any:
            # Rounded to the nearest: half of the last place that is kept, then the rest cut off.
            return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)

        silently = data.exact(tf32(a) @ tf32(b))
        rows = np.arange(n)
        assert compare(data.exact(a @ b), exact, n, "fp32", rows) == ""
        assert "should be" in compare(silently, exact, n, "fp32", rows)
        assert compare(silently, exact, n, "tf32", rows) == ""


def test_one_wrong_tile_of_a_half_precision_product_is_found(cpu: Any) -> None:
    made = launch("gemm", {"dtype": "bf16", "size": 256}, cpu)
    product = made.call().clone()
    product[:16, :16] = product[:16, :16].flip(0)
    assert made.check(product).startswith("row 0, column ")


def test_a_program_of_several_parts_has_all_of_them_checked(cpu: Any) -> None:
    parts = [launch("hbm_copy", {"size": 256}, cpu, seed) for seed in (1, 2, 3)]
    launches = Launches(parts)
    program = cpu.program(launches)
    assert program.check(program.run()) == ""
    launches.outputs[1].zero_()
    assert program.check(None).endswith("(part 1)")
    assert program.amount == sum(each.amount for each in parts)
    assert program.settings["torch_threads"] == 1
    assert program.settings["float32_precision"] == "highest"


@given(
    m=st.integers(1, 40), n=st.integers(1, 40), k=st.integers(1, 90), dtype=st.sampled_from(["bf16", "fp32"])
)
def test_products_of_any_shape_are_right(m: int, n: int, k: int, dtype: str, cpu: Any) -> None:
    made = launch("gemm_skinny", {"dtype": dtype, "m": m, "n": n, "k": k}, cpu)
    assert made.check(made.call()) == ""


@settings(max_examples=20)
@given(count=st.integers(1, 3000), block=st.integers(1, 400))
def test_data_longer_than_what_is_drawn_repeat_it(count: int, block: int, cpu: Any) -> None:
    from trnbench_torch import data

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "BLOCK", block)
        found = data.exact(data.uniform(cpu, np.random.default_rng(3), (count,), "fp32"))
    drawn = np.random.default_rng(3).uniform(-1.0, 1.0, min(count, block)).astype("float32")
    assert np.array_equal(found, np.resize(drawn, count).astype(float))


def test_a_type_torch_does_not_have_is_named() -> None:
    from trnbench.errors import UnknownName
    from trnbench_torch.data import torch_dtype

    with pytest.raises(UnknownName, match="unknown dtype of torch 'mxfp4'"):
        torch_dtype("mxfp4")


def test_references_name_functions_that_are_there() -> None:
    registry = load_registry()
    for name, source in SOURCES.items():
        assert registry.kernels[name].implementations["torch"] == source
        assert callable(resolve(source))
