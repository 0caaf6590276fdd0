"""Benchmarks whose cores share one problem: launched as programs, judged by the peak of as many cores."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import trnbench
from trnbench import Measurement, bench
from trnbench.backend import Observation
from trnbench.cli.main import cli
from trnbench.errors import UnknownName
from trnbench.generation import System
from trnbench.kernels.kernel import Case

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


# What a case keeps of its source lines: those that take longest, and which one an engine was at when ---


@pytest.fixture(scope="module")
def cases() -> dict[str, Measurement]:
    run = trnbench.bench(
        ["attention", "hbm_copy", "tensor_throughput"],
        instances=["trn2-16.48xlarge"],
        scopes=["core"],
        axes=["attention.seq=1K", "attention.head_dim=64", "attention.mask=full", "hbm_copy.size=1M"],
    )
    return {each.case.kernel: each for each in run.measurements if each.time_s}


def test_the_lines_are_those_that_the_command_prints(cases: dict[str, Measurement]) -> None:
    case = cases["attention"]
    words = case.detail["command"].split()[1:]
    done = CliRunner().invoke(
        cli, [*words[: words.index("--trace")], "--lines", "--format", "json"], prog_name="trnbench"
    )
    assert done.exit_code == 0, done.stderr
    printed = sorted(json.loads(done.stdout)["lines"], key=lambda row: -row["seconds"])
    assert case.time_s
    wanted = [row for row in printed[:6] if row["seconds"] >= 0.005 * case.time_s]
    places = [f"{Path(row['file']).name}:{row['line']}" for row in wanted]
    assert [place for place, _, _ in case.detail["lines"]] == places
    for (_, _, seconds), row in zip(case.detail["lines"], wanted, strict=True):
        assert seconds == pytest.approx(row["seconds"], rel=0.05)  # some heads stand for all


def test_each_span_in_which_an_engine_is_busy_names_a_line_of_it(cases: dict[str, Measurement]) -> None:
    for case in cases.values():
        strips, lines = case.detail["strip"], case.detail["line_strip"]
        assert strips.keys() <= lines.keys()
        for name, digits in strips.items():
            assert len(lines[name]) == len(digits)
            assert set(lines[name]) <= set("-0123456789"[: len(case.detail["lines"]) + 1])
    tensor = cases["tensor_throughput"].detail
    place = tensor["line_strip"]["tensor"][20]
    assert "nc_matmul" in tensor["lines"][int(place)][1]


def test_a_copy_is_at_the_line_that_starts_the_transfers(cases: dict[str, Measurement]) -> None:
    case = cases["hbm_copy"]
    ((_, text, seconds), *_) = case.detail["lines"]
    assert text.startswith("nisa.dma_copy(")
    assert case.time_s
    assert 0.2 * case.time_s < seconds < case.time_s


# More work never takes less time: along every numeric axis of a kernel, all others equal -------------


def test_times_do_not_fall_as_an_axis_grows(observed: list[tuple[Case, System, Observation]]) -> None:
    lines: dict[object, list[tuple[float, float]]] = defaultdict(list)
    for case, _, seen in observed:
        point = case.key.point
        for axis in case.kernel.axes:
            value = point.get(axis.name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                others = tuple(sorted((k, str(v)) for k, v in point.items() if k != axis.name))
                line = (case.key.kernel, case.key.instance, case.key.reach, axis.name, others)
                lines[line].append((value, seen.time_s))
    assert len(lines) > 50
    fallen = [
        (line, below, above)
        for line, points in lines.items()
        for below, above in pairwise(sorted(points))
        if above[1] < below[1] * (1 - 1e-9)
    ]
    assert fallen == []


@pytest.mark.parametrize("instance", [TRN1, TRN2, "trn3.3xlarge"])
def test_lines_that_move_data_take_together_what_the_dma_engines_are_busy(instance: str) -> None:
    """Thin transfers keep the engines busy and thick ones their common way, both at once: not one after the
    other, which came to 111 % of the time."""
    arguments = ["--arg", "dtype=bf16", "--arg", "m=1", "--arg", "n=4096", "--arg", "k=4096"]
    words = ["nki", "run", "gemm_skinny", "-i", instance, *arguments, "--lines", "--format", "json"]
    done = CliRunner().invoke(cli, words, prog_name="trnbench")
    assert done.exit_code == 0, done.stderr
    printed = json.loads(done.stdout)
    moved = sum(row["seconds"] for row in printed["lines"] if row["engine"] == "dma")
    assert moved == pytest.approx(printed["busy_s"]["dma"], rel=1e-3)
