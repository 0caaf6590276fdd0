"""The core with the reports, one generation and the host, and no other part: it measures, reports and
explains."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from pathlib import Path

import core_alone
import pytest

PARTS = "emulator|kernels|steps|fidelity|neuron|torch|ray|trn1|trn2|trn3|host|cuda|reports"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return core_alone.build(tmp_path_factory.mktemp("core") / "environment")


def test_no_other_part_can_be_imported(python: Path, tmp_path: Path) -> None:
    code = (
        "import importlib.util as u; "
        f"print([p for p in {PARTS!r}.split('|') if u.find_spec('trnbench_' + p) is not None])"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.stdout == "['trn2', 'host', 'reports']\n"


def test_a_run_measures_the_host_and_writes_its_page(python: Path, tmp_path: Path) -> None:
    words = ("run", "host_matmul", "-a", "size=128", "--sample-time", "0.02", "--processes", "1", "-q")
    done = core_alone.ask(python, *words, "-o", str(tmp_path / "page.html"), cwd=tmp_path)
    # Of a busy machine a case may be suspect: its clock was found while others ran.
    assert done.returncode in (0, 1), done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "host_matmul" in page
    assert "could not be drawn" not in page
    listed = core_alone.ask(python, "runs", "list", "--format", "csv", cwd=tmp_path).stdout
    assert "measured" in listed


def test_facts_topologies_and_plans_need_no_other_part(python: Path, tmp_path: Path) -> None:
    shown = core_alone.ask(python, "spec", "show", "trn2-16.48xlarge", cwd=tmp_path)
    assert (shown.returncode, "seed-trn2" in shown.stdout) == (0, True), shown.stdout + shown.stderr
    graph = core_alone.ask(python, "topology", "show", "trn2-16.48xlarge", cwd=tmp_path)
    assert graph.returncode == 0, graph.stderr
    checked = core_alone.ask(python, "plugin", "check", "host", cwd=tmp_path)
    assert "all well" in checked.stderr, checked.stdout + checked.stderr
    assert core_alone.ask(python, "doctor", cwd=tmp_path).returncode == 0


CORE = (
    "bounded", "cli", "compare", "facts", "host", "isolation", "measure", "peaks", "plugins", "report",
    "results", "run", "store", "topology",
)  # fmt: skip
"""Folders of the core's own tests; those that ask for more are marked `parts`."""


@pytest.mark.campaign("environments")
def test_the_tests_of_the_core_pass_there(python: Path, root: Path) -> None:
    folders = [f"tests/{name}" for name in CORE]
    options = ("-q", "-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_"))}
    done = subprocess.run(
        [python, "-m", "pytest", *options, *folders],
        cwd=root, env=environment, capture_output=True, text=True, timeout=3000,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert int(passed[1]) > 2000  # the marker is for exceptions


def test_without_a_backend_that_fits_it_says_so(python: Path, tmp_path: Path) -> None:
    done = core_alone.ask(python, "run", "-i", "trn2-16.48xlarge", "--backend", "emulated", cwd=tmp_path)
    assert done.returncode == 2
    assert "unknown backend 'emulated'" in done.stderr


def test_no_text_of_the_core_names_a_module_of_a_part(root: Path) -> None:
    # Hooks are called trnbench_kernels and trnbench_reports, as two packages are.
    named = re.compile(rf"\btrnbench_({PARTS})[.:/]|^trnbench_(?!kernels$|reports$)({PARTS})$")
    for path in sorted((root / "harness").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        documented = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        texts = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented
        ]
        assert [text for text in texts if named.search(text)] == [], path
