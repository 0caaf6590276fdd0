"""The SDK's public example kernels, unchanged, from a folder that TRNBENCH_TEST_NKI_SOURCES names."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trnbench_emulator.nki import Machine, TensorSpec, load_kernel, record

FOLDER = os.environ.get("TRNBENCH_TEST_NKI_SOURCES", "")
RNG = np.random.default_rng(0)
PRODUCT = "matrix_multiplication/matrix_multiplication_nki_kernels.py::nki_matmul_"
SCAN = "fused_mamba/mamba_nki_kernels.py::mamba_v"


def _made(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def _product(left: Any, right: Any) -> Any:
    return left.T @ right


def _mamba(delta: Any, u: Any, a: Any, b: Any, c: Any) -> Any:
    out = np.zeros_like(delta)
    for state in range(a.shape[1]):
        h = np.zeros(delta.shape[:2], np.float32)
        for t in range(delta.shape[2]):
            h = np.exp(delta[:, :, t] * a[:, state]) * h + delta[:, :, t] * u[:, :, t] * b[:, state, t, None]
            out[:, :, t] += h * c[:, state, t, None]
    return out


_SCANNED = (
    abs(_made(1, 128, 512)) / 10,
    _made(1, 128, 512),
    -abs(_made(128, 4)),
    _made(1, 4, 512),
    _made(1, 4, 512),
)
EXAMPLES: dict[str, tuple[tuple[Any, ...], Callable[..., Any]]] = {
    "tensor_addition/tensor_addition_nki_kernels.py::nki_tensor_add": (
        (_made(512, 512), _made(512, 512)),
        lambda a, b: a + b,
    ),
    "average_pool2d/average_pool2d_nki_kernels.py::tensor_avgpool_kernel": (
        (_made(16, 8, 12), 2),
        lambda a, size: a.reshape(16, 4, size, 6, size).mean((2, 4)),
    ),
    "transpose2d/transpose2d_nki_kernels.py::tensor_transpose2D_kernel_": (
        (_made(5, 12), (3, 4)),
        lambda a, _: a.reshape(5, 3, 4).transpose(0, 2, 1).reshape(5, 12),
    ),
    f"{PRODUCT}basic_": ((_made(128, 64), _made(128, 512)), _product),
    f"{PRODUCT}tiled_": ((_made(256, 256), _made(256, 1024)), _product),
    f"{PRODUCT}hoist_load_": ((_made(256, 256), _made(256, 1024)), _product),
    f"{PRODUCT}block_free_dimension_": ((_made(256, 256), _made(256, 1024)), _product),
    f"{PRODUCT}fully_optimized_": ((_made(1024, 2048), _made(1024, 1024)), _product),
    **{f"{SCAN}{version}": (_SCANNED, _mamba) for version in (1, 2, 3)},
}


@pytest.mark.skipif(not FOLDER, reason="TRNBENCH_TEST_NKI_SOURCES names no folder of aws-neuron-sdk")
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_matches_numpy_and_runs_with_shapes(name: str, v3: Machine) -> None:
    args, expected = EXAMPLES[name]
    kernel, _, _ = load_kernel(str(Path(FOLDER) / "nki" / "examples" / name), nki="trnbench")
    trace = record(kernel, args, machine=v3, functional=True)
    want = expected(*args)
    np.testing.assert_allclose(trace.outputs[0], want, rtol=1e-4, atol=1e-4 * float(np.abs(want).max()))
    shapes = [TensorSpec(a.shape, str(a.dtype)) if isinstance(a, np.ndarray) else a for a in args]
    assert record(kernel, shapes, machine=v3).count == trace.count
