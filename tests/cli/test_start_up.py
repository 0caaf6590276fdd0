"""What commands that only look something up import: nothing that carries cases out, and nothing heavy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "_hashlib",
    "ctypes",
    "difflib",
    "email",
    "random",
    "statistics",
    "importlib.metadata",
    "jinja2",
    "json",
    "multiprocessing",
    "numpy",
    "rich",
    "shutil",
    "subprocess",
    "tempfile",
    "tomllib",
    "trnbench.cli.carrying",
    "trnbench.cli.ended",
    "trnbench.facts.load",
}
"""Each costs more than most of what these commands do. Files of facts and costs were read before."""

PARTS = ("emulator", "fidelity", "neuron", "ray", "steps", "torch")
WATCHED = (
    *(f"trnbench.{name}." for name in ("measure", "run", "store")),
    *(f"trnbench_{name}." for name in PARTS),
)
"""Packages that carry runs out: what of them is imported is listed."""

PLUGINS = {f"trnbench_{name}.plugin" for name in PARTS}
"""Loaded for their hooks, whatever is asked."""

PLAN = {
    "trnbench.run.axes",
    "trnbench.run.extents",
    "trnbench.run.plan",
    "trnbench.run.points",
    "trnbench.run.selection",
    "trnbench.run.sources",
    "trnbench.store.cache",
    "trnbench.store.path",
    "trnbench.store.source_digest",
}


def imported(folder: Path, *arguments: str) -> set[str]:
    """Modules of a second call: the first one leaves what it read in the cache."""
    script = (
        "import sys\n"
        "from trnbench.cli.main import cli\n"
        f"try: cli.main({list(arguments)!r})\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)\n"
    )
    environment = {**os.environ, "TRNBENCH_STORE": str(folder / "results.db")}
    for _ in range(2):
        told = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
        )
    return set(told.stderr.split())


@pytest.mark.parts
@pytest.mark.parametrize(
    ("arguments", "more"),
    [
        (("info", "gemm"), {"trnbench.run.metrics"}),
        (
            ("run", "--dry-run"),
            {
                "trnbench_emulator.backend",
                "trnbench_emulator.clock",
                "trnbench_torch.library",
                "trnbench.run.api",
                "trnbench.run.executor",
                "trnbench.run.reply",
                "trnbench.run.settings",
                "trnbench.store.tag",
            },
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_looked_up_is_all_that_is_imported(
    tmp_path: Path, arguments: tuple[str, ...], more: set[str]
) -> None:
    modules = imported(tmp_path, *arguments)
    assert not modules & HEAVY
    assert {name for name in modules if name.startswith(WATCHED)} == PLUGINS | PLAN | more


@pytest.mark.parts
def test_a_step_that_is_known_imports_nothing_to_work_one_out(tmp_path: Path) -> None:
    """Nor to compare the model with what is published, nor processes for cases that none of them gets."""
    words = ("workload", "run", "bert-base", "-i", "trn1.2xlarge", "--task", "prefill", "--sequence", "128")
    modules = imported(tmp_path, *words)
    computing = {"multiprocessing", "numpy", "pickle", "random", "rich", "statistics", "tempfile"}
    models = {"trnbench_emulator.core", "trnbench_emulator.fabric", "trnbench_fidelity.validate"}
    assert not modules & {*computing, *models, "trnbench.run.pool", "trnbench_steps.step"}


def test_a_process_for_cases_begins_without_models_and_numbers() -> None:
    """Each process that carries cases out is a new one, and pays for this once more."""
    script = "import sys, trnbench.run.worker, trnbench.run.preparation\nprint('\\n'.join(sys.modules))"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    modules = set(told.stdout.split())
    assert "numpy" not in modules
    assert {name for name in modules if name.startswith("trnbench_emulator")} <= {"trnbench_emulator"}
