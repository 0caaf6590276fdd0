"""`trnbench nki run`: a user's kernel through the program, from the file to every output."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from command import listed, typed
from fact_rows import SLOW_CLOCK
from trace_rules import complaints

import trnbench
from trnbench.errors import UsageError
from trnbench_emulator.nki import TensorSpec

SMALL = str(Path(__file__).parent / "nki_kernels" / "small.py")
TRN2 = "trn2-16.48xlarge"
MATMUL = ("--arg", "lhs_t=128x128:bf16", "--arg", "rhs=128x512:bf16")


def call(*words: str) -> Result:
    return typed("nki", *words)


def told(*words: str) -> Any:
    return listed("nki", "run", f"{SMALL}::matmul", "-i", TRN2, *MATMUL, *words)


@pytest.fixture(scope="module")
def run() -> Any:
    return told()


def test_policy_and_seed_are_those_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    typed = told("--peak", "latest", "--seed", "3", "--functional")
    settings = tmp_path / "trnbench.toml"
    settings.write_text('policy = "latest"\nseed = 3\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert told("--functional") == typed != told("--functional", "--peak", "seed", "--seed", "0")
    check = call("check", f"{SMALL}::matmul", "-i", TRN2, *MATMUL)
    assert "random values, seed 3: lhs_t, rhs\n" in check.stderr


def test_facts_are_those_configured(run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(SLOW_CLOCK, encoding="utf-8")
    monkeypatch.setenv("TRNBENCH_FACTS", str(tmp_path / "mine.toml"))
    assert told()["latency_s"] > run["latency_s"]
    rows = told("--all-generations")
    assert f"{told()['latency_s']}" in json.dumps(rows)
    monkeypatch.setenv("TRNBENCH_FACTS", "none.toml")
    assert "there is no file " in call("check", f"{SMALL}::matmul", "-i", TRN2, *MATMUL).stderr


def test_what_is_said_of_a_kernel(run: Any) -> None:
    assert run["kernel"] == "matmul"
    assert run["system"] == TRN2
    assert run["nki"].startswith("trnbench ")
    assert run["evidence"]["grade"] == "emulated"
    assert run["flops"] == 2 * 128 * 128 * 512
    assert run["bytes"]["hbm_read"] == 2 * (128 * 128 + 128 * 512)
    assert run["bytes"]["hbm_write"] == 2 * 128 * 512
    assert run["intensity_flops_per_byte"] == pytest.approx(
        run["flops"] / (run["bytes"]["hbm_read"] + run["bytes"]["hbm_write"])
    )
    assert run["bound"] in {*run["busy_s"], "launch"}
    assert all(0 < each <= run["latency_s"] for each in run["busy_s"].values())


def test_the_waterfall_starts_at_the_peak_of_the_headline(run: Any) -> None:
    best = max(run["shares"], key=lambda each: each["fraction"])
    first, second, *_ = run["waterfall"]
    assert first["name"] == f"the {best['name']} peak"
    assert first["seconds"] == pytest.approx(best["fraction"] * run["latency_s"])
    assert second["name"] == f"limit of {best['name'].partition(' ')[0]} in the model"


def test_the_waterfall_and_the_path_add_up(run: Any) -> None:
    for name in ("waterfall", "path"):
        assert sum(each["seconds"] for each in run[name]) == pytest.approx(run["latency_s"], rel=1e-9)


def test_shares_are_of_the_scopes_peak_and_name_their_source(run: Any) -> None:
    shares = {each["name"]: each for each in run["shares"]}
    assert {"tensor bf16", "hbm", "dma"} <= set(shares)
    tensor = shares["tensor bf16"]
    assert tensor["reached"] == pytest.approx(run["flops"] / run["latency_s"])
    moved = run["bytes"]["hbm_read"] + run["bytes"]["hbm_write"]
    assert shares["hbm"]["reached"] == pytest.approx(moved / run["latency_s"])
    assert tensor["peak"] == pytest.approx(10e15 / 16 / 8)  # the seed's instance figure, one core's part
    assert tensor["source"] == "seed-trn2"
    for each in shares.values():
        assert 0 < each["fraction"] < 1
        assert each["evidence"] in ("documented", "derived")
        assert each["scope"] == "core"


def test_more_cores_have_the_peak_of_their_scope_and_are_no_faster(run: Any) -> None:
    device = told("--cores", "device")
    whole = told("--cores", "instance")
    assert (device["cores"], device["scope"]) == (8, "device")
    assert (whole["cores"], whole["scope"]) == (128, "instance")
    assert run["latency_s"] <= device["latency_s"] <= whole["latency_s"] * (1 + 1e-12)
    peak = {each["name"]: each["peak"] for each in whole["shares"]}
    assert peak["tensor bf16"] == pytest.approx(10e15)
    assert peak["hbm"] == pytest.approx(46.4e12)


def test_the_table_for_people() -> None:
    result = call("run", f"{SMALL}::matmul", "-i", TRN2, *MATMUL, "--lines")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"matmul on {TRN2}, 1 core: ")
    assert " emulated, bound by " in lines[0]
    for title in (
        "Of each peak, scope core",
        "Busy, one core",
        "Bytes moved, one core",
        "From the peak to the time",
        "Critical path",
        "Time by source line",
    ):
        assert title in lines
    line = next(each for each in lines if "nisa.nc_matmul(acc, left, right)" in each)
    assert line.startswith("small.py:")
    assert " tensor " in line


def test_a_kernel_that_is_not_looked_through_for_faults_says_so() -> None:
    sentence = "faults on a device were not looked for: trnbench nki check looks for them"
    small, grid = ("softmax", "--arg", "rows=128", "--arg", "columns=128"), ("--grid", "2")
    assert sentence not in call("run", *small, "-i", "trn2-16.48xlarge").stderr
    assert sentence in call("run", *small, *grid, "-i", "trn2-16.48xlarge").stderr


def test_every_line_that_issued_something_has_time(run: Any) -> None:
    assert len(run["lines"]) >= 4  # zeros that a product overwrites are none
    assert all(each["seconds"] > 0 for each in run["lines"])
    assert sum(each["instructions"] for each in run["lines"]) == run["instructions"]
    spent = [each["seconds"] for each in run["lines"]]
    assert spent == sorted(spent, reverse=True)
    # Transfers count with the time of the DMA engines, not with that of their triggers.
    engines = [run["busy_s"].get(each, 0.0) for each in ("tensor", "vector", "scalar", "gpsimd", "dma")]
    assert sum(spent) == pytest.approx(sum(engines), rel=0.05)


def test_csv_and_markdown(run: Any) -> None:
    table = call("run", f"{SMALL}::matmul", "-i", TRN2, *MATMUL, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(table.stdout)))
    assert {row["evidence"] for row in rows} == {"emulated"}
    assert float(rows[0]["value"]) == run["latency_s"]
    fall = [float(row["value"]) for row in rows if row["part"] == "waterfall"]
    assert sum(fall) == pytest.approx(run["latency_s"])
    text = call("run", f"{SMALL}::matmul", "-i", TRN2, *MATMUL, "--format", "md").stdout
    assert text.startswith(f"**matmul on {TRN2}, 1 core: ")
    assert "| name | time | of the time |" in text


def test_side_by_side() -> None:
    runs = listed("nki", "run", f"{SMALL}::matmul", *MATMUL, "--all-generations")
    assert [each["generation"] for each in runs] == ["trn1", "trn2", "trn3"]
    assert len({each["latency_s"] for each in runs}) == 3


def test_a_generation_that_cannot_run_it_says_why(tmp_path: Path) -> None:
    file = tmp_path / "deep.py"
    file.write_text(
        "import nki\nimport nki.language as nl\n\n@nki.jit\ndef deep(x):\n"
        "    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    nl.store(out, nl.load(x))\n    return out\n"
    )
    # 240 KiB of a partition fit into trn3's SBUF only.
    result = call("run", f"{file}::deep", "--arg", "x=128x122880:bf16", "--all-generations")
    assert result.exit_code == 0, result.stderr
    rows = {line.split()[0]: line for line in result.stdout.splitlines()[2:]}
    for name, room in (("trn1", "196,608"), ("trn2", "229,376")):
        assert rows[name].endswith(
            "ndarray: 245,760 bytes per partition of bfloat16[128, 122880]@sbuf exceed the "
            f"{room} of SBUF on {name} (deep.py:7)"
        )
    assert " emulated" in rows["trn3"]


class TestTrace:
    def test_it_opens_and_keeps_the_rules(self, tmp_path: Path) -> None:
        path = tmp_path / "t.json"
        run = told("--trace", str(path))
        data = path.read_bytes()
        assert complaints(data) == []
        whole = json.loads(data)
        slices = [each for each in whole["traceEvents"] if each["ph"] == "X"]
        triggers = [each for each in slices if each["name"].startswith("trigger ")]
        transfers = [each for each in slices if each["cat"].endswith(" ring")]
        assert len(triggers) == len(transfers) > 0
        assert len(slices) == run["instructions"] + len(triggers) + 1  # and the launch
        end = max(each["ts"] + each["dur"] for each in slices)
        assert end <= run["latency_s"] * 1e6 * (1 + 1e-9)
        assert end > 0.9 * run["latency_s"] * 1e6
        assert {"tensor", "vector", "sync", "load ring", "store ring"} <= {each["cat"] for each in slices}
        begun = [each["name"] for each in whole["traceEvents"] if each["ph"] == "s"]
        assert begun.count("trigger") == len(triggers)
        assert any(each["ph"] == "C" for each in whole["traceEvents"])
        assert whole["otherData"]["evidence"].startswith("emulated by ")
        matmul = next(each for each in slices if each["name"] == "nc_matmul")
        assert matmul["args"]["line"].startswith("small.py:")
        assert matmul["args"]["evidence"] == "emulated"
        assert list(tmp_path.iterdir()) == [path]

    def test_the_cap_is_said(self, tmp_path: Path) -> None:
        path = tmp_path / "t.json"
        result = call(
            *("run", f"{SMALL}::scaled", "-i", TRN2, "--arg", "x=51200x64:bf16"),
            *("--trace", str(path), "--trace-limit", "128K"),
        )
        assert result.exit_code == 0, result.stderr
        assert path.stat().st_size <= 128 << 10
        assert complaints(path.read_bytes()) == []
        assert (
            f"warning: {path} is not complete: the file is capped at 131,072 bytes: it has " in result.stderr
        )

    def test_of_many_cores_one_is_shown_and_that_is_said(self, tmp_path: Path) -> None:
        path = tmp_path / "t.json"
        told("--cores", "device", "--trace", str(path))
        assert json.loads(path.read_bytes())["otherData"]["missing"] == (
            "core 0 of 8 is shown, the others do the same"
        )

    def test_its_own_file_is_replaced_another_is_not(self, tmp_path: Path) -> None:
        path = tmp_path / "t.json"
        told("--trace", str(path))
        told("--trace", str(path))
        other = tmp_path / "mine.json"
        other.write_text("{}")
        result = call("run", f"{SMALL}::matmul", "-i", TRN2, *MATMUL, "--trace", str(other))
        assert result.exit_code == 2
        assert result.stderr == (
            f"error: {other} exists and is no file of trnbench\n"
            "  cause: it is not overwritten, in case it is needed\n"
            "  try:   --force  overwrites it; or name another file with --trace\n"
        )
        assert other.read_text() == "{}"
        assert (
            call("run", f"{SMALL}::matmul", "-i", TRN2, *MATMUL, "--trace", str(other), "--force").exit_code
            == 0
        )
        assert complaints(other.read_bytes()) == []


class TestPython:
    def test_the_same_as_the_command(self, run: Any) -> None:
        made = trnbench.emulate_kernel(
            f"{SMALL}::matmul",
            {"lhs_t": TensorSpec((128, 128), "bf16"), "rhs": np.zeros((128, 512), np.float16)},
            instance=TRN2,
        )
        assert isinstance(made, trnbench.KernelRun)
        same = trnbench.emulate_kernel(
            f"{SMALL}::matmul",
            {"lhs_t": TensorSpec((128, 128), "bf16"), "rhs": TensorSpec((128, 512), "bf16")},
            instance=TRN2,
        )
        assert same.latency_s == run["latency_s"]
        assert [each.fraction for each in same.shares] == [each["fraction"] for each in run["shares"]]

    def test_wrong_words(self) -> None:
        with pytest.raises(trnbench.TrnbenchError, match="cores='all' is unknown"):
            trnbench.emulate_kernel("x.py::k", {}, instance=TRN2, cores="all")


def test_through_the_installed_program(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "trnbench", "nki", "run", f"{SMALL}::scaled", "-i", TRN2),
            *("--arg", "x=200x64:bf16", "--arg", "factor=3", "--check", "reference", "--trace", "t.json"),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"scaled on {TRN2}, 1 core: ")
    assert "as the reference" in done.stdout
    assert "random values, seed 0: x\nwrote t.json: 11 slices, " in done.stderr
    assert complaints((tmp_path / "t.json").read_bytes()) == []


def test_arguments_of_an_emulated_kernel_are_given_by_name() -> None:
    with pytest.raises(UsageError) as refused:
        trnbench.emulate_kernel("trnbench_kernels.nki.rows:softmax", [1], instance="trn2-16.48xlarge")  # type: ignore[arg-type]
    assert str(refused.value).splitlines() == [
        "args is a list",
        "  cause: arguments are given by name",
        "  try:   emulate_kernel(…, {'x': …}, …)",
    ]
