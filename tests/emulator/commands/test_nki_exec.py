"""`trnbench nki exec`: scripts and suites run as they are, and nothing of it passes for a measurement."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trnbench_emulator.backend import MODEL_VERSION

EMULATED = f"emulated, model {MODEL_VERSION}"
TEXTS = Path(__file__).parent / "nki_exec"
KERNELS, SCRIPT, SUITE, TORCH, XLA = (
    (TEXTS / f"{name}.txt").read_text() for name in ("kernels", "script", "suite", "torch", "xla")
)
"""The kernels stand before each of the others but the stand-in of PyTorch."""


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from trnbench.program import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, "nki", "exec", *words],
        capture_output=True, text=True, cwd=folder, env={**os.environ, **environment}, check=False,
    )  # fmt: skip


def test_a_script_runs_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(KERNELS + SCRIPT)
    done = run(tmp_path, "-i", "trn2-16.48xlarge", "script.py", "--size", "3", "-q")
    assert done.returncode == 7, done.stderr
    assert done.stdout.startswith("emulated BenchmarkResult(")
    assert done.stdout.endswith("expected) ['--size', '3', '-q'] __main__\n")
    first, last = done.stderr.splitlines()
    digest = hashlib.sha256((KERNELS + SCRIPT).encode()).hexdigest()[:16]
    begin = f"{EMULATED}: no device runs anything; trn2-16.48xlarge; script.py, "
    assert first == f"{begin}sha256 {digest}, unchanged"
    assert last == f"{EMULATED}: 6 calls of kernels on trn2-16.48xlarge, 3 of them timed"
    for file in ("file.neff", "traces/t.ntff"):
        assert (tmp_path / file).read_text().startswith(f"{EMULATED}: no device ran it, this is no NEFF")


def test_a_script_follows_the_configured_facts(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(KERNELS)
    done = run(tmp_path, "-i", "trn2-16.48xlarge", "script.py", TRNBENCH_FACTS="none.toml")
    assert (done.returncode, "there is no file " in done.stderr) == (2, True), done.stderr


def test_a_suite_of_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_kernels.py").write_text(KERNELS + SUITE)
    done = run(
        tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", NEURON_PLATFORM_TARGET_OVERRIDE="gen3"
    )
    assert (done.returncode, "1 failed, 2 passed" in done.stdout) == (1, True), done.stdout + done.stderr
    assert done.stderr.startswith(f"{EMULATED}: ")
    assert "; trn2" in done.stderr
    assert "3 calls of kernels" in done.stderr.splitlines()[-1]


def test_tensors_of_torch_and_the_device_calls_of_torch_xla(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text(TORCH)
    (tmp_path / "script.py").write_text(KERNELS + XLA)
    done = run(tmp_path, "-i", "trn1.2xlarge", "script.py")
    lines = done.stderr.splitlines()
    assert done.returncode == 3, done.stderr
    assert lines[-3].startswith("error: torch_xla.core.xla_model.all_reduce is used, which trnbench does not")
    assert "2 calls of kernels" in lines[1]


FAULTS = [
    ("raise ValueError('no')", 1, "ValueError: no"),
    ("import sys; sys.exit('stopped')", 1, "stopped"),
    ("import sys; sys.exit()", 0, ""),
    ("import torch_neuronx", 1, "No module named 'torch_neuronx'"),
]


PACKAGE = {
    "pyproject.toml": "",
    "model/__init__.py": "from .parts import host",
    "model/parts/__init__.py": "import absent_runtime\nhost = absent_runtime.start()",
    "model/parts/own.py": "from . import host",
    "model/kernels.py": KERNELS,
}


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("from model.kernels import added, x\nassert (added(x, x) == 2 * x).all()", 0, "1 calls of kernels"),
        ("from model import host", 1, "No module named 'absent_runtime', in model.parts"),
        ("import model.parts.own", 1, "No module named 'absent_runtime', in model.parts"),
        ("import model.missing", 1, "No module named 'model.missing'"),
    ],
)
def test_a_package_that_asks_for_what_is_not_installed(
    line: str, code: int, words: str, tmp_path: Path
) -> None:
    for name, text in PACKAGE.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(text)
    (tmp_path / "script.py").write_text(line)
    done = run(tmp_path, "-i", "trn2-16.48xlarge", "script.py")
    assert done.returncode == code, done.stderr
    assert words in done.stderr


@pytest.mark.parametrize(("text", "code", "words"), FAULTS)
def test_how_a_script_ends(text: str, code: int, words: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(text + "\n")
    done = run(tmp_path, "-i", "trn1.2xlarge", "script.py")
    assert done.returncode == code
    assert words in done.stderr
    assert done.stderr.splitlines()[-1].startswith(EMULATED)
    assert "commands/nki" not in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-i", "trn1.2xlarge"], "error: no script is named"),
        (["-i", "trn1.2xlarge", "nowhere.py"], "error: nowhere.py does not exist"),
        (["-i", "trn1.2xlarge", "-m", "no_such_module"], "error: module no_such_module is not there"),
        (["script.py"], "error: no --instance is given"),
    ],
)
def test_what_cannot_be_run(words: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("")
    done = run(tmp_path, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)
