"""The whole stack on stand-ins: what proves a number, and every way in which the proof can be missing."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trnbench.backend import Observation
from trnbench.facts.peak import PeakPolicy
from trnbench.facts.scope import Scope
from trnbench.kernels.case import Case
from trnbench.measure.neuron import collective_case, nki_case
from trnbench.measure.neuron.backend import NeuronBackend
from trnbench.measure.neuron.settings import VARIABLES, Settings, child_environment
from trnbench.registry import Registry, load_registry
from trnbench.results.evidence import Grade
from trnbench.results.measurement import Reason, Status
from trnbench.run.judge import Judge

POINT = {"dtype": "bf16", "size": 256}


@pytest.fixture
def see(
    backend: NeuronBackend, registry: Registry, case: Callable[..., Case]
) -> Callable[..., tuple[Observation, Any]]:
    """Observe a case, and judge it."""

    def make(
        kernel: str = "gemm", scope: Scope = Scope.CORE, use: NeuronBackend | None = None, **point: object
    ) -> Any:
        made = case(kernel, scope, **(point or POINT))
        system = registry.system("trn2-16.48xlarge")
        stack = use or backend
        assert stack.unsupported(made, system) == ""
        seen = stack.observe(made, system)
        return seen, Judge(PeakPolicy.SEED).judge(made, seen, system)

    return make


# ---- detection


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
        (
            "old",
            "neuron-ls does not know an option it is documented to have (exit code 2): "
            "neuron-ls: error: unrecognized arguments: -j",
        ),
        ("killed", "neuron-ls was killed by SIGKILL"),
        ("flood", "neuron-ls printed more than 16 MiB and was ended"),
        ("hang", "neuron-ls was not done after 0.5 s and was ended"),
    ],
)
def test_a_tool_that_fails_makes_no_instance(
    mode: str, why: str, backend: NeuronBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_LS", mode)
    if mode == "hang":
        monkeypatch.setattr("trnbench.measure.neuron.devices.LIMIT_S", 0.5)
    seen = backend.detect()
    assert not seen.available
    assert seen.why.startswith(why)


def test_log_lines_inside_the_list_do_no_harm(
    backend: NeuronBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_LS", "noise-inside")
    assert backend.detect().instance == "trn2-16.48xlarge"


def test_the_stated_instance_is_held_against_the_devices(settings: Settings) -> None:
    stated = msgspec.structs.replace(settings, instance="trn1.32xlarge")
    seen = NeuronBackend(load_registry(), stated).detect()
    assert not seen.available
    assert seen.why.startswith("this host is no trn1.32xlarge: 8 cores per device (LNC=2 counted)")


def test_a_machine_of_a_plugin_that_is_left_out_is_not_recognised(settings: Settings) -> None:
    from trnbench.measure.neuron.plugin import trnbench_backends

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
    from trnbench.cli.settings import unknown_variables

    for name in VARIABLES:
        monkeypatch.setenv(name, "0")
    assert unknown_variables() == {}
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


# ---- what it takes, and what not


def test_another_instance_is_not_measured(
    backend: NeuronBackend, registry: Registry, case: Callable[..., Case]
) -> None:
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
    from trnbench.measure.neuron.interpreters import find

    site = tmp_path / "site" / "nki-0.2.0.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: nki\nVersion: 0.2.0\n")
    import sys

    script = tmp_path / "python-old"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{site.parent}" exec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    assert find(Settings(nki_python=str(script))).nki.why == "nki 0.2.0 is older than 0.3"


# ---- kernels


def test_a_kernel_is_measured_with_its_proof(see: Callable[..., Any]) -> None:
    seen, judged = see()
    assert judged.status is Status.OK, judged.reason_text
    assert judged.evidence.grade is Grade.MEASURED
    assert judged.evidence.by == "Trainium2"
    assert judged.evidence.version == "nki 0.6.0, nrtpy 2.35.30"
    assert judged.clock == "device"
    assert judged.time_s == pytest.approx(5e-6 + 2 * 256**3 / 1e10, rel=1e-6)
    assert len(judged.samples) >= 20
    assert judged.stop_reason.startswith("precision reached")
    assert seen.implementation == (
        "nki: trnbench.kernels.nki.gemm_best:gemm_best (nki 0.6.0), timed by nrtpy 2.35.30"
    )
    assert seen.proof.device == "the driver calls it Trainium2 (v3)"
    assert seen.proof.output == "a random vector and full rows in double precision"
    assert seen.proof.growth.work_ratio == pytest.approx(8.0)
    assert seen.proof.growth.floor_s == pytest.approx(5e-6)
    assert seen.counters["driver_executions"] >= 30
    assert seen.counters["power_percent"] == 61.5
    assert seen.counters["utilisation_percent"] == 42.02


def test_no_identity_is_in_a_measurement(see: Callable[..., Any]) -> None:
    from trnbench.results.json import dumps_measurement

    _, judged = see()
    text = dumps_measurement(judged).decode()
    for secret in (
        "i-aabbccdd",
        "i-0011",
        "113985",
        "4242",
        "My_Instance",
        "subnet",
        "us-west",
        "neuron-bench exec",
    ):
        assert secret not in text


@pytest.mark.parametrize(
    ("mode", "reason", "text"),
    [
        ("wrong", Reason.WRONG_RESULT, "the device computed something else: times a random vector"),
        ("nan", Reason.WRONG_RESULT, "the device computed something else: 65536 elements of the result"),
        ("no-events", Reason.NO_EVIDENCE, "nrtpy on core 0: RuntimeError: no device execution events"),
        ("not-awaited", Reason.NO_EVIDENCE, "the device claims "),
        ("zero", Reason.NO_EVIDENCE, "nrtpy gave no device time"),
        ("host-too-fast", Reason.NO_EVIDENCE, "one execution takes "),
        ("uncounted", Reason.NO_EVIDENCE, "the driver counted no execution on these devices"),
        ("segfault", Reason.CRASH, "nrtpy on core 0 was killed by SIGSEGV; TDRV:exec_core0 NEURON_HW_ERROR"),
        ("oom", Reason.OUT_OF_MEMORY, "nrtpy on core 0: NrtError: NRT Error NRT_RESOURCE(4)"),
        ("old", Reason.ERROR, "nrtpy on core 0: ImportError: this nrtpy has no NrtpyModel.benchmark"),
    ],
)
def test_missing_evidence_is_never_a_number(
    mode: str, reason: Reason, text: str, see: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_NRTPY", mode)
    seen, judged = see()
    assert (judged.status, judged.reason) == (Status.FAILED, reason), judged.reason_text
    assert judged.reason_text.startswith(text)
    assert seen.time_s is None
    assert not judged.metrics


@pytest.mark.parametrize("where", ["NKI", "NRTPY"])
def test_a_hang_costs_its_time_limit(
    where: str, see: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"STANDIN_{where}", "hang")
    monkeypatch.setattr(nki_case, "COMPILE_S" if where == "NKI" else "TIME_S", 2.0)
    _, judged = see()
    assert (judged.status, judged.reason) == (Status.FAILED, Reason.TIMEOUT)
    assert "gave no answer within 2 s and was ended" in judged.reason_text


@pytest.mark.parametrize(
    ("mode", "reason", "text"),
    [
        ("simulator", Reason.NO_EVIDENCE, "nki compiled nothing for the device: it left no NEFF"),
        ("refuses", Reason.NO_EVIDENCE, "nki compiled nothing for the device: it left no NEFF"),
        ("dies", Reason.CRASH, "nki was killed by SIGABRT"),
    ],
)
def test_a_kernel_that_did_not_compile_is_not_timed(
    mode: str, reason: Reason, text: str, see: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_NKI", mode)
    _, judged = see()
    assert (judged.status, judged.reason) == (Status.FAILED, reason)
    assert judged.reason_text.startswith(text)


def test_a_time_that_does_not_grow_is_suspect(
    see: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_NRTPY", "flat")
    _, judged = see()
    assert judged.status is Status.SUSPECT
    assert "the time does not grow with the work: 8 times the work took 1 times as long" in judged.reason_text


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("errors", "executions did not go well (executions_failed)"),
        ("ecc", "uncorrected memory errors were counted meanwhile"),
    ],
)
def test_errors_of_the_device_spoil_its_numbers(
    mode: str, text: str, see: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_MONITOR", mode)
    _, judged = see()
    assert (judged.status, judged.reason) == (Status.FAILED, Reason.NO_EVIDENCE)
    assert judged.reason_text.endswith(text)


def test_a_device_that_is_another_is_no_evidence(
    see: Callable[..., Any], settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_MONITOR", "another")
    blind = NeuronBackend(load_registry(), msgspec.structs.replace(settings, sysfs=str(tmp_path / "nothing")))
    _, judged = see(use=blind)
    assert (judged.status, judged.reason) == (Status.FAILED, Reason.NO_EVIDENCE)
    assert judged.reason_text == "the device calls itself trainium1, which is not trainium2"


def test_a_device_that_does_not_name_itself_is_no_evidence(
    see: Callable[..., Any], settings: Settings, tmp_path: Path, tools: Path
) -> None:
    (tools / "neuron-monitor").unlink()
    blind = NeuronBackend(load_registry(), msgspec.structs.replace(settings, sysfs=str(tmp_path / "nothing")))
    _, judged = see(use=blind)
    assert (judged.status, judged.reason) == (Status.FAILED, Reason.NO_EVIDENCE)
    assert "which device it was, told by the device itself" in judged.reason_text


def test_counters_of_the_profiler_are_compared(
    see: Callable[..., Any], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    profiled = NeuronBackend(load_registry(), msgspec.structs.replace(settings, profile=True))
    monkeypatch.setenv("STANDIN_FLOPS", str(2 * 256**3))
    seen, judged = see(use=profiled)
    assert judged.status is Status.OK, judged.reason_text
    assert seen.counters["profile_hardware_flops"] == 2 * 256**3
    monkeypatch.setenv("STANDIN_FLOPS", str(256**3))
    _, judged = see(use=profiled)
    assert judged.status is Status.SUSPECT
    assert "work was left out" in judged.reason_text
    monkeypatch.setenv("STANDIN_FLOPS", str(4 * 256**3))
    seen, judged = see(use=profiled)
    assert judged.status is Status.OK
    assert "the profiler counted 2 times the formula's flops" in seen.notes


def test_a_profiler_that_fails_is_a_note(
    see: Callable[..., Any], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_EXPLORER", "fails")
    seen, judged = see(use=NeuronBackend(load_registry(), msgspec.structs.replace(settings, profile=True)))
    assert judged.status is Status.OK
    assert "no counters of the profiler: neuron-explorer ended with exit code 1" in seen.notes


def test_cores_of_a_device_work_together(
    see: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, case: Callable[..., Case]
) -> None:
    monkeypatch.setattr(nki_case, "TOGETHER", 0.0)  # two processors serve eight stand-ins
    monkeypatch.setattr("trnbench.measure.neuron.host.Host.cores", lambda self, case: [0, 1])
    seen, judged = see(scope=Scope.DEVICE)
    assert judged.status in (Status.OK, Status.SUSPECT), judged.reason_text
    assert seen.detail["cores"] == 2
    assert seen.counters["driver_executions"] >= 60


def test_cores_that_did_not_work_together_are_no_evidence() -> None:
    def ran(began: float, ended: float) -> dict[str, Any]:
        return {"durations_s": [0.5], "began": began, "ended": ended}

    nki_case._check_rounds([ran(0.0, 1.0), ran(0.1, 1.1)])
    with pytest.raises(Exception, match="the cores worked together for 0% of the time only"):
        nki_case._check_rounds([ran(0.0, 1.0), ran(1.0, 2.0)])


# ---- Beta 1


def test_trainium1_falls_back_to_beta_1_and_says_so(
    settings: Settings,
    python: Callable[[str], str],
    registry: Registry,
    case: Callable[..., Case],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed = [
        {
            "neuron_device": i,
            "nc_count": 2,
            "memory_size": 32 * 2**30,
            "connected_to": [],
            "neuroncore_ids": [],
        }
        for i in range(16)
    ]
    (tmp_path / "list.json").write_text(json.dumps(listed))
    monkeypatch.setenv("STANDIN_LIST", str(tmp_path / "list.json"))
    monkeypatch.setenv("STANDIN_TYPE", "trn1.32xlarge")
    for index in range(16):
        (Path(settings.sysfs) / f"neuron{index}" / "info" / "architecture" / "device_name").write_text(
            "Trainium"
        )
    _ = [path.unlink() for path in Path(settings.sysfs).rglob("success/total")]
    backend = NeuronBackend(load_registry(), msgspec.structs.replace(settings, beta1_python=python("beta1")))
    system = registry.system("trn1.32xlarge")
    made = case("gemm", instance="trn1.32xlarge", dtype="bf16", size=1024)
    assert backend.detect().instance == "trn1.32xlarge"
    assert backend.unsupported(made, system) == ""
    seen = backend.observe(made, system)
    judged = Judge(PeakPolicy.SEED).judge(made, seen, system)
    assert seen.reason is Reason.NONE, seen.reason_text
    assert (judged.clock, judged.evidence.by) == ("host", "Trainium")
    assert seen.implementation == (
        "nki-beta1: trnbench.kernels.nki.gemm_beta1:gemm_tiled (neuronx-cc 2.21.0)"
    )
    assert len(seen.samples) == 3
    assert "transfers between host and device are inside these times" in " ".join(seen.notes)
    small = case("gemm", instance="trn1.32xlarge", dtype="bf16", size=256)
    assert backend.unsupported(small, system) == "the Beta 1 source of gemm does not take this point"
    monkeypatch.setenv("STANDIN_BETA1", "not-awaited")
    failed = backend.observe(made, system)
    assert failed.reason is Reason.NO_EVIDENCE
    assert failed.reason_text.endswith("they were not awaited")


# ---- collectives

COLLECTIVE = {"dtype": "bf16", "size": 2**26}


@pytest.mark.parametrize("kernel", ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute"])
def test_a_collective_is_measured_with_its_proof(kernel: str, see: Callable[..., Any]) -> None:
    seen, judged = see(kernel, Scope.INSTANCE, **COLLECTIVE)
    assert seen.reason is Reason.NONE, seen.reason_text
    assert judged.time_s == pytest.approx(2e-5 + 2**26 / 50e9, rel=1e-3)
    assert judged.clock == "device"
    assert seen.detail["printed_unit"] == "GB"
    assert seen.implementation == f"collective: nccom-test {kernel}, mesh"
    assert seen.proof.output.startswith("nccom-test --check random")
    assert seen.proof.growth.work_ratio == 4.0
    assert not seen.proof.doubts({})
    assert len(seen.samples) == 3


@pytest.mark.parametrize(
    ("mode", "reason", "text"),
    [
        ("driver", Reason.ERROR, "nccom-test ended with exit code 1; Neuron DKMS Driver is not running!"),
        ("fails", Reason.ERROR, "nccom-test: 67108864    Failure running neuron-bench - log file"),
        ("wrong", Reason.WRONG_RESULT, "nccom-test found a wrong result: "),
        (
            "ignores-groups",
            Reason.NO_EVIDENCE,
            "nccom-test counted busbw as 1.969 times algbw, which 16 ranks",
        ),
        ("broken-report", Reason.ERROR, "nccom-test: its report is no JSON"),
        ("other-size", Reason.ERROR, "nccom-test was asked for 67108864 B and measured 67108928 B"),
        ("hang", Reason.TIMEOUT, "nccom-test was not done after 2 s and was ended"),
    ],
)
def test_a_collective_that_fails_is_no_number(
    mode: str, reason: Reason, text: str, see: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_NCCOM", mode)
    if mode == "hang":
        monkeypatch.setattr(collective_case, "CALL_S", 2.0)
    _, judged = see("all_reduce", Scope.INSTANCE, **COLLECTIVE)
    assert (judged.status, judged.reason) == (Status.FAILED, reason), judged.reason_text
    assert judged.reason_text.startswith(text)


def test_an_old_nccom_test_is_read_by_its_table_in_gibibytes(
    see: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_NCCOM", "old")
    seen, judged = see("all_reduce", Scope.INSTANCE, **COLLECTIVE)
    assert seen.reason is Reason.NONE, seen.reason_text
    assert seen.detail["printed_unit"] == "GiB"
    assert "it prints GiB under the heading GB (C28); our rates follow from size and time" in seen.notes
    assert "nccom-test is an old one that writes no JSON: its table was read" in seen.notes
    # The rate is decimal all the same: size by time, not what was printed.
    algbw = judged.metrics["algbw_bytes_per_s"].value
    assert algbw == pytest.approx(2**26 / (2e-5 + 2**26 / 50e9), rel=1e-3)


def test_a_collective_that_does_not_grow_is_suspect(
    see: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_NCCOM", "flat")
    monkeypatch.setattr(collective_case, "IDLE_BYTES", 2**26)  # no floor to hide behind
    seen, _ = see("all_reduce", Scope.INSTANCE, **COLLECTIVE)
    assert seen.proof.growth is None or seen.proof.growth.hidden or seen.proof.growth.flat


def test_one_rank_per_device(recorded: Callable[[str], str]) -> None:
    from trnbench.measure.neuron.devices import read_listing

    seen = read_listing(recorded("neuron_ls_trn2.json"))
    assert collective_case.leaders(seen) == list(range(0, 64, 4))
    assert collective_case.workers(seen) == 64
