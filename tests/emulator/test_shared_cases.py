"""Benchmarks whose cores share one problem: launched as programs, judged by the peak of as many cores."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from trnbench import bench
from trnbench.cli.main import cli
from trnbench.errors import UnknownName
from trnbench.results.measurement import Measurement

TRN1, TRN2 = "trn1.32xlarge", "trn2-16.48xlarge"


@pytest.fixture(scope="module")
def run(registry: Any) -> Any:
    return bench(["gemm_shared"], instances=[TRN1, TRN2], axes=["size=512,2048"], registry=registry)


def found(run: Any, instance: str, scope: str, size: int) -> Measurement:
    (each,) = [
        each
        for each in run.measurements
        if (each.case.instance, str(each.case.scope), each.case.point["size"]) == (instance, scope, size)
    ]
    return each


@pytest.mark.parametrize(("scope", "cores"), [("logical-core", 2), ("device", 8)])
def test_more_cores_take_less_time_and_never_less_than_their_share(
    registry: Any, run: Any, scope: str, cores: int
) -> None:
    alone = bench(
        ["gemm"], instances=[TRN2], scopes=["core"], axes=["size=2048", "dtype=bf16"], registry=registry
    ).measurements[0]
    shared = found(run, TRN2, scope, 2048)
    assert shared.time_s is not None
    assert alone.time_s is not None
    assert alone.time_s / cores < shared.time_s < alone.time_s
    assert shared.work["flops"] == alone.work["flops"] == 2 * 2048**3
    assert shared.counters["tensor_flops"] == 2 * 2048**3
    assert len(shared.detail["programs"]) == cores
    assert shared.implementation.endswith(f", {cores} programs")
    assert ("waterfall" in shared.detail) == (scope == "logical-core")


def test_a_command_takes_the_same_time(run: Any) -> None:
    each = found(run, TRN2, "device", 512)
    words = each.detail["command"].split()
    assert words[-4:-2] == ["--grid", "8"]
    result = CliRunner().invoke(cli, [*words[1:-2], "--format", "csv"])
    assert result.exit_code == 0, result.stderr
    (line,) = [line for line in result.stdout.splitlines() if ",run,latency," in line]
    assert float(line.split(",")[4]) == pytest.approx(each.time_s, rel=1e-9)


def test_trn1_shares_on_a_device_only(run: Any) -> None:
    assert found(run, TRN1, "device", 512).time_s
    skipped = found(run, TRN1, "logical-core", 512)
    assert skipped.time_s is None
    assert skipped.reason_text == "logical cores of two physical ones start with Trainium2"


def test_microscaled_products_are_shared_too(registry: Any) -> None:
    trn3 = "trn3-gen1-ultraserver"
    run = bench(["gemm_shared"], instances=[trn3], axes=["dtype=mxfp8", "size=2048"], registry=registry)
    two, eight = (found(run, trn3, scope, 2048) for scope in ("logical-core", "device"))
    assert "gemm_mx_best" in eight.implementation
    assert eight.implementation.endswith("8 programs")
    assert 0 < eight.time_s < two.time_s


def test_data_types_without_a_source_cannot_be_asked_for(registry: Any) -> None:
    with pytest.raises(UnknownName, match="int8"):
        bench(["gemm_shared"], instances=[TRN2], axes=["dtype=int8"], registry=registry)
