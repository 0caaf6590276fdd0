"""What is provided, and the sentence for every name that is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from trnbench.errors import KernelError, MissingFile, PluginError
from trnbench_emulator.nki import Machine, isa, language, load_kernel, record
from trnbench_emulator.nki.names import REMOVED, WHY
from trnbench_emulator.nki.source import Source, Sources
from trnbench_emulator.nki.stand_in import is_stand_in


def test_refused_in_an_import_statement(snippets: Any, v3: Machine) -> None:
    kernel, _, by = load_kernel(
        snippets.write("NkiInstruction()", head="from nki.isa import NkiInstruction"), nki="trnbench"
    )
    why = "nki.isa.NkiInstruction is part of NKI but trnbench does not emulate it (snippet.py:4)"
    assert by.faults == (f"snippet.py:4: {why}",)
    with pytest.raises(KernelError) as caught:
        record(kernel, machine=v3)
    assert caught.value.what == ("NkiInstruction is used, which snippet.py:4 could not get (snippet.py:7)")
    assert caught.value.cause == why


def test_a_missing_submodule_is_named(snippets: Any, v3: Machine) -> None:
    ref = snippets.write("ncc.all_reduce(1)", head="import nki.collectives as ncc")
    with pytest.raises(KernelError) as caught:
        record(load_kernel(ref, nki="trnbench")[0], machine=v3)
    assert caught.value.what == (
        "nki.collectives.all_reduce is used, which trnbench does not emulate (snippet.py:7)"
    )
    assert caught.value.cause.startswith("collectives need other devices")


def test_how_it_is_made_is_not_visible_to_kernels(snippets: Any) -> None:
    assert snippets.run("assert not hasattr(nisa, 'current') and not hasattr(nki, 'record')").count == 0
    for name in ("machine", "recorder"):
        _, module, _ = load_kernel(snippets.write("pass", head=f"import nki.{name} as it"), nki="trnbench")
        assert is_stand_in(module.it.Machine)


def test_asking_for_a_name_is_no_error(snippets: Any) -> None:
    assert snippets.run("assert getattr(nisa, 'NkiInstruction', None) is None").count == 0


@pytest.mark.parametrize(("name", "module"), [("nki.isa", isa), ("nki.language", language)])
def test_no_name_is_both_provided_and_refused(name: str, module: Any) -> None:
    provided = set(module.__all__)
    assert not provided & WHY[name].keys()
    assert not provided & REMOVED[name]
    assert all(hasattr(module, each) for each in provided)


def test_operations_are_operands_and_calls(snippets: Any) -> None:
    body = """
t = nl.ones((4, 8), dtype=nl.float32)
u = nl.exp(nl.add(t, nl.multiply(t, 2.0)))
assert u.shape == (4, 8)
"""
    opcodes = [each.op.opcode for each in snippets.run(body, keep=True).instructions]
    assert opcodes == ["memset", "tensor_scalar", "tensor_tensor", "activation"]


# What stands beside a kernel: its arguments for a point, its pieces, its reference; mistakes in them ---

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
    assert (found.ref, found.name, found.place) == (both[1], "mine", "willing_source.py:4")
    assert found.inputs == (((2, 4), "bf16"), 7)
    assert found.pieces() == ((found.inputs, 1),)
    assert found.reference() is None
    assert Sources().taking(both[:1], {"size": 2}) is None  # declared
    assert Sources().taking([], {"size": 2}) is None


@pytest.mark.parametrize(
    ("beside", "what"),
    [
        ("", "own:mine cannot be given arguments: its module has no mine_inputs (own.py:4)"),
        (
            "def mine_inputs(point):\n    1 / 0",
            "mine_inputs failed: ZeroDivisionError: division by zero (own.py:8)",
        ),
        *(
            (f"def mine_inputs(point): return {value}", f"mine_inputs gives {value} (own.py:7)")
            for value in ("[((2, 2), 'bf16')]", "(([2, 2], 'bf16'),)", "False")
        ),
    ],
)
def test_nothing_but_none_declares_that_a_point_is_not_taken(taking: Taking, beside: str, what: str) -> None:
    with pytest.raises(KernelError) as caught:
        taking("own", beside)
    assert caught.value.what == what


INPUTS = "def mine_inputs(point): return (((4, 4), 'bf16'),)"


@pytest.mark.parametrize(
    ("gives", "what"),
    [
        ("1 / 0", "mine_pieces failed: ZeroDivisionError: division by zero (own.py:8)"),
        ("()", "mine_pieces gives () (own.py:8)"),
        ("(inputs, 0)", "mine_pieces gives ((((4, 4), 'bf16'),), 0) (own.py:8)"),
        ("None", "mine_pieces gives None (own.py:8)"),
    ],
)
def test_pieces_that_are_none(taking: Taking, gives: str, what: str) -> None:
    source = taking("own", INPUTS, f"def mine_pieces(inputs): return {gives}")
    with pytest.raises(KernelError) as caught:
        source.pieces()
    assert caught.value.what == what


def test_a_reference_is_a_function_or_the_name_of_one(taking: Taking) -> None:
    beside = taking("beside", INPUTS, "def mine_reference(x): return x + 1")
    assert beside.reference()(np.ones(2)).tolist() == [2, 2]
    named = taking("named", INPUTS, "mine_reference = 'trnbench_kernels.nki.references:transpose'")
    assert named.reference().__name__ == "transpose"
    lost = taking("lost", INPUTS, "mine_reference = 'trnbench_kernels.nki.references:transpise'")
    with pytest.raises(PluginError, match=r"cannot load 'trnbench_kernels.nki\.references:transpise'"):
        lost.reference()


def test_a_module_that_is_not_there() -> None:
    with pytest.raises(MissingFile, match="module no_such_kernels is not there"):
        Sources().taking(["no_such_kernels:mine"], {})
