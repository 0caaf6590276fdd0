"""Products that Vector and Scalar read in PSUM: which copies the compiler of Beta 1 is taken to leave out."""

from __future__ import annotations

import numpy as np
import pytest
from beta1_kernel import Run, made, spec

from trnbench_emulator.compiler import AS_SHIPPED, assumptions
from trnbench_emulator.nki import Trace
from trnbench_emulator.nki.instruction import Instruction
from trnbench_emulator.nki.memory import Buffer

KERNEL = """
    def kernel(x) -> (128, 512):
        tile = nl.load(x)
        held = nl.ndarray(({count}, nl.par_dim(128), 512), dtype={held}, buffer=nl.sbuf)
        largest = nl.ndarray((nl.par_dim(128), {count}), dtype=nl.float32, buffer=nl.sbuf)
        for n in nl.affine_range({count}):
            product = nl.ndarray((nl.par_dim(128), 512), dtype=nl.float32, buffer=nl.psum)
            product[...] = nisa.nc_matmul(tile[:, 0:128], tile)
            held[n] = {copy}
            {after}
            largest[:, n] = nisa.tensor_reduce(op=nl.max, data=held[n], axis=1)
        least = nisa.tensor_reduce(op=nl.max, data=largest, axis=1, negate=True)
        for n in nl.affine_range({count}):
            value = nisa.activation(op=nl.exp, data=held[n], bias=least, scale=1.0)
            nl.store(out, value)
        {end}
"""
COPYING = assumptions("no-reading-in-psum")
COPY = "nisa.tensor_copy(product)"


def text(
    *, count: int = 1, copy: str = COPY, held: str = "nl.float32", after: str = "pass", end: str = "pass"
) -> str:
    return KERNEL.format(count=count, copy=copy, held=held, after=after, end=end)


def copies(found: Trace) -> list[Instruction]:
    return [
        each
        for each in found.instructions
        if each.op.opcode == "tensor_copy" or each.op.variables.get("op") == "copy"
    ]


X = spec(128, 512)


@pytest.mark.parametrize("copy", [COPY, "nl.copy(product)", "nisa.tensor_copy(product, dtype=nl.float32)"])
def test_sums_and_exponentials_read_the_product(beta1_shapes: Run, copy: str) -> None:
    found = beta1_shapes(text(copy=copy), X)
    assert len(copies(found)) == 0
    for opcode in ("tensor_reduce", "activation"):
        reader = next(each for each in found.instructions if each.op.opcode == opcode)
        assert reader.reads[0].buffer is Buffer.PSUM
        assert reader.op.variables["psum_inputs"] == 1
        assert not reader.op.variables["all_sbuf"]
        assert reader.op.traffic["psum_read"] == 128 * 512 * 4


def test_elements_and_work_stay_those_of_the_source(beta1_shapes: Run) -> None:
    """All that changes of a reader is where its operand is."""
    with_copies = beta1_shapes(text(), X, assumptions=COPYING)
    without = beta1_shapes(text(), X)
    assert len(copies(with_copies)) == 1
    copied = {id(each) for each in copies(with_copies)}
    kept = [each for each in with_copies.instructions if id(each) not in copied]
    for before, after in zip(kept, without.instructions, strict=True):
        assert (before.op.opcode, before.op.elements, before.op.flops) == (
            after.op.opcode, after.op.elements, after.op.flops
        )  # fmt: skip
        assert before.op.variables.get("N") == after.op.variables.get("N")
        assert sum(before.op.traffic.values()) == sum(after.op.traffic.values())


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"end": "nl.store(out, held[0])"}, id="it is stored"),
        pytest.param({"after": "nisa.nc_transpose(held[n][:, 0:128])"}, id="the tensor engine reads it"),
        pytest.param({"after": "held[n][:, 0:8] = nl.exp(tile[:, 0:8])"}, id="part of it is overwritten"),
        pytest.param({"end": "nl.store(out[:, 0:8], nl.exp(held[0][:, 0:8]))"}, id="part of it is read"),
        pytest.param({"held": "nl.bfloat16"}, id="it is cast"),
        pytest.param({"copy": "nisa.activation(op=nl.copy, data=product, scale=0.5)"}, id="it is scaled"),
        pytest.param(
            {"after": "product[...] = nisa.nc_matmul(tile[:, 0:128], tile)"}, id="the product is gone before"
        ),
        pytest.param({"count": 5}, id="five banks are more than half"),
    ],
)
def test_a_copy_that_is_needed_stays(beta1_shapes: Run, changed: dict[str, str]) -> None:
    found = beta1_shapes(text(**changed), X)
    products = [each for each in copies(found) if each.reads[0].buffer is Buffer.PSUM]
    assert len(products) >= int(changed.get("count", 1))


def test_up_to_half_of_psum_is_read_where_it_is(beta1_shapes: Run) -> None:
    """Four products of 2 KiB a partition, of 16 KiB."""
    assert len(copies(beta1_shapes(text(count=4), X))) == 0


def test_a_line_is_decided_as_a_whole(beta1_shapes: Run) -> None:
    """One of two rounds is needed in SBUF: a loop has one copy, and it stays for both."""
    assert len(copies(beta1_shapes(text(count=2, end="nl.store(out, held[1])"), X))) == 2


def test_values_do_not_depend_on_it(beta1: Run) -> None:
    x = made(128, 512) / 32
    ways = [beta1(text(count=2), x, assumptions=each) for each in (AS_SHIPPED, COPYING)]
    first, second = (found.outputs[0] for found in ways)
    np.testing.assert_array_equal(first, second)
    product = x[:, :128].T @ x
    np.testing.assert_allclose(first, np.exp(product - product.max(axis=1, keepdims=True)), rtol=1e-4)
