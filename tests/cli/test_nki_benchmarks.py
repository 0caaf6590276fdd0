"""Benchmarks by their names: `trnbench nki run gemm`, on one system, on several, against NumPy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from kernel_extents import KERNELS

import trnbench
from trnbench.cli.main import cli
from trnbench.kernels.kernel import Kernel

TRN2 = ("-i", "trn2-16.48xlarge")
SMALL: dict[str, int | str] = {
    "size": 256, "m": 128, "n": 512, "k": 128, "rows": 200, "columns": 512, "seq": 256, "heads": 1,
    "channels": 128, "tokens": 32, "states": 2, "experts": 2, "hidden": 128, "instructions": 5,
    "elements": 64, "transfers": 3, "bytes_per_partition": 64,
}  # fmt: skip
REFERENCED = [
    each.name
    for each in KERNELS.values()
    if "nki" in each.implementations and each.family != "engine" and each.name != "gemm_ragged"
]


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, ["nki", *words])


def small(name: str) -> list[str]:
    kernel = KERNELS[name]
    words = []
    for axis in kernel.axes:
        size = 1 << 20 if axis.unit == "B" and axis.name == "size" else SMALL.get(axis.name)
        words += ["--arg", f"{axis.name}={size if size is not None else axis.values[0]}"]
    return words


def test_a_point_is_filled_up_with_the_default_sweep() -> None:
    result = call("run", "gemm_blocked", *TRN2, "--arg", "size=1K", "--format", "json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["kernel"] == "gemm_blocked"
    assert told["flops"] == 2 * 1024**3


@pytest.mark.parametrize("name", REFERENCED)
def test_every_benchmark_agrees_with_its_reference(name: str) -> None:
    result = call("check", name, *TRN2, *small(name), "--check", "reference", "--format", "json")
    assert result.exit_code == 0, result.stderr + result.stdout
    assert all(row["verdict"] == "as the reference" for row in json.loads(result.stdout))


@pytest.mark.parametrize("dtype", ["mxfp8", "mxfp4"])
@pytest.mark.parametrize("name", ["gemm", "gemm_naive", "gemm_blocked"])
def test_microscaled_products_agree_with_their_reference(name: str, dtype: str) -> None:
    words = ("-i", "trn3-gen1-ultraserver", "--arg", "size=640", "--arg", f"dtype={dtype}")
    result = call("check", name, *words, "--check", "reference", "--format", "json")
    assert result.exit_code == 0, result.stderr + result.stdout
    assert [row["verdict"] for row in json.loads(result.stdout)] == ["as the reference"]


def test_side_by_side_on_the_systems_that_are_named() -> None:
    words = ("run", "rms_norm", *TRN2, "-i", "trn1.32xlarge", *small("rms_norm"), "--format", "json")
    result = call(*words)
    assert result.exit_code == 0, result.stderr
    assert [each["system"] for each in json.loads(result.stdout)] == ["trn2-16.48xlarge", "trn1.32xlarge"]
    everywhere = call("run", "rms_norm", "--all", *small("rms_norm"), "--format", "json")
    assert {each["generation"] for each in json.loads(everywhere.stdout)} == {"trn1", "trn2", "trn3"}


MISTAKES: list[tuple[tuple[str, ...], str]] = [
    (
        ("gemn", *TRN2),
        "error: unknown benchmark 'gemn'\n"
        "  cause: did you mean gemm, gemm_naive, gemm_skinny?\n"
        "  try:   a benchmark's name, or FILE.py::FUNCTION\n",
    ),
    (
        ("all_gather", *TRN2),
        "error: benchmark all_gather has no NKI source\n"
        "  cause: it is carried out in another way: collective, torch-distributed\n"
        "  try:   trnbench run all_gather\n",
    ),
    (
        ("softmax", *TRN2, "--arg", "row=3"),
        "error: unknown axis of softmax 'row'\n  cause: did you mean rows?\n  try:   --arg AXIS=VALUE\n",
    ),
    (
        ("softmax", *TRN2, "--arg", "rows=128,256"),
        "error: --arg rows=128,256 gives 2 values\n"
        "  cause: one point is run at a time\n"
        "  try:   --arg rows=128   (trnbench run sweeps)\n",
    ),
    (
        ("softmax", *TRN2, "--arg", "rows=1", "--arg", "rows=2"),
        "error: --arg rows is given twice\n  try:   keep one of them\n",
    ),
    (
        ("gemm", *TRN2, "--arg", "dtype=mxfp8", "--arg", "size=192"),
        "error: the NKI source of gemm does not take dtype=mxfp8, size=192\n"
        "  cause: which points are taken is said by gemm_best_inputs of trnbench_kernels.nki.gemm_best and "
        "gemm_mx_best_inputs of trnbench_trn3.nki.gemm_mx_best\n"
        "  try:   trnbench run gemm   estimates it from its FLOP and bytes\n",
    ),
    (
        ("dma_sweep", *TRN2, "--arg", "partitions=129"),
        "error: dma_sweep has no such point: bytes_per_partition=64, partitions=129, transfers=64\n"
        "  cause: SBUF has 128 partitions\n",
    ),
    (
        ("softmax",),
        "error: no --instance is given\n"
        "  cause: limits and times are those of one machine\n"
        "  try:   --instance trn1.2xlarge   (trnbench list instances)\n",
    ),
    (
        ("softmax", *TRN2, "-i", "trn1.32xlarge", "--trace", "x.json"),
        "error: --trace and several systems do not go together\n"
        "  cause: a trace file holds the timeline of one system\n"
        "  try:   --instance NAME --trace FILE.json, once for each\n",
    ),
]


@pytest.mark.parametrize(("words", "message"), MISTAKES, ids=[" ".join(words) for words, _ in MISTAKES])
def test_mistakes_are_said_in_one_message(words: tuple[str, ...], message: str) -> None:
    result = call("run", *words)
    assert result.exit_code == 2
    assert result.stderr == message
    assert result.stdout == ""


def test_a_case_names_the_command_of_its_timeline(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = trnbench.bench(
        instances=["trn2-16.48xlarge"], kernels=["softmax"], axes=["rows=256", "columns=512"], scopes=["core"]
    )
    command = run.measurements[0].detail["command"]
    assert command == (
        "trnbench nki run softmax -i trn2-16.48xlarge --arg dtype=bf16 --arg rows=256 --arg columns=512 "
        "--trace softmax.json"
    )
    result = call(*command.split()[2:])
    assert result.exit_code == 0, result.stderr
    assert json.loads((tmp_path / "softmax.json").read_text())["otherData"]["kernel"] == "softmax"


DOCS = (Path(__file__).parents[2] / "docs" / "nki.md").read_text(encoding="utf-8")


def _sources(kernel: Kernel) -> str:
    return ", ".join(f"`{ref.rpartition('.')[2]}`" for ref in kernel.nki_sources)


def test_the_page_lists_every_benchmark() -> None:
    listed = DOCS.split("<!-- benchmarks: generated -->")[1].split("<!-- end of benchmarks -->")[0]
    wanted = [
        f"| `{each.name}` | {_sources(each)} | {each.about} |"
        for each in KERNELS.values()
        if each.nki_sources
    ]
    assert [line for line in listed.splitlines() if line.startswith("| `")] == wanted


EXAMPLES = [
    line.removeprefix("trnbench nki ")
    for line in DOCS.splitlines()
    if line.startswith("trnbench nki ") and "kernel.py::" not in line
]


@pytest.mark.parametrize("line", EXAMPLES)
def test_the_pages_examples_run(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = call(*line.split())
    assert result.exit_code == 0, result.stderr
    assert ("--trace" in line) == bool(list(tmp_path.glob("*.json")))
