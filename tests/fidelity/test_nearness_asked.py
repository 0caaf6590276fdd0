"""One question has one answer: `run`, `nki run`, `fabric run` and Python name the same evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import listed
from fabric_command import rows

import trnbench
from trnbench_emulator.nki import TensorSpec

TRN2 = "trn2-16.48xlarge"


def plain(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))


def case_of(kernel: str, *axes: str, scope: str) -> trnbench.Measurement:
    run = trnbench.bench(kernels=[kernel], instances=[TRN2], axes=axes, scopes=[scope])
    (found,) = run.measurements
    assert found.evidence.nearest is not None
    return found


def test_run_and_nki_run_agree() -> None:
    case = case_of("gemm", "size=512", "dtype=bf16", scope="core")
    told = listed("nki", "run", "gemm", "-i", TRN2, "--arg", "size=512", "--arg", "dtype=bf16")
    assert told["latency_s"] == case.time_s
    assert told["evidence"]["nearest"] == plain(case.evidence.nearest)
    assert told["expected_s"] == plain(trnbench.expected_time(case.evidence, case.time_s))


def test_run_and_fabric_run_agree() -> None:
    case = case_of("all_reduce", "size=64M", scope="instance")
    nearest = case.evidence.nearest
    size = ("-b", "64M", "-e", "64M", "-d", "bf16")
    (told,) = rows("run", "all_reduce", "-i", TRN2, *size, "--ranks", "logical-core")
    assert told["nearness"] == str(nearest.kind)
    assert told["best_published_id"] == nearest.best.id
    interval = trnbench.expected_time(case.evidence, case.time_s)
    assert told["expected_low_s"] == pytest.approx(interval[0])
    assert told["expected_high_s"] == pytest.approx(interval[1])


def test_a_kernel_of_ones_own_has_its_family(root: Path) -> None:
    shapes = {"a": TensorSpec((256, 256), "bfloat16"), "b": TensorSpec((256, 512), "bfloat16")}
    file = root / "docs" / "examples" / "kernel.py"
    run = trnbench.emulate_kernel(f"{file}::matmul", shapes, instance=TRN2, nki="trnbench")
    nearest = run.evidence.nearest
    assert nearest.kind is trnbench.Nearness.FAMILY
    assert run.expected_s[0] < run.expected_s[1]
    assert nearest.best is None
