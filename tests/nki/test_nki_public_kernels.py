"""Public kernels, unchanged, from a folder that TRNBENCH_TEST_PUBLIC_KERNELS names: in both modes, against
NumPy. The folder holds checkouts called as their repositories are; docs/nki.md lists them with commits."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trnbench.registry.registry import load_registry

FOLDER = os.environ.get("TRNBENCH_TEST_PUBLIC_KERNELS", "")
PUBLIC = Path(__file__).parent / "public"
STOPPED = {
    "asst4-trainium2/part1/kernels.py::vector_add_tiled": "256 partitions of float32[256, 1]@sbuf exceed",
    "nki-library/src/nkilib_src/nkilib/experimental/dynamic_shapes/dynamic_elementwise_add.py"
    "::dynamic_elementwise_add": "the value of a register decides an index, and is not known",
    "nki-library/src/nkilib_src/nkilib/core/mlp/mlp.py::mlp": "mlp.py is no Python: unexpected indent",
    "nki-samples/src/nki_samples/tutorials/matrix_multiplication/matrix_multiplication_nki_kernels.py"
    "::nki_matmul_basic_": "tensor_copy() got an unexpected keyword argument 'dtype'",
    "nki-samples/src/nki_samples/tutorials/matrix_multiplication/matrix_multiplication_nki_kernels.py"
    "::nki_matmul_tiled_": "tensor_copy() got an unexpected keyword argument 'dtype'",
    "nki-samples/src/nki_samples/tutorials/matrix_multiplication/matrix_multiplication_nki_kernels.py"
    "::nki_matmul_hoist_load_": "tensor_copy() got an unexpected keyword argument 'dtype'",
}
"""What breaks a rule, or uses what NKI has dropped, and the words it is told so in."""


@pytest.fixture(scope="module", autouse=True)
def public() -> Iterator[None]:
    """The modules of the catalogue, which lie beside the kernels they are about."""
    sys.path.insert(0, str(PUBLIC))
    yield
    sys.path.remove(str(PUBLIC))


def entries() -> list[Any]:
    sys.path.insert(0, str(PUBLIC))
    try:
        from catalogue import ENTRIES
    finally:
        sys.path.remove(str(PUBLIC))
    return list(ENTRIES)


@pytest.mark.skipif(not FOLDER, reason="TRNBENCH_TEST_PUBLIC_KERNELS names no folder of public sources")
@pytest.mark.parametrize("entry", entries(), ids=lambda each: each.id)
def test_a_public_kernel(entry: Any) -> None:
    from trying import find, tried

    path = find(Path(FOLDER), entry)
    if path is None:
        pytest.skip(f"{entry.kernel.partition('::')[0]} is not in a checkout of {entry.folder}")
    found = tried(entry, path, Path(FOLDER), load_registry())
    if entry.id in STOPPED:
        assert not found.ran
        assert STOPPED[entry.id] in found.why
    else:
        assert found.matched, found.why


class TestReferences:
    """What public kernels are held against is itself held against the plain definition."""

    def test_attention_weighs_values(self) -> None:
        from references import attention

        values = np.arange(12.0).reshape(4, 3)
        assert np.allclose(attention(np.zeros((2, 5)), np.ones((4, 5)), values), values.mean(0))
        first = attention(np.zeros((4, 5)), np.ones((4, 5)), values, causal=True)[0]
        assert np.allclose(first, values[0])

    def test_growing_keeps_constants_and_means(self) -> None:
        from references import grown_twice

        assert np.allclose(grown_twice(np.full((1, 1, 3, 4), 7.0)), 7.0)
        assert grown_twice(np.arange(4.0).reshape(1, 1, 4, 1))[0, 0, :, 0].tolist() == [
            0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3,
        ]  # fmt: skip

    def test_adaptive_pooling_of_a_multiple_is_pooling(self) -> None:
        from references import adaptive_pool, average_pool

        x = np.random.default_rng(3).standard_normal((2, 3, 8, 8))
        assert np.allclose(adaptive_pool(x, 4)[1], average_pool(x[1], 2))

    def test_convolution_of_a_point_is_the_kernel_turned(self) -> None:
        from references import convolved

        x = np.zeros((1, 1, 5, 5))
        x[0, 0, 2, 2] = 1
        w = np.arange(9.0).reshape(1, 1, 3, 3)
        assert np.allclose(convolved(x, w, np.zeros(1))[0, 0], w[0, 0, ::-1, ::-1])


def test_files_and_names_are_whole() -> None:
    for each in entries():
        path, double, function = each.kernel.partition("::")
        assert double
        assert path.endswith(".py")
        assert function.isidentifier()
    assert set(STOPPED) <= {each.id for each in entries()}
