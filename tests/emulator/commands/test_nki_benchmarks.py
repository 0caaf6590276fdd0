"""Benchmarks by their names: `trnbench nki run gemm`, on one system, on several, against NumPy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from command import listed, typed
from kernel_extents import KERNELS

import trnbench
from trnbench.kernels.kernel import Kernel
from trnbench_emulator import nki_sources

TRN2 = ("-i", "trn2-16.48xlarge")


def call(*words: str) -> Result:
    return typed("nki", *words)


def given(*arguments: str) -> list[str]:
    return [word for each in arguments for word in ("--arg", each)]


def test_a_point_is_filled_up_with_the_default_sweep() -> None:
    told = listed("nki", "run", "gemm_blocked", *TRN2, "--arg", "size=1K")
    assert (told["kernel"], told["flops"]) == ("gemm_blocked", 2 * 1024**3)


def test_a_value_that_is_too_small_is_refused_with_one_that_runs() -> None:
    refused = call("run", "gemm_blocked", *TRN2, "--arg", "size=0")
    assert refused.exit_code == 2
    *_, word = refused.stderr.split()
    assert refused.stderr.endswith(f"  try:   --arg {word}\n")
    assert call("run", "gemm_blocked", *TRN2, "--arg", word).exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("transpose", "size=256"),
        ("moe_experts", "experts=2", "tokens=16", "hidden=128", "columns=512"),
        ("gemm", "size=640", "dtype=mxfp4"),
    ],
    ids=" ".join,
)
def test_a_benchmark_is_held_against_its_reference(words: tuple[str, ...]) -> None:
    """Each of them, with every type, is in tests/nki/test_nki_every_case.py."""
    name, *point = words
    on = "trn3-gen1-ultraserver" if "dtype=mxfp4" in words else "trn2-16.48xlarge"
    rows = listed("nki", "check", name, "-i", on, *given(*point), "--check", "reference")
    assert [row["verdict"] for row in rows] == ["as the reference"]


def test_side_by_side_on_the_systems_that_are_named() -> None:
    words = ("run", "rms_norm", *given("rows=200", "columns=512"))
    named = listed("nki", *words, *TRN2, "-i", "trn1.32xlarge")
    assert [each["system"] for each in named] == ["trn2-16.48xlarge", "trn1.32xlarge"]
    everywhere = listed("nki", *words, "--all-generations")
    assert {each["generation"] for each in everywhere} == {"trn1", "trn2", "trn3"}


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
    return ", ".join(f"`{ref.rpartition('.')[2]}`" for ref in nki_sources(kernel))


def test_the_page_lists_every_benchmark() -> None:
    listed = DOCS.split("<!-- benchmarks: generated -->")[1].split("<!-- end of benchmarks -->")[0]
    wanted = [
        f"| `{each.name}` | {_sources(each)} | {each.about} |"
        for each in KERNELS.values()
        if nki_sources(each)
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
