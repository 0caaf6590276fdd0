"""Kernels that keep the rules have no findings: those of `mutants`, and the tree's examples among them.

Every benchmark, on every generation and for every data type, is tried in test_nki_every_case.py."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beta1_kernel import Run
from tests.nki.mutants import Legal, expected, legal_kernels

from trnbench_emulator.nki import Trace


@pytest.mark.parametrize("legal", legal_kernels(), ids=lambda legal: legal.name)
def test_a_legal_kernel_has_no_findings(legal: Legal) -> None:
    assert [str(finding) for finding in expected(legal.name).findings] == []


X = np.ones((128, 64), np.float32)
TILES = """
out = nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm)
tile = nl.ndarray((128, 64), nl.float32, buffer=nl.sbuf)
"""
KERNELS = tomllib.loads(Path(__file__).with_name("found.toml").read_text(encoding="utf-8"))["kernel"]


def rules(trace: Trace) -> list[str]:
    return [finding.rule for finding in trace.findings]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel["name"])
def test_what_is_found_is_what_reaches_an_output(snippets: Any, kernel: dict[str, Any]) -> None:
    programs = kernel.get("programs", 0)
    body = kernel["text"] if programs else TILES + kernel["text"]
    trace = snippets.run(body, X, programs=programs, functional=True, shadow=True)
    assert rules(trace) == kernel["rules"]
    for name in ("bytes", "error"):
        if name in kernel:
            assert getattr(trace.findings[0], name) == kernel[name]


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


def test_beta_1_names_the_line_that_asked_for_a_tensor(beta1: Run) -> None:
    body = """
    @nki.jit
    def kernel(x):
        out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
        state = nl.ndarray((nl.par_dim(128), 64), dtype=x.dtype, buffer=nl.sbuf)
        other = nl.exp(state)
        nl.store(out[:, 0:32], other[:, 0:32])
        return out
    """
    read, left = beta1(body, X, shadow=True).findings
    line = int(read.place.rpartition(":")[2])
    assert read.tile.endswith(f":{line - 1}")
    assert left.place.endswith(f":{line - 2}")


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
