"""What commands that only look something up import: nothing that carries cases out, and nothing heavy."""

from __future__ import annotations

import pytest
from command import loaded, loaded_by

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

PLAN = {
    "trnbench.run.axes",
    "trnbench.run.extents",
    "trnbench.run.points",
    "trnbench.run.plan",
    "trnbench.run.selection",
    "trnbench.run.sources",
    "trnbench.store.cache",
    "trnbench.store.compression",
    "trnbench.store.path",
    "trnbench_emulator.plugin",
}


def imported(*words: str) -> set[str]:
    """Modules of a second call: the first one leaves what it read in the cache."""
    loaded_by(*words)
    return loaded_by(*words)[1]


@pytest.mark.parts
@pytest.mark.parametrize(
    ("arguments", "more"),
    [
        (("info", "gemm"), {"trnbench.run.metrics"}),
        (
            ("run", "--dry-run"),
            {
                "trnbench_emulator.backend",
                "trnbench.run.api",
                "trnbench.run.executor",
                "trnbench.run.reply",
                "trnbench.run.selection",
                "trnbench.store.tag",
            },
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_looked_up_is_all_that_is_imported(arguments: tuple[str, ...], more: set[str]) -> None:
    modules = imported(*arguments)
    assert not modules & HEAVY
    assert {name for name in modules if name.startswith(WATCHED)} == PLAN | more


@pytest.mark.parts
def test_a_step_that_is_known_imports_nothing_to_work_one_out() -> None:
    """Nor to compare the model with what is published, nor processes for cases that none of them gets."""
    words = ("workload", "run", "bert-base", "-i", "trn1.2xlarge", "--task", "prefill", "--sequence", "128")
    modules = imported(*words)
    computing = {"multiprocessing", "numpy", "pickle", "random", "rich", "statistics", "tempfile"}
    models = {"trnbench_emulator.core", "trnbench_emulator.fabric", "trnbench_fidelity.validate"}
    assert not modules & {*computing, *models, "trnbench.run.pool", "trnbench_steps.step"}


def test_a_process_for_cases_begins_without_models_and_numbers() -> None:
    """Each process that carries cases out is a new one, and pays for this once more."""
    _, modules = loaded("import trnbench.run.worker, trnbench.run.preparation")
    assert "numpy" not in modules
    assert {name for name in modules if name.startswith("trnbench_emulator")} <= {"trnbench_emulator"}
