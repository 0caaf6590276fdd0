"""Python's `range` in a kernel's file: loops of the kernel while it is recorded, and else what Python has."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trnbench.errors import KernelError
from trnbench_emulator.core.builder import Builder
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel, record
from trnbench_emulator.nki.provide import provide

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl
{own}
SAID = []

@nki.jit
def kernel(x):
    def nested():
        return [n for n in range(3)]
    tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    SAID.append(told(range, nested))
    for i in range(50):
        nisa.dma_copy(dst=tile, src=x[0:128, i : i + 64])
        nisa.tensor_copy(dst=tile, src=tile)
    return x

def told(range, nested):
    some = range(2, 20, 3)
    return (
        isinstance(some, range), isinstance(3, range), len(some), some[1], some[-1], list(some[1:3]),
        list(reversed(some)), 5 in some, 6 in some, 5.0 in some, "a" in some, list(some),
        some == range(2, 20, 3),
        hash(some) == hash(range(2, 20, 3)), repr(some), str(range), some.start, some.stop, some.step,
        some.index(5), some.count(5), bool(range(0)), nested(), sum(range(5)),
        list(zip(range(3), range(9))),
        list(enumerate(range(2))), sorted(range(3), reverse=True), {**{n: n for n in range(2)}},
        max(range(4)),
        range.__name__, range.__doc__ == {doc!r}, list(map(str, range(2))), [*range(3)],
        next(iter(range(7, 9))),
        any(n > 3 for n in range(5)), range is not None, range.index is not None,
    )
"""

PLAIN = """
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def kernel(x):
    tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    for i in range(180):
        nisa.dma_copy(dst=tile, src=x[0:128, i : i + 64])
        nisa.tensor_copy(dst=tile, src=tile)
    return x
"""


def _loaded(folder: Path, own: str = "") -> tuple[Any, Any]:
    file = folder / "kernel.py"
    file.write_text(
        KERNEL.replace("{own}", own)
        .replace("{doc!r}", repr(builtins.range.__doc__))
        .replace("{**{n: n for n in range(2)}}", "dict((n, n) for n in range(2))")
    )
    kernel, module, _ = load_kernel(f"{file}::kernel", nki="trnbench")
    return kernel, module


def _recorded(kernel: Any, machine: Machine, fold: bool = True) -> Builder:
    builder = Builder(machine)
    with provide("trnbench"):
        record(kernel, (TensorSpec((128, 256), "float32"),), machine=machine, sink=builder, fold=fold)
    return builder


@pytest.mark.parametrize("fold", [True, False])
def test_it_is_as_pythons(tmp_path: Path, v3: Machine, fold: bool) -> None:
    kernel, module = _loaded(tmp_path)
    expected = module.told(builtins.range, lambda: [0, 1, 2])
    _recorded(kernel, v3, fold)
    (said,) = module.SAID
    assert said == expected
    assert "range" not in vars(module)


def test_its_loops_are_loops_of_the_kernel(tmp_path: Path, v3: Machine) -> None:
    file = tmp_path / "plain.py"
    file.write_text(PLAIN)
    kernel, _, _ = load_kernel(f"{file}::kernel", nki="trnbench")
    folded, plain = (_recorded(kernel, v3, fold).program for fold in (True, False))
    (loop,) = folded.loops
    assert (loop.length, loop.end) == (2, 360)
    assert loop.begin <= 20
    assert plain.loops == []


def test_a_range_of_the_files_own_stays(tmp_path: Path, v3: Machine) -> None:
    kernel, module = _loaded(tmp_path, own="from builtins import range")
    _recorded(kernel, v3)
    assert vars(module)["range"] is builtins.range


def test_it_is_put_back_after_an_error(tmp_path: Path, v3: Machine) -> None:
    file = tmp_path / "wrong.py"
    file.write_text("import nki\n\n@nki.jit\ndef kernel(x):\n    return range('a')\n")
    kernel, module, _ = load_kernel(f"{file}::kernel", nki="trnbench")
    with pytest.raises(KernelError, match="'str' object cannot be interpreted as an integer"):
        _recorded(kernel, v3)
    assert "range" not in vars(module)


def test_values_are_computed_with_pythons_own(tmp_path: Path, v3: Machine) -> None:
    file = tmp_path / "seen.py"
    file.write_text(
        "import nki\nSEEN = []\n\n@nki.jit\ndef kernel(x):\n    SEEN.append(range)\n    return x\n"
    )
    kernel, module, _ = load_kernel(f"{file}::kernel", nki="trnbench")
    record(kernel, (np.zeros((2, 2), np.float32),), machine=v3, functional=True)
    (seen,) = module.SEEN
    assert seen is builtins.range


def test_what_it_makes_is_a_sequence(tmp_path: Path, v3: Machine) -> None:
    file = tmp_path / "kinds.py"
    file.write_text(
        "import nki\nSEEN = []\n\n@nki.jit\ndef kernel(x):\n    SEEN.append(range(3))\n    return x\n"
    )
    kernel, module, _ = load_kernel(f"{file}::kernel", nki="trnbench")
    _recorded(kernel, v3)
    (made,) = module.SEEN
    assert isinstance(made, Sequence)
    assert made == range(3)
    assert range(3) == made
