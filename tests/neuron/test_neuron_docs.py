"""docs/neuron.md, doctor and the command line say what the code does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from command import loaded

from trnbench.cli.doctor import _backend
from trnbench.registry import load_registry
from trnbench_neuron import nccom
from trnbench_neuron.backend import NeuronBackend
from trnbench_neuron.conversation import STAGES
from trnbench_neuron.settings import UNVERIFIED, VARIABLES, Settings


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "neuron.md").read_text()


def test_every_variable_is_explained(page: str) -> None:
    assert set(re.findall(r"TRNBENCH_NEURON_\w+", page)) == set(VARIABLES)


def test_the_page_says_that_nothing_was_tried(page: str) -> None:
    assert "None of it was tried on real hardware" in page
    for word in (
        "C28",
        "neuron-ls -j",
        nccom.NAME,
        "neuron-monitor",
        "neuron-explorer",
        "nrtpy",
        "neuronxcc.nki",
    ):
        assert word in page


def test_doctor_prints_what_is_unverified(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = list(_backend(NeuronBackend(load_registry(), Settings(tools=str(tmp_path)))))
    assert rows[0]["state"] == "not available"
    assert rows[0]["try"] == "install the package aws-neuronx-tools"
    assert [row["found"] for row in rows[1:]] == list(UNVERIFIED)
    assert {row["state"] for row in rows[1:]} == {"unverified"}


def test_the_plugin_yields_the_backend_and_imports_little() -> None:
    code = "import trnbench_neuron as it; print([each.name for each in it.trnbench_backends(None)])"
    names, modules = loaded(code)
    assert names == "['neuron']\n"
    assert not modules & {"numpy", "subprocess", "trnbench_neuron.host", "trnbench.registry.registry"}


def test_scripts_of_other_environments_import_nothing_of_ours() -> None:
    for path in STAGES.glob("*.py"):
        assert "trnbench" not in path.read_text(), path.name


def test_sampling_time_is_handed_on() -> None:
    from trnbench.measure.sampling import TimeLimit
    from trnbench_neuron import neff
    from trnbench_neuron.nki_case import KernelObserving

    observing = object.__new__(KernelObserving)
    observing.sample_s = NeuronBackend(load_registry()).tuned(2.5)._sample_s
    limits = [rule for rule in observing._rules(neff.RULES) if isinstance(rule, TimeLimit)]
    assert [each.seconds for each in limits] == [2.5]
    observing.sample_s = 0.0
    assert observing._rules(neff.RULES) == neff.RULES


def test_a_run_of_the_stack_is_kept_and_graded(tmp_path: Path, settings: Settings) -> None:
    from trnbench.results.json import dumps
    from trnbench.results.measurement import Grade
    from trnbench.run.execute import execute
    from trnbench.run.plan import plan
    from trnbench.run.selection import RunSettings, Selection
    from trnbench.store.store import Store

    registry = load_registry()
    planned = plan(
        registry,
        Selection(
            kernels=("gemm", "all_reduce", "broadcast"),
            instances=("trn2-16.48xlarge",),
            dtypes=("bf16",),
            axes=("size=128",),
            scopes=("core", "instance"),
            keyword="core or all_reduce or broadcast",
        ),
    )
    # How several processes agree is asked of others: here they would be the stand-ins' scripts.
    backend, once = NeuronBackend(registry, settings), RunSettings(processes=1)
    with Store(tmp_path / "r.db") as store:
        run = execute(planned, backend, registry, once, store=store)
    assert run.grade is Grade.MEASURED
    states = {each.id.split("::")[1]: str(each.status) for each in run.measurements}
    assert states.get("gemm[dtype=bf16,size=128]@core") == "ok", (states, run.notes)
    assert states["all_reduce[dtype=bf16,size=128]@instance"] in ("ok", "suspect")
    assert states["broadcast[dtype=bf16,size=128]@instance"] == "skipped"
    assert run.environment["neuron_device_name"] == "Trainium2"
    told = str(dumps(run))
    identity = ("i-aabbccdd", "i-0011", "113985", "My_Instance", "subnet", "us-west", "SERIAL")
    assert not [word for word in (*identity, "neuron-bench exec") if word in told]
