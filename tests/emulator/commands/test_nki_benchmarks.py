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
    everywhere = call("run", "rms_norm", "--all-generations", *small("rms_norm"), "--format", "json")
    assert {each["generation"] for each in json.loads(everywhere.stdout)} == {"trn1", "trn2", "trn3"}


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


DOCS = (Path(__file__).parents[3] / "docs" / "nki.md").read_text(encoding="utf-8")


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
