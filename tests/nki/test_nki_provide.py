"""`import nki` resolves inside a run and nowhere else; a real package goes first."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from trnbench.errors import KernelError, UsageError
from trnbench_emulator.nki import Machine, TensorSpec, language, load_kernel, provide, record


def _nki_modules() -> set[str]:
    return {name for name in sys.modules if name == "nki" or name.startswith("nki.")}


@pytest.fixture
def real_nki(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for the real package, importable."""
    package = tmp_path / "site" / "nki"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("REAL = True\ndef jit(f):\n    return f\n")
    (package / "isa.py").write_text("REAL = True\n")
    (package / "language.py").write_text("REAL = True\n")
    monkeypatch.syspath_prepend(str(package.parent))
    yield package
    for name in _nki_modules():
        del sys.modules[name]


def test_modules_are_there_while_open_and_gone_afterwards() -> None:
    before = dict(sys.modules)
    with provide("trnbench") as provided:
        import nki.isa as nisa
        import nki.language as nl
        from nki.typing import tensor

        import nki

        assert (nki.isa, nki.language) == (nisa, nl)
        assert tensor is not None
        assert provided.by == "trnbench"
    assert _nki_modules() == set()
    assert {name: module for name, module in sys.modules.items() if name in before} == before
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("nki")


def test_also_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), provide("trnbench"):
        raise ZeroDivisionError
    assert _nki_modules() == set()


def test_helpers_that_hold_our_modules_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_tiles.py").write_text("import nki.language as nl\n")
    (tmp_path / "my_numbers.py").write_text("ONE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with provide("trnbench"):
        importlib.import_module("my_tiles")
        importlib.import_module("my_numbers")
    assert "my_tiles" not in sys.modules
    assert sys.modules.pop("my_numbers").ONE == 1


def test_the_real_package_goes_first(real_nki: Path) -> None:
    with provide("auto") as provided:
        assert importlib.import_module("nki").REAL
    assert provided.by == "nki"


def test_ours_on_request_and_the_real_one_untouched(real_nki: Path) -> None:
    real = importlib.import_module("nki.isa")
    with provide("trnbench") as provided:
        assert not hasattr(importlib.import_module("nki.isa"), "REAL")
    assert provided.by == "trnbench"
    assert sys.modules["nki.isa"] is real
    assert importlib.import_module("nki").REAL


def test_our_kernels_can_be_bound_to_ours_although_the_real_one_is_there(real_nki: Path, v3: Machine) -> None:
    kernel, _, provided = load_kernel("trnbench_kernels.nki.gemm:gemm_naive", nki="trnbench")
    assert provided.by == "trnbench"
    assert record(kernel, (TensorSpec((128, 128), "bf16"),) * 2, machine=v3).count == 5


def test_nested_runs(tmp_path: Path) -> None:
    with provide("trnbench"):
        outer = sys.modules["nki"]
        with provide("trnbench"):
            assert sys.modules["nki"] is outer
        assert sys.modules["nki"] is outer
    assert "nki" not in sys.modules


def test_asking_for_what_is_not_there() -> None:
    with pytest.raises(UsageError) as caught, provide("real"):
        pass
    assert str(caught.value) == (
        "the real nki package is not installed\n"
        "  cause: it comes with the AWS Neuron SDK\n"
        "  try:   install it from the Neuron package index, or leave nki=auto"
    )
    with pytest.raises(UsageError, match="nki='both' is unknown"), provide("both"):
        pass


def test_wrong_arguments(user_kernels: Path, v3: Machine) -> None:
    kernel, _, _ = load_kernel(f"{user_kernels / 'tiled_matmul.py'}::tiled_matmul", nki="trnbench")
    with pytest.raises(KernelError) as caught:
        record(kernel, (1, 2, 3), machine=v3)
    assert caught.value.what == (
        "kernel 'tiled_matmul' cannot be called with these arguments: too many positional arguments"
    )
    with pytest.raises(KernelError, match="was called outside a run"):
        kernel(1, 2)
    with pytest.raises(KernelError, match="an NKI call was made outside a kernel"):
        language.ndarray((1, 1), dtype="int8")


# A file of kernels is read as it is now, and nothing is left beside it -------------------------------

TEXT = """
import nki


@nki.jit
def kernel(x):
    return NUMBER
"""


@pytest.mark.parametrize("writes", [False, True])
def test_an_edit_within_a_second_counts(writes: bool, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", not writes)
    file = tmp_path / "mine.py"
    found = []
    for number in (1, 2):
        file.write_text(TEXT.replace("NUMBER", str(number)), encoding="utf-8")
        os.utime(file, (1_000_000_000, 1_000_000_000))  # the same second, the same size
        kernel, _, _ = load_kernel(f"{file}::kernel", nki="trnbench")
        found.append(kernel.function(None))
    assert found == [1, 2]
    assert sys.dont_write_bytecode is not writes
    assert sorted(each.name for each in tmp_path.iterdir()) == ["mine.py"]
