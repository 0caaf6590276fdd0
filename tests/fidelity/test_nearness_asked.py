"""One question has one answer: `run`, `nki run`, `fabric run` and Python name the same evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from fabric_command import rows

import trnbench
from trnbench.cli.main import cli
from trnbench_emulator.nki import TensorSpec

TRN2 = "trn2-16.48xlarge"
KERNEL = '''"""A copy."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def mine(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=a)
    nisa.dma_copy(dst=out, src=tile)
    return out
'''


def plain(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))


def case_of(kernel: str, *axes: str, scope: str) -> trnbench.Measurement:
    run = trnbench.bench(kernels=[kernel], instances=[TRN2], axes=axes, scopes=[scope])
    (found,) = run.measurements
    assert found.evidence.nearest is not None
    return found


def test_run_and_nki_run_agree() -> None:
    case = case_of("gemm", "size=512", "dtype=bf16", scope="core")
    args = ("nki", "run", "gemm", "-i", TRN2, "--arg", "size=512", "--arg", "dtype=bf16", "--format", "json")
    told = json.loads(CliRunner().invoke(cli, args).stdout)
    assert told["latency_s"] == case.time_s
    assert told["evidence"]["nearest"] == plain(case.evidence.nearest)
    assert told["expected_s"] == plain(trnbench.expected_time(case.evidence, case.time_s))


def test_run_and_fabric_run_agree() -> None:
    case = case_of("all_reduce", "size=64M", scope="instance")
    nearest = case.evidence.nearest
    args = (
        "run",
        "all_reduce",
        "-i",
        TRN2,
        "-b",
        "64M",
        "-e",
        "64M",
        "-d",
        "bf16",
        "--ranks",
        "logical-core",
    )
    (told,) = rows(*args)
    assert told["nearness"] == str(nearest.kind)
    assert told["best_published_id"] == nearest.best.id
    interval = trnbench.expected_time(case.evidence, case.time_s)
    assert told["expected_low_s"] == pytest.approx(interval[0])
    assert told["expected_high_s"] == pytest.approx(interval[1])


def test_a_kernel_of_ones_own_has_its_family(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(KERNEL)
    args = {"a": TensorSpec((128, 512), "bfloat16")}
    run = trnbench.emulate_kernel(f"{file}::mine", args, instance=TRN2, nki="trnbench")
    nearest = run.evidence.nearest
    assert nearest.kind is trnbench.Nearness.FAMILY
    assert run.expected_s[0] < run.expected_s[1]
    assert nearest.best is None
