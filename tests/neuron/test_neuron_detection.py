"""Which instance this is: by the list of devices, held against what plugins describe."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trnbench.facts.fact import Scope
from trnbench.kernels.kernel import Case
from trnbench.registry import Registry, load_registry
from trnbench_neuron.backend import NeuronBackend
from trnbench_neuron.settings import VARIABLES, Settings, child_environment


def test_nothing_is_started_where_there_is_no_tool(tmp_path: Path) -> None:
    class Never:
        def instance_names(self) -> tuple[str, ...]:
            raise AssertionError("no plugin is asked")

    backend = NeuronBackend(Never(), Settings(tools=str(tmp_path)))  # type: ignore[arg-type]
    seen = backend.detect()
    assert not seen.available
    assert seen.why == f"neuron-ls is not installed: looked for in {tmp_path}"
    assert seen.try_ == "install the package aws-neuronx-tools"
    assert len(seen.unverified) >= 8
    assert backend.environment()["has_nccom_test"] is False


def test_the_instance_is_detected(backend: NeuronBackend) -> None:
    seen = backend.detect()
    assert (seen.available, seen.instance, seen.why) == (True, "trn2-16.48xlarge", "")
    assert any("was never" in each or "SDK 2.32" in each for each in seen.unverified)


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("no-driver", "neuron-ls ended with exit code 1: error: Neuron driver is not loaded"),
        ("empty", "neuron-ls lists no device: this instance has none, or the driver is not loaded"),
        ("flood", "neuron-ls printed more than 16 MiB and was ended"),
        ("hang", "neuron-ls was not done after 0.5 s and was ended"),
    ],
)
def test_a_tool_that_fails_makes_no_instance(mode: str, why: str, backend: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("STANDIN_LS", mode)
    if mode == "hang":
        monkeypatch.setattr("trnbench_neuron.identify.LIMIT_S", 0.5)
    seen = backend.detect()
    assert not seen.available
    assert seen.why.startswith(why)


def test_log_lines_inside_the_list_do_no_harm(backend: NeuronBackend, monkeypatch: Any) -> None:
    monkeypatch.setenv("STANDIN_LS", "noise-inside")
    assert backend.detect().instance == "trn2-16.48xlarge"


def test_the_stated_instance_is_held_against_the_devices(settings: Settings) -> None:
    stated = msgspec.structs.replace(settings, instance="trn1.32xlarge")
    seen = NeuronBackend(load_registry(), stated).detect()
    assert not seen.available
    assert seen.why.startswith("this host is no trn1.32xlarge: 8 cores per device (LNC=2 counted)")


def test_a_machine_of_a_plugin_that_is_left_out_is_not_recognised(settings: Settings) -> None:
    from trnbench_neuron import trnbench_backends

    without = load_registry(block=("trn2",))
    (backend,) = trnbench_backends(without)
    backend._settings = settings  # type: ignore[attr-defined]
    seen = backend.detect()
    assert not seen.available
    assert "trn2-16.48xlarge" not in seen.why
    assert without.backends["neuron"]._systems is without  # type: ignore[attr-defined]


def test_in_another_process_it_knows_the_same_systems(backend: NeuronBackend) -> None:

    sent = pickle.loads(pickle.dumps(backend))
    assert sent._systems is None
    assert sent.detect().instance == "trn2-16.48xlarge"


def test_detection_never_raises(settings: Settings) -> None:
    class Broken:
        def instance_names(self) -> tuple[str, ...]:
            raise RuntimeError("a plugin fell over")

    seen = NeuronBackend(Broken(), settings).detect()  # type: ignore[arg-type]
    assert not seen.available
    assert seen.why == "looking for devices failed: RuntimeError: a plugin fell over"


def test_the_environment_holds_no_identity(backend: NeuronBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURON_RT_ROOT_COMM_ID", "10.1.4.145:45654")
    monkeypatch.setenv("NEURON_RT_ONE_THREAD_PER_CORE", "1")
    found = backend.environment()
    assert found["logical_nc_config"] == 2
    assert found["neuron_device_count"] == 16
    assert found["neuron_device_memory_bytes"] == 103079215104
    assert found["neuron_device_name"] == "Trainium2"
    assert (found["nki_version"], found["nrtpy_version"]) == ("0.6.0", "2.35.30")
    assert found["neuron_rt_one_thread_per_core"] == "1"
    text = json.dumps(found)
    for secret in ("i-aabbccdd", "113985", "neuron-bench", "10.1.4.145", "SERIAL"):
        assert secret not in text


def test_the_variables_are_read_and_known_to_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    from trnbench.terminal.settings import unknown_variables

    for name in VARIABLES:
        monkeypatch.setenv(name, "0")
    assert unknown_variables(load_registry()) == {}
    read = Settings.read()
    assert not read.profile
    assert read.instance == "0"


def test_what_would_mislead_is_kept_from_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NKI_SIMULATOR", "1")
    monkeypatch.setenv("PYTHONPATH", "/ours")
    env = child_environment(NEURON_PROCESS_TAG="t")
    assert "NKI_SIMULATOR" not in env
    assert "PYTHONPATH" not in env
    assert env["NEURON_PROCESS_TAG"] == "t"


def test_a_worker_process_looks_again(backend: NeuronBackend) -> None:
    backend.detect()
    copied = pickle.loads(pickle.dumps(backend))
    assert copied._host is None
    assert copied.detect().instance == "trn2-16.48xlarge"


# What the stack cannot take: each is said before anything is started ---------------------------------

POINT = {"dtype": "bf16", "size": 256}


def test_another_instance_is_not_measured(backend: NeuronBackend, registry: Registry, case: Any) -> None:
    made = case("gemm", instance="trn1.32xlarge", **POINT)
    assert backend.unsupported(made, registry.system("trn1.32xlarge")) == (
        "this machine is trn2-16.48xlarge; a measured run is of the machine in front of you"
    )


@pytest.mark.parametrize(
    ("kernel", "scope", "point", "why"),
    [
        ("gemm", Scope.CORE, {"dtype": "tf32", "size": 256}, "NumPy has no tfloat32"),
        (
            "gemm",
            Scope.CORE,
            {"dtype": "mxfp8", "size": 192},
            "the NKI source of gemm does not take this point",
        ),
        ("gemm_int8", Scope.CORE, {"dtype": "int8", "size": 1024}, "kernel gemm_int8 has no NKI source"),
        ("gemm", Scope.LOGICAL_CORE, POINT, "its source is written for one physical core (LNC=1)"),
        (
            "gemm_shared",
            Scope.DEVICE,
            POINT,
            "its programs share one problem, and each core would be given the whole of it here",
        ),
        ("broadcast", Scope.INSTANCE, {"dtype": "bf16", "size": 1024}, "nccom-test has no broadcast"),
        ("moe_dispatch_combine", Scope.INSTANCE, None, "nccom-test runs plain collectives only"),
    ],
)
def test_what_it_cannot_take_is_said(
    kernel: str,
    scope: Scope,
    point: dict[str, object] | None,
    why: str,
    backend: NeuronBackend,
    registry: Registry,
    case: Callable[..., Case],
) -> None:
    if kernel not in registry.kernels:
        kernel = next(name for name in registry.kernels if name.startswith("moe"))
    found = registry.kernels[kernel]
    point = point or {axis.name: axis.values[0] for axis in found.axes}
    assert backend.unsupported(case(kernel, scope, **point), registry.system("trn2-16.48xlarge")).startswith(
        why
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"nki_python": ""}, "nki is not installed in this environment"),
        ({"nrtpy_python": "nki"}, "nki and nrtpy are installed in one environment"),
        ({"nki_python": "/no/such/python"}, "NKI_PYTHON: /no/such/python cannot be started"),
        ({"nrtpy_python": "beta1"}, "nrtpy is not installed in the interpreter named"),
    ],
)
def test_missing_interpreters_are_said(
    change: dict[str, str],
    why: str,
    settings: Settings,
    python: Callable[[str], str],
    registry: Registry,
    case: Callable[..., Case],
) -> None:
    both = "one environment" in why
    made = {
        name: python("nki+nrtpy" if both else value) if value and "/" not in value else value
        for name, value in change.items()
    }
    if both:
        made["nki_python"] = made["nrtpy_python"]
    backend = NeuronBackend(load_registry(), msgspec.structs.replace(settings, **made))
    said = backend.unsupported(case("gemm", **POINT), registry.system("trn2-16.48xlarge"))
    assert said.startswith(why)
    assert "PYTHON" in said


def test_an_old_nki_is_refused(tmp_path: Path) -> None:
    from trnbench_neuron.conversation import find

    site = tmp_path / "site" / "nki-0.2.0.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: nki\nVersion: 0.2.0\n")
    import sys

    script = tmp_path / "python-old"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{site.parent}" exec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    assert find(Settings(nki_python=str(script))).nki.why == "nki 0.2.0 is older than 0.3"
