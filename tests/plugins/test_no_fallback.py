"""A third party's kernel whose source cannot be emulated: failed, by name and line, never an estimate."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from messages import messages
from plugin_parts import Install, Trnbench

pytestmark = pytest.mark.parts


HERE = Path(__file__).parent
PLUGIN = (HERE / "acme_double.py.txt").read_text(encoding="utf-8")
SOURCE = (HERE / "acme_nki.py.txt").read_text(encoding="utf-8")
WHERE = ("acme_double", "-i", "trn2-16.48xlarge", "--no-report")


@pytest.fixture
def bring(site: Path, install: Install) -> Callable[..., None]:
    """`bring(old, new)`: the plugin is installed, that one thing changed in its source."""

    def make(old: str = "", new: str = "") -> None:
        assert old in SOURCE
        install("acme-double", PLUGIN)
        (site / "acme_nki.py").write_text(SOURCE.replace(old, new))

    return make


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept") / "results.db"


@pytest.fixture(autouse=True)
def _one_store(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for all tests: what a run says of published points and of graphs is worked out once."""
    monkeypatch.setenv("TRNBENCH_STORE", str(kept))


def reasons(trnbench: Trnbench) -> list[tuple[str, str, str]]:
    """(status, grade, reason) of each case of the newest run."""
    run = json.loads(trnbench("export", "latest", "--as", "json").stdout)
    return [
        (each["status"], each["evidence"]["grade"], each.get("reason_text", ""))
        for each in run["measurements"]
    ]


@pytest.mark.parametrize(("change", "text", "_"), messages(HERE / "sources_that_fail.txt"))
def test_a_source_that_fails_fails_every_case(
    bring: Callable[..., None], trnbench: Trnbench, change: str, text: str, _: int
) -> None:
    bring(*change.replace("\\n", "\n").split(" | "))
    done = trnbench("run", *WHERE)
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert f"failed: trn2-16.48xlarge::acme_double[dtype=bf16,rows=128]@core: {text}\n" in done.stderr
    found = reasons(trnbench)
    assert [(status, grade) for status, grade, _ in found] == [("failed", "emulated")] * 4
    assert found[0][2] == text


def test_plugin_check_names_what_fails(bring: Callable[..., None], trnbench: Trnbench) -> None:
    bring("nisa.tensor_scalar(", "nisa.tensr_scalar(")
    told = trnbench("plugin", "check", "acme-double", "--only", "emulation", "--only", "values")
    assert told.returncode == 1
    assert (
        "emulation: trn1.2xlarge::acme_double[dtype=bf16,rows=128]@core\n"
        "  failed (error): acme_nki:double (acme_nki.py:5) cannot be recorded: nki.isa has no 'tensr_scalar' "
        "(acme_nki.py:12); did you mean tensor_scalar, tensor_scalar_reduce, tensor_scalar_cumulative? "
        "(10 cases)\n"
        "  try:   trnbench nki run acme_double -i trn1.2xlarge --arg dtype=bf16 --arg rows=128\n"
    ) in told.stdout
    assert (
        "values: kernel acme_double[dtype=bf16,rows=128]\n"
        "  acme_nki:double (acme_nki.py:5): nki.isa has no 'tensr_scalar' (acme_nki.py:12); did you mean "
        "tensor_scalar, tensor_scalar_reduce, tensor_scalar_cumulative?\n"
    ) in told.stdout
    assert "Traceback" not in told.stdout + told.stderr


def test_a_source_that_works_is_emulated(bring: Callable[..., None], trnbench: Trnbench) -> None:
    bring()
    done = trnbench("run", *WHERE)
    assert done.returncode == 0
    assert reasons(trnbench) == [("ok", "emulated", "")] * 4


def test_a_declared_formula_is_derived_and_shown_as_that(bring: Any, trnbench: Any, tmp_path: Path) -> None:
    bring(
        "def double_inputs(point):\n", "def double_inputs(point):\n    if point['rows'] > 128: return None\n"
    )
    done = trnbench("run", *WHERE, "-a", "rows=256")
    assert done.returncode == 0
    assert reasons(trnbench) == [("ok", "derived", "")] * 2
    shown = json.loads(trnbench("runs", "show", "latest", "--format", "json").stdout)["cases"]
    assert [each["evidence"] for each in shown] == ["derived", "derived"]
    rows = list(csv.DictReader(io.StringIO(trnbench("export", "latest", "--as", "csv").stdout)))
    assert {each["evidence"] for each in rows} == {"derived"}
    assert {each["evidence_by"] for each in rows} == {
        "roofline: max(engines + lead, DMA, device memory) + fill + launch"
    }
    (measured, _) = json.loads(trnbench("export", "latest", "--as", "json").stdout)["measurements"]
    assert measured["evidence"]["note"] == (
        "hbm_bytes = 2 · rows · 2048 · bytes of an element; acme_double declares: its NKI sources take no "
        "such point"
    )
    assert trnbench("report", "latest", "-o", "page.html").returncode == 0
    board = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<abbr title=derived>F</abbr>" in board


# An emulator of somebody else's takes the place of ours by its entry point; the core cannot tell them ---

ROOFLINE = HERE.parent / "third_party" / "roofline_emulator.py"
GEMM = ("gemm", "-i", "trn2-16.48xlarge", "--dtype", "bf16", "-a", "size=4096", "--scope", "device")


@pytest.fixture
def emulator(install: Install) -> None:
    text = ROOFLINE.read_text(encoding="utf-8")
    assert text.count("\n") <= 60
    install("roofline-emulator", text)


@pytest.mark.usefixtures("emulator")
def test_it_is_the_usual_backend_where_ours_is_left_out(trnbench: Trnbench) -> None:
    done = trnbench("--no-plugin", "emulator", "run", *GEMM, "--no-report", "--format", "json")
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
    done = trnbench("run", *GEMM, "--no-report", "--format", "json")
    assert done.returncode == 0, done.stderr
    listed = trnbench("plugin", "list").stdout
    assert "brings backend 'emulated', which has an owner" in " ".join(listed.split())
    run = json.loads(trnbench("export", "latest", "--as", "json").stdout)
    assert run["measurements"][0]["evidence"]["by"] == "trnbench schedule + flows"


@pytest.mark.usefixtures("emulator")
def test_what_it_does_not_draw_is_said(trnbench: Trnbench) -> None:
    assert trnbench("--no-plugin", "emulator", "run", *GEMM, "--no-report").returncode == 0
    case = "trn2-16.48xlarge::gemm[dtype=bf16,size=4096]@device:sharded"
    done = trnbench("--no-plugin", "emulator", "runs", "trace", "latest", case)
    assert done.returncode == 2
    assert done.stderr == (
        f"error: {case} has no timeline\n"
        "  cause: it was made by the backend 'emulated', and no plugin that is installed draws its cases\n"
        "  try:   trnbench plugin list\n"
    )
