"""Kernels that keep the rules have no findings: those of `mutants`, and the tree's examples among them.

Every benchmark, on every generation and for every data type, is tried in test_nki_every_case.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from beta1_kernel import Run
from tests.nki.mutants import Legal, expected, legal_kernels

from trnbench_emulator.nki import Trace


@pytest.mark.parametrize("legal", legal_kernels(), ids=lambda legal: legal.name)
def test_a_legal_kernel_has_no_findings(legal: Legal) -> None:
    assert [str(finding) for finding in expected(legal.name).findings] == []


def carried_out(snippets: Any, body: str, programs: int = 0) -> Trace:
    return snippets.run(body, X, programs=programs, functional=True, shadow=True)


X = np.ones((128, 64), np.float32)
TILES = """
out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
tile = nl.ndarray((128, 64), nl.float32, buffer=nl.sbuf)
"""


def rules(trace: Trace) -> list[str]:
    return [finding.rule for finding in trace.findings]


def test_unwritten_rows_that_reach_no_output_are_a_warning(snippets: Any) -> None:
    body = TILES + "nisa.dma_copy(tile[0:64], args[0][0:64])\nnisa.tensor_scalar(tile, tile, nl.add, 1.0)\n"
    trace = carried_out(snippets, body + "nisa.memset(tile[64:128], 0)\nnisa.dma_copy(out, tile)\nreturn out")
    assert rules(trace) == ["uninitialised-read"]
    assert not trace.findings[0].error


def test_what_a_predicate_leaves_out_stays_unwritten(snippets: Any) -> None:
    body = TILES + (
        "mask = nl.ndarray((128, 64), nl.uint8, buffer=nl.sbuf)\nnisa.memset(mask, 1)\n"
        "nisa.memset(mask[:, 32:64], 0)\nsource = nl.load(args[0])\n"
        "nisa.tensor_copy_predicated(tile, source, mask)\nnisa.dma_copy(out, tile)\nreturn out"
    )
    trace = carried_out(snippets, body)
    assert rules(trace) == ["uninitialised"]
    assert trace.findings[0].bytes == 128 * 32 * 4


def test_another_type_of_the_same_bytes(snippets: Any) -> None:
    body = TILES + (
        "halves = tile.view(nl.bfloat16)\nnisa.memset(halves[:, 0:128:2], 0)\n"
        "nisa.dma_copy(out, tile)\nreturn out"
    )
    trace = carried_out(snippets, body)
    assert rules(trace) == ["uninitialised"]
    assert trace.findings[0].bytes == 128 * 64 * 2


def test_both_programs_may_read_and_meet_before_they_write(snippets: Any) -> None:
    body = """
both = nl.ndarray((2, 128, 64), nl.float32, buffer=nl.shared_hbm)
out = nl.ndarray((2, 128, 64), nl.float32, buffer=nl.shared_hbm)
me = nl.program_id(0)
tile = nl.load(args[0])
nl.store(both[me], tile)
nisa.core_barrier(both, (0, 1))
nl.store(out[me], nl.load(both[1 - me]))
return out
"""
    assert rules(carried_out(snippets, body, programs=2)) == []


def test_sums_over_rounds_are_no_carried_values(snippets: Any) -> None:
    body = TILES + (
        "source = nl.load(args[0])\nnisa.memset(tile, 0)\nfor _ in nl.affine_range(3):\n"
        "    nisa.tensor_tensor(tile, tile, source, nl.add)\nnisa.dma_copy(out, tile)\nreturn out"
    )
    assert rules(carried_out(snippets, body)) == []


def test_a_loop_that_is_followed_is_an_index(snippets: Any) -> None:
    body = TILES + (
        "rows, columns = nl.affine_range(128), nl.affine_range(64)\n"
        "nl.store(out, nl.load(args[0][rows, columns]))\nreturn out"
    )
    assert rules(carried_out(snippets, body)) == []


def test_beta_1_has_the_same_rules(beta1: Run) -> None:
    body = """
    @nki.jit
    def kernel(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        state = nl.ndarray((nl.par_dim(128), 64), dtype=x.dtype, buffer=nl.sbuf)
        state[0:64, :] = nl.load(x[0:64, :])
        for _ in nl.affine_range(2):
            state[...] = nl.exp(state)
        nl.store(out[:, 0:32], state[:, 0:32])
        return out
    """
    found = rules(beta1(body, X, shadow=True))
    assert found == ["uninitialised", "unwritten-output", "carried-value"]


def test_a_tile_that_was_filled_before_the_loop_is_not_carried(beta1: Run) -> None:
    body = """
    @nki.jit
    def kernel(x):
        out = nl.ndarray((128, 4), dtype=x.dtype, buffer=nl.shared_hbm)
        least = nl.full((nl.par_dim(128), 4), 1.0, dtype=x.dtype, buffer=nl.sbuf)
        for at in nl.affine_range(4):
            least[:, at] = nl.exp(least[:, at])
        nl.store(out, least)
        return out
    """
    assert rules(beta1(body, X, shadow=True)) == []


def test_programs_of_a_grid_write_parts_of_their_own(beta1: Run) -> None:
    body = """
    @nki.jit
    def kernel(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        part = nl.program_id(0) * {step} + nl.arange(32)[None, :]
        rows = nl.arange(128)[:, None]
        nl.store(out[rows, part], nl.load(x[rows, part]))
        return out
    """
    assert rules(beta1(body.format(step=32), X, grid=(2,), shadow=True)) == []
    assert rules(beta1(body.format(step=31), X, grid=(2,), shadow=True)) == ["unwritten-output", "race"]
