"""What is provided, and the sentence for every name that is not."""

from __future__ import annotations

from typing import Any

import pytest

from trnbench.errors import KernelError
from trnbench_emulator.nki import isa, language, load_kernel
from trnbench_emulator.nki.names import KNOWN, REMOVED

REFUSED = [
    (
        "nisa.NkiInstruction(1)",
        "nki.isa.NkiInstruction is part of NKI but trnbench does not emulate it (snippet.py:6)",
        "instructions have no handles here; their order is the program's; docs/nki.md lists what is emulated",
    ),
    (
        "nl.arange(4)",
        "nki.language.arange is not part of NKI any more (snippet.py:6)",
        "it was in Beta 1 (neuronxcc.nki) and was removed in 0.2",
    ),
    ("nl.ndarry((1, 1))", "nki.language has no 'ndarry' (snippet.py:6)", "did you mean ndarray?"),
    ("nisa.qqq", "nki.isa has no 'qqq' (snippet.py:6)", "NKI 0.6 lists no such name"),
    (
        "nki.benchmark(1)",
        "nki.benchmark is part of NKI but trnbench does not emulate it (snippet.py:6)",
        "it was in Beta 1 and is gone since 0.1; docs/nki.md lists what is emulated",
    ),
]


@pytest.mark.parametrize(("line", "message", "cause"), REFUSED, ids=[line for line, _, _ in REFUSED])
def test_refused_by_name(snippets: Any, line: str, message: str, cause: str) -> None:
    with pytest.raises(KernelError) as caught:
        snippets.run(line)
    assert caught.value.what == message
    assert caught.value.cause == cause


def test_refused_in_an_import_statement(snippets: Any) -> None:
    with pytest.raises(KernelError) as caught:
        load_kernel(snippets.write("pass", head="from nki.isa import NkiInstruction"), nki="trnbench")
    assert caught.value.what == (
        "nki.isa.NkiInstruction is part of NKI but trnbench does not emulate it (snippet.py:4)"
    )


def test_a_missing_submodule_is_named(snippets: Any) -> None:
    with pytest.raises(KernelError) as caught:
        load_kernel(snippets.write("pass", head="import nki.collectives as ncc"), nki="trnbench")
    assert caught.value.what == (
        "snippet.py imports 'nki.collectives', which trnbench does not emulate (snippet.py:4)"
    )


def test_how_it_is_made_is_not_visible_to_kernels(snippets: Any) -> None:
    assert snippets.run("assert not hasattr(nisa, 'current') and not hasattr(nki, 'record')").count == 0
    for name in ("machine", "recorder"):
        with pytest.raises(KernelError):
            load_kernel(snippets.write("pass", head=f"import nki.{name}"), nki="trnbench")


def test_asking_for_a_name_is_no_error(snippets: Any) -> None:
    assert snippets.run("assert getattr(nisa, 'NkiInstruction', None) is None").count == 0


@pytest.mark.parametrize(("name", "module"), [("nki.isa", isa), ("nki.language", language)])
def test_no_name_is_both_provided_and_refused(name: str, module: Any) -> None:
    provided = set(module.__all__)
    assert not provided & KNOWN[name]
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


def test_an_operation_of_the_wrong_kind(snippets: Any) -> None:
    body = "t = nl.ones((4, 8), dtype=nl.float32)\nnisa.tensor_tensor(t, t, t, nl.exp)"
    with pytest.raises(KernelError) as caught:
        snippets.run(body)
    assert caught.value.what == "tensor_tensor: nl.exp is no operation of 2 operands (snippet.py:7)"
