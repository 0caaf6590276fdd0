"""docs/examples/search.py: what search programs call, on a session."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from trnbench.nki import Session

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
TEXT = (EXAMPLES / "kernel.py").read_text()
TASK = (Path(__file__).parent / "nki_kernels" / "task.txt").read_text()
PROBLEM = {
    "function": "matmul",
    "arguments": {"a": "256x128:fp32", "b": "256x128:fp32"},
    "reference": "matmul_reference",
}


@pytest.fixture(scope="module")
def search() -> ModuleType:
    spec = importlib.util.spec_from_file_location("search", EXAMPLES / "search.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def session(search: ModuleType) -> Iterator[Session]:
    with Session(search.TRN2) as opened:
        yield opened


@pytest.mark.parametrize(
    ("change", "runs", "correct"),
    [
        (("", ""), True, True),
        (("src=sums", "src=left"), True, False),
        (("range(m // 128)", "range(m // 64)"), False, False),
    ],
)
def test_nkibench_and_accelopt(
    search: ModuleType, session: Session, tmp_path: Path, change: tuple[str, str], runs: bool, correct: bool
) -> None:
    task, program = tmp_path / "task.py", tmp_path / "program.py"
    task.write_text(TASK)
    program.write_text(TEXT.replace("def matmul(", "def kernel(").replace(*change))
    result = search.nkibench_profile(session, program, task, tmp_path)
    assert (result["compiled"], result["runnable"], result["correct"]) == (runs, runs, correct)
    metadata: dict[str, Any] = result["metadata"]
    assert ("latency" in metadata) is runs
    assert ("compilation_error" in metadata) is not runs
    assert ("correctness_error" in metadata) is (runs and not correct)
    if runs:
        assert 0 < metadata["min_ms"] == metadata["latency"] == metadata["max_ms"]
        assert metadata["evidence"].startswith("emulated by ")


def test_autocomp(search: ModuleType, session: Session) -> None:
    codes = [TEXT, TEXT.replace("range(m // 128)", "range(m // 64)")]
    good, bad = search.autocomp_evaluate(session, codes, PROBLEM)
    assert good["correct"]
    assert 1 < good["latency"] < 1000
    assert (bad["correct"], bad["latency"]) == (False, float("inf"))
    assert "outside dimension" in bad["stderr"]


def test_kernelbench(search: ModuleType, session: Session) -> None:
    good = search.kernelbench_evaluate(session, TEXT, PROBLEM)
    assert (good["compiled"], good["correctness"]) == (True, True)
    assert "emulated" in good["metadata"]["hardware"]
    bad = search.kernelbench_evaluate(session, "def matmul(:", PROBLEM)
    assert (bad["compiled"], bad["runtime"]) == (False, -1.0)


def test_inputs_that_are_no_arguments(session: Session) -> None:
    source = f"{TEXT}\ndef inputs():\n    return 3\n"
    answer = session.ask(source=source, function="matmul", inputs="inputs")
    assert (answer.verdict, answer.error.cause) == (
        "invalid",
        "it returns a list of them, in the order (a, b)",
    )
