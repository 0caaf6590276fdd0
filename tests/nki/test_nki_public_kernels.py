"""Public kernels, unchanged, from a folder that TRNBENCH_TEST_PUBLIC_KERNELS names: in both modes, against
NumPy. The folder holds checkouts called as their repositories are: docs/research/public-kernels.md."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trnbench.registry.registry import load_registry

FOLDER = os.environ.get("TRNBENCH_TEST_PUBLIC_KERNELS", "")
PUBLIC = Path(__file__).parent / "public"
STOPPED = {
    "xaviergonzalez__asst4-trainium2/part1/kernels.py::vector_add_tiled": "256 partitions of float32[256",
    "nki-library/src/nkilib_src/nkilib/experimental/dynamic_shapes/dynamic_elementwise_add.py"
    "::dynamic_elementwise_add": "the value of a register decides an index, and is not known",
    "nki-library/src/nkilib_src/nkilib/core/mlp/mlp.py::mlp": "mlp.py is no Python: unexpected indent",
    "nki-samples/src/nki_samples/tutorials/matrix_multiplication/matrix_multiplication_nki_kernels.py"
    "::nki_matmul_basic_": "tensor_copy() got an unexpected keyword argument 'dtype'",
    "nki-samples/src/nki_samples/tutorials/matrix_multiplication/matrix_multiplication_nki_kernels.py"
    "::nki_matmul_tiled_": "tensor_copy() got an unexpected keyword argument 'dtype'",
    "nki-samples/src/nki_samples/tutorials/matrix_multiplication/matrix_multiplication_nki_kernels.py"
    "::nki_matmul_hoist_load_": "tensor_copy() got an unexpected keyword argument 'dtype'",
    "EtashGuha__asst4-trainium2/part2/conv2d.py::fused_conv2d_maxpool [pool 2]": "index 8 is outside",
    "Ni2002ka__asst4-trainium2/part2/conv2d.py::fused_conv2d_maxpool [pool 2]": "src has 8192 elements",
    "chengli2003__asst4-trainium2/part2/conv2d.py::fused_conv2d_maxpool [pool 2]": "src has 61440 elements",
    "autocomp/sols/trn-advanced-nki1/0_cumsum_ref.py::solution": "name 'normalize_dim' is not defined",
    "autocomp/sols/trn-tutorial-nki2/2_gemm_ref.py::solution": "nki.language.par_dim is not part of NKI any",
    **{
        f"nki-autotune/kernel_transforms.py::kernel_{number}": "131,072 bytes per partition of "
        "float32[128, 16, 2048]@psum exceed the 16,384 of PSUM on trn2"
        for number in range(12)
    },
}
"""What breaks a rule, uses what NKI has dropped, or is not finished, and the words it is told so in."""


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
        assert re.search(r"\.py:\d+\)", found.why), "the line of the kernel"
    else:
        assert found.matched, found.why


def test_files_and_names_are_whole() -> None:
    for each in entries():
        path, double, function = each.kernel.partition("::")
        assert double
        assert path.endswith(".py")
        assert function.isidentifier()
    assert set(STOPPED) <= {each.id for each in entries()}


def test_the_page_counts_them(root: Path) -> None:
    """The SDK's examples have their own test."""
    page = (root / "docs" / "research" / "public-kernels.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| ([\w.-]+)/([\w.-]+) (\w{8}) [^|]*\| (\d+) \| (\d+) \| (\d+) \|", page, re.MULTILINE
    )
    counted: dict[str, tuple[int, int]] = {}
    for owner, name, commit, *numbers in rows:
        tried, ran, matched = (int(each) for each in numbers)
        assert ran == matched
        commit = f"-{commit[:7]}" if (name, commit) == ("nki-samples", "c8327e03") else ""
        counted[f"{owner}__{name}{commit}"] = (tried, ran)
    wanted: dict[str, list[int]] = {}
    for each in entries():
        numbers = wanted.setdefault(each.folder, [0, 0])
        numbers[0] += 1
        numbers[1] += each.id not in STOPPED
    for folder, numbers in wanted.items():
        (found,) = [each for name, each in counted.items() if folder in (name, name.partition("__")[2])]
        assert found == tuple(numbers), folder
    tried, ran, matched = (
        int(each) for each in re.findall(r"^\| all \| (\d+) \| (\d+) \| (\d+) \|", page, re.MULTILINE)[0]
    )
    assert tried == sum(each for each, _ in counted.values())
    assert ran == matched == sum(each for _, each in counted.values())
