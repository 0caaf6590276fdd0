"""`trnbench nki … --grid`: one problem on several cores, through the program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from command import listed, typed
from trace_rules import complaints

import trnbench
from trnbench.errors import ExitCode
from trnbench_emulator.nki import TensorSpec

TRN2 = "trn2-16.48xlarge"
GEMM = ("gemm", "-i", TRN2, "--arg", "size=512", "--arg", "dtype=bf16")
HEAD = """
import {package} as nki
import {package}.isa as nisa
import {package}.language as nl


@nki.jit
"""
SUMS = (Path(__file__).parent / "nki_kernels" / "sums.txt").read_text()
OLD = """def copy(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.program_id(0) * nl.num_programs(1) + nl.program_id(1)
    nl.store(out[nl.ds(row * 128, 128)], nl.load(x[nl.ds(row * 128, 128)]))
    return out
"""


@pytest.fixture
def sums(tmp_path: Path) -> str:
    file = tmp_path / "split.py"
    file.write_text(HEAD.format(package="nki") + SUMS)
    return f"{file}::sums"


@pytest.fixture
def old(tmp_path: Path) -> str:
    file = tmp_path / "old.py"
    file.write_text(HEAD.format(package="neuronxcc.nki") + OLD)
    return f"{file}::copy"


def call(*words: str) -> Result:
    return typed("nki", *words)


def told(*words: str) -> Any:
    return listed("nki", "run", *words)


def test_two_programs_are_judged_by_the_peak_of_two_cores() -> None:
    one, two, eight = told(*GEMM), told(*GEMM, "--grid", "2"), told(*GEMM, "--grid", "8")
    assert [(each["scope"], each["cores"]) for each in (one, two, eight)] == [
        ("core", 1),
        ("logical-core", 2),
        ("device", 8),
    ]
    assert [len(each["programs"]) for each in (one, two, eight)] == [0, 2, 8]
    assert one["flops"] == two["flops"] == 2 * 512**3
    assert one["latency_s"] > two["latency_s"]
    assert two["imbalance"] == 0
    for each in (two, eight):
        (tensor,) = [share for share in each["shares"] if share["name"] == "tensor bf16"]
        assert tensor["peak"] == pytest.approx(10e15 / 16 / 8 * each["cores"])
        assert tensor["reached"] == pytest.approx(each["flops"] / each["latency_s"])
        assert sum(term["seconds"] for term in each["waterfall"]) == pytest.approx(each["latency_s"])


def test_cores_are_full_of_launches() -> None:
    alone, full = told(*GEMM, "--grid", "2"), told(*GEMM, "--grid", "2", "--cores", "device")
    assert (full["scope"], full["cores"], len(full["programs"])) == ("device", 8, 2)
    assert full["flops"] == alone["flops"]
    (tensor,) = [share for share in full["shares"] if share["name"] == "tensor bf16"]
    assert tensor["reached"] == pytest.approx(4 * full["flops"] / full["latency_s"])
    result = call("run", *GEMM, "--grid", "2", "--cores", "device")
    assert result.stdout.splitlines()[0].startswith(
        f"gemm_best on {TRN2}, 2 programs, a core each, 4 such launches at once: "
    )


def test_a_benchmark_that_is_shared_is_launched_as_two() -> None:
    words = ("gemm_shared", "-i", TRN2, "--arg", "size=512")
    assert told(*words)["programs"] == told(*words, "--grid", "2")["programs"]
    assert told(*words)["latency_s"] == told(*GEMM, "--grid", "2")["latency_s"]
    assert told(*words, "--grid", "1")["programs"] == []


def test_a_kernel_that_shares_nothing_is_told_so(old: str, sums: str) -> None:
    said = "the kernel never asks for nl.program_id: each program does the whole problem"
    whole = ("softmax", "-i", TRN2, "--arg", "rows=256", "--arg", "columns=512")
    one, two = told(*whole), told(*whole, "--grid", "2")
    assert said in two["notes"]
    assert two["bytes"]["hbm_write"] == 2 * one["bytes"]["hbm_write"]
    assert said in call("run", *whole, "--grid", "2").stdout.splitlines()
    for words in (
        whole,
        (*whole, "--grid", "1"),
        (*GEMM, "--grid", "2"),
        (sums, "-i", TRN2, "--arg", "x=128x1024:fp32", "--grid", "2"),
        (old, "-i", TRN2, "--arg", "x=1024x512:bf16", "--grid", "nc2x4"),
    ):
        assert said not in told(*words)["notes"]


def test_each_program_is_told_and_so_is_who_waits(sums: str) -> None:
    words = (sums, "-i", TRN2, "--arg", "x=128x1024:fp32", "--grid", "2")
    result = call("run", *words)
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"sums on {TRN2}, 2 programs, a core each: ")
    assert any(line.startswith("program 0 ends last, ") and line.endswith(" average") for line in lines)
    assert "assumed core-signal-latency: 0.5 µs" in lines
    at = lines.index("Each program")
    assert lines[at + 1].split() == [
        "name", "time", "of", "it", "waiting", "for", "others", "bound", "instructions",
    ]  # fmt: skip
    assert [line[:9] for line in lines[at + 3 : at + 5]] == ["program 0", "program 1"]
    assert {"Busy, program 0", "Bytes moved, all programs"} <= set(lines)
    run = told(*words)
    assert run["last"] == 0
    assert [each["waited_s"] for each in run["programs"]] == pytest.approx([5e-7, 5e-7])
    ends = [each["latency_s"] for each in run["programs"]]
    assert max(ends) == run["latency_s"]
    launch = {each["name"]: each["seconds"] for each in run["waterfall"]}["launch"]
    mean = sum(ends) / 2 - launch
    assert run["imbalance"] == pytest.approx((max(ends) - launch) / mean - 1)


def test_values_are_checked_with_all_programs(sums: str) -> None:
    words = (sums, "-i", TRN2, "--arg", "x=128x1024:fp32", "--grid", "2", "--check", "numpy_sums")
    for verb in ("run", "check"):
        result = call(verb, *words)
        assert result.exit_code == ExitCode.OK, result.stderr
        assert "as the reference" in result.stdout
    half = call("check", *words[:-4], *words[-2:])
    assert half.exit_code == ExitCode.GATE  # without a grid program 0 adds what nobody wrote


def test_the_trace_has_a_process_for_each_program(sums: str, tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    words = (sums, "-i", TRN2, "--arg", "x=128x1024:fp32", "--grid", "2", "--cores", "device")
    result = call("run", *words, "--trace", str(file))
    assert result.exit_code == 0, result.stderr
    trace = json.loads(file.read_text())
    assert not complaints(file.read_text())
    named = [each["args"]["name"] for each in trace["traceEvents"] if each["name"] == "process_name"]
    assert [each.partition(" (")[0] for each in named] == [
        f"{TRN2} neuroncore-v3 core 0, program 0",
        f"{TRN2} neuroncore-v3 core 1, program 1",
    ]
    waits = [each for each in trace["traceEvents"] if each["name"] == "waits for another program"]
    assert {each["pid"] for each in waits if each["ph"] == "X"} == {0, 1}
    flows = [each for each in waits if each["ph"] in "sf"]
    assert {each["pid"] for each in flows} == {0, 1}
    assert "one launch of 4 is shown, the others do the same" in trace["otherData"]["missing"]


def test_a_grid_of_beta_1_is_spread_where_it_says_so(old: str) -> None:
    words = (old, "-i", TRN2, "--arg", "x=1024x512:bf16")
    one, two = told(*words, "--grid", "4x2"), told(*words, "--grid", "nc2x4")
    assert (one["cores"], one["programs"], two["cores"]) == (1, [], 2)
    assert [each["instructions"] for each in two["programs"]] == [one["instructions"] // 2] * 2
    assert one["bytes"]["hbm_read"] == two["bytes"]["hbm_read"]
    assert one["latency_s"] > two["latency_s"]


def test_trn1_has_no_logical_core_but_two_cores() -> None:
    words = ("gemm", "-i", "trn1.32xlarge", "--arg", "size=512", "--arg", "dtype=bf16")
    assert (told(*words, "--grid", "2")["scope"], told(*words, "--grid", "2")["cores"]) == ("device", 2)
    result = call("run", *words, "--grid", "8")
    assert result.exit_code == ExitCode.CRASH
    assert result.stderr == (
        "error: kernel 'gemm_best' is launched as 8 programs, for which trn1.32xlarge has no place\n"
        "  cause: all of them run at once, each on a core: 1, or the 2 of a device\n"
        "  try:   --grid 2\n"
    )


def test_the_same_from_python(sums: str) -> None:
    args = {"x": TensorSpec((128, 1024), "fp32")}
    run = trnbench.emulate_kernel(sums, args, instance=TRN2, grid=2)
    assert [each.program for each in run.programs] == [0, 1]
    assert run.latency_s == told(sums, "-i", TRN2, "--arg", "x=128x1024:fp32", "--grid", "2")["latency_s"]
    with pytest.raises(trnbench.errors.UsageError, match="takes no grid 2x2"):
        trnbench.emulate_kernel(sums, args, instance=TRN2, grid=(2, 2))
