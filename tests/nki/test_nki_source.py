"""What stands beside a kernel: its arguments for a point, its pieces, its reference; mistakes in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from trnbench.errors import KernelError, MissingFile, PluginError
from trnbench_emulator.nki.source import Source, Sources

Taking = Callable[..., Source | None]
KERNEL = """
    import nki

    @nki.jit
    def mine(x):
        return x
"""


@pytest.fixture
def taking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Taking:
    """`taking("module", "def mine_inputs(point): …")`: its kernel `mine` with that beside, for size 2."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def ask(name: str, *beside: str) -> Source | None:
        (tmp_path / f"{name}.py").write_text(dedent(KERNEL) + "\n".join(beside) + "\n")
        return Sources().taking([f"{name}:mine"], {"size": 2})

    return ask


def test_the_first_source_that_takes_a_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, given in (("refusing", "None"), ("willing", "(((point['size'], 4), 'bf16'), 7)")):
        text = f"{dedent(KERNEL)}\ndef mine_inputs(point):\n    return {given}\n"
        (tmp_path / f"{name}_source.py").write_text(text)
    both = ["refusing_source:mine", "willing_source:mine"]
    found = Sources().taking(both, {"size": 2})
    assert found is not None
    assert (found.ref, found.name, found.place) == (both[1], "mine", "willing_source.py:4")
    assert found.inputs == (((2, 4), "bf16"), 7)
    assert found.pieces() == ((found.inputs, 1),)
    assert found.reference() is None
    assert Sources().taking(both[:1], {"size": 2}) is None  # declared
    assert Sources().taking([], {"size": 2}) is None


@pytest.mark.parametrize(
    ("beside", "what"),
    [
        (
            "",
            "own:mine cannot be given arguments: its module has no mine_inputs (own.py:4)",
        ),
        (
            "def mine_inputs(point):\n    return ((point['sise'],), 'bf16')",
            "mine_inputs failed: KeyError: 'sise' (own.py:8)",
        ),
        (
            "def mine_inputs(point): return [((2, 2), 'bf16')]",
            "mine_inputs gives [((2, 2), 'bf16')] (own.py:7)",
        ),
        (
            "def mine_inputs(point): return (([2, 2], 'bf16'),)",
            "mine_inputs gives (([2, 2], 'bf16'),) (own.py:7)",
        ),
        ("def mine_inputs(point): return False", "mine_inputs gives False (own.py:7)"),
    ],
)
def test_nothing_but_none_declares_that_a_point_is_not_taken(taking: Taking, beside: str, what: str) -> None:
    with pytest.raises(KernelError) as caught:
        taking("own", beside)
    assert caught.value.what == what


INPUTS = "def mine_inputs(point): return (((4, 4), 'bf16'),)"


@pytest.mark.parametrize(
    ("pieces", "what"),
    [
        (
            "def mine_pieces(inputs): 1 / 0",
            "mine_pieces failed: ZeroDivisionError: division by zero (own.py:8)",
        ),
        ("def mine_pieces(inputs): return ()", "mine_pieces gives () (own.py:8)"),
        (
            "def mine_pieces(inputs): return (inputs, 0)",
            "mine_pieces gives ((((4, 4), 'bf16'),), 0) (own.py:8)",
        ),
        ("def mine_pieces(inputs): return None", "mine_pieces gives None (own.py:8)"),
    ],
)
def test_pieces_that_are_none(taking: Taking, pieces: str, what: str) -> None:
    source = taking("own", INPUTS, pieces)
    assert source is not None
    with pytest.raises(KernelError) as caught:
        source.pieces()
    assert caught.value.what == what


def test_a_reference_is_a_function_or_the_name_of_one(taking: Taking) -> None:
    beside = taking("beside", INPUTS, "def mine_reference(x): return x + 1")
    assert beside is not None
    assert beside.reference()(np.ones(2)).tolist() == [2, 2]
    named = taking("named", INPUTS, "mine_reference = 'trnbench_kernels.nki.references:transpose'")
    assert named is not None
    assert named.reference().__name__ == "transpose"
    lost = taking("lost", INPUTS, "mine_reference = 'trnbench_kernels.nki.references:transpise'")
    assert lost is not None
    with pytest.raises(PluginError, match=r"cannot load 'trnbench_kernels.nki\.references:transpise'"):
        lost.reference()


def test_a_module_that_is_not_there() -> None:
    with pytest.raises(MissingFile, match="module no_such_kernels is not there"):
        Sources().taking(["no_such_kernels:mine"], {})
