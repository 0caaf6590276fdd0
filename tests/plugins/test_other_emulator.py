"""An emulator of somebody else's takes the place of ours by its entry point; the core cannot tell them
apart."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.parts

SOURCE = Path(__file__).parents[1] / "third_party" / "roofline_emulator.py"
GEMM = (
    "gemm",
    "-i",
    "trn2-16.48xlarge",
    "--dtype",
    "bf16",
    "-a",
    "size=4096",
    "--scope",
    "device",
    "--no-report",
)

Install = Callable[..., Path]
Trnbench = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def emulator(install: Install) -> None:
    text = SOURCE.read_text(encoding="utf-8")
    assert text.count("\n") <= 60
    install("roofline-emulator", text)


@pytest.mark.usefixtures("emulator")
def test_it_is_the_usual_backend_where_ours_is_left_out(trnbench: Trnbench) -> None:
    done = trnbench("--no-plugin", "emulator", "run", *GEMM, "--format", "json")
    assert done.returncode == 0, done.stderr
    ran = trnbench("export", "latest", "--as", "json")
    run = json.loads(ran.stdout)
    (case,) = run["measurements"]
    assert run["backend"] == "emulated"
    assert case["evidence"]["by"] == "roofline of the documents"
    assert case["status"] == "ok"
    assert case["judgement"]["of_engine_bound"] <= 1.0
    assert case["time_s"] == pytest.approx(2 * 4096**3 / (0.9 * 667e12), rel=0.01)


@pytest.mark.usefixtures("emulator")
def test_beside_ours_it_is_a_second_owner_of_the_name(trnbench: Trnbench) -> None:
    done = trnbench("run", *GEMM, "--format", "json")
    assert done.returncode == 0, done.stderr
    listed = trnbench("plugin", "list").stdout
    assert "brings backend 'emulated', which has an owner" in " ".join(listed.split())
    run = json.loads(trnbench("export", "latest", "--as", "json").stdout)
    assert run["measurements"][0]["evidence"]["by"] == "trnbench schedule + flows"


@pytest.mark.usefixtures("emulator")
def test_what_it_does_not_draw_is_said(trnbench: Trnbench) -> None:
    assert trnbench("--no-plugin", "emulator", "run", *GEMM).returncode == 0
    case = "trn2-16.48xlarge::gemm[dtype=bf16,size=4096]@device:sharded"
    done = trnbench("--no-plugin", "emulator", "runs", "trace", "latest", case)
    assert done.returncode == 2
    assert done.stderr == (
        f"error: {case} has no timeline\n"
        "  cause: it was made by the backend 'emulated', and no plugin that is installed draws its cases\n"
        "  try:   trnbench plugin list\n"
    )
