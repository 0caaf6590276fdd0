"""Kernels on stand-ins: what proves a number, and every way in which the proof can be missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trnbench.facts.fact import PeakPolicy, Scope
from trnbench.kernels.kernel import Case
from trnbench.registry import Registry, load_registry
from trnbench.results.measurement import Grade, Reason, Status
from trnbench.run.judge import Judge
from trnbench_neuron import collective_case, neff
from trnbench_neuron.backend import NeuronBackend
from trnbench_neuron.settings import Settings


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
        "nki: trnbench_kernels.nki.gemm_best:gemm_best (nki 0.6.0), timed by nrtpy 2.35.30"
    )
    assert seen.proof.device == "the driver calls it Trainium2 (v3)"
    assert seen.proof.output == "a random vector and full rows in double precision"
    assert seen.proof.growth.work_ratio == pytest.approx(8.0)
    assert seen.proof.growth.floor_s == pytest.approx(5e-6)
    assert seen.counters["driver_executions"] >= 30
    assert seen.counters["power_percent"] == 61.5
    assert seen.counters["utilisation_percent"] == 42.02


OF_THE_COMPILER = ("simulator", "refuses", "dies")


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
        ("simulator", Reason.NO_EVIDENCE, "nki compiled nothing for the device: it left no NEFF"),
        ("refuses", Reason.NO_EVIDENCE, "nki compiled nothing for the device: it left no NEFF"),
        ("dies", Reason.CRASH, "nki was killed by SIGABRT"),
    ],
)
def test_missing_evidence_is_never_a_number(
    mode: str, reason: Reason, text: str, see: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_NKI" if mode in OF_THE_COMPILER else "STANDIN_NRTPY", mode)
    seen, judged = see()
    assert (judged.status, judged.reason) == (Status.FAILED, reason), judged.reason_text
    assert judged.reason_text.startswith(text)
    assert seen.time_s is None
    assert not judged.metrics


@pytest.mark.parametrize("where", ["NKI", "NRTPY"])
def test_a_hang_costs_its_time_limit(where: str, see: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"STANDIN_{where}", "hang")
    if where == "NKI":
        monkeypatch.setattr(neff, "COMPILE_S", 2.0)
    else:
        monkeypatch.setattr(neff, "TIME_S", 2.0)
    _, judged = see()
    assert (judged.status, judged.reason) == (Status.FAILED, Reason.TIMEOUT)
    assert "gave no answer within 2 s and was ended" in judged.reason_text


def test_a_time_that_does_not_grow_is_suspect(see: Any, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_errors_of_the_device_spoil_its_numbers(mode: str, text: str, see: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("STANDIN_MONITOR", mode)
    _, judged = see()
    assert (judged.status, judged.reason) == (Status.FAILED, Reason.NO_EVIDENCE)
    assert judged.reason_text.endswith(text)


@pytest.fixture
def blind(settings: Settings, tmp_path: Path) -> NeuronBackend:
    """Where the driver has no folder."""
    return NeuronBackend(load_registry(), msgspec.structs.replace(settings, sysfs=str(tmp_path / "nothing")))


def test_a_device_that_is_another_is_no_evidence(see: Any, blind: NeuronBackend, monkeypatch: Any) -> None:
    monkeypatch.setenv("STANDIN_MONITOR", "another")
    _, judged = see(use=blind)
    assert (judged.status, judged.reason) == (Status.FAILED, Reason.NO_EVIDENCE)
    assert judged.reason_text == "the device calls itself trainium1, which is not trainium2"


def test_a_device_that_does_not_name_itself_is_no_evidence(
    see: Any, blind: NeuronBackend, tools: Path
) -> None:
    (tools / "neuron-monitor").unlink()
    _, judged = see(use=blind)
    assert (judged.status, judged.reason) == (Status.FAILED, Reason.NO_EVIDENCE)
    assert "which device it was, told by the device itself" in judged.reason_text


def test_counters_of_the_profiler_are_compared(see: Any, settings: Settings, monkeypatch: Any) -> None:
    profiled = NeuronBackend(load_registry(), msgspec.structs.replace(settings, profile=True))
    monkeypatch.setenv("STANDIN_FLOPS", str(2 * 256**3))
    seen, judged = see(use=profiled)
    assert judged.status is Status.OK, judged.reason_text
    assert seen.counters["profile_hardware_flops"] == 2 * 256**3
    assert seen.detail["profiled"]["engines_s"] == {"tensor": pytest.approx(0.99 * 0.001748)}
    assert seen.detail["busy"]["tensor"] == pytest.approx(0.99 * seen.time_s)
    monkeypatch.setenv("STANDIN_FLOPS", str(256**3))
    _, judged = see(use=profiled)
    assert judged.status is Status.SUSPECT
    assert "work was left out" in judged.reason_text
    monkeypatch.setenv("STANDIN_FLOPS", str(4 * 256**3))
    seen, judged = see(use=profiled)
    assert judged.status is Status.OK
    assert "the profiler counted 2 times the formula's flops" in seen.notes


def test_a_profiler_that_fails_is_a_note(see: Any, settings: Settings, monkeypatch: Any) -> None:
    monkeypatch.setenv("STANDIN_EXPLORER", "fails")
    seen, judged = see(use=NeuronBackend(load_registry(), msgspec.structs.replace(settings, profile=True)))
    assert judged.status is Status.OK
    assert "no counters of the profiler: neuron-explorer ended with exit code 1" in seen.notes


def test_cores_of_a_device_work_together(see: Any, monkeypatch: pytest.MonkeyPatch, case: Any) -> None:
    monkeypatch.setattr(neff, "TOGETHER", 0.0)  # two processors serve eight stand-ins
    monkeypatch.setattr("trnbench_neuron.host.Host.cores", lambda self, case: [0, 1])
    seen, judged = see(scope=Scope.DEVICE)
    assert judged.status in (Status.OK, Status.INCONCLUSIVE, Status.SUSPECT), judged.reason_text
    assert seen.detail["cores"] == 2
    assert seen.counters["driver_executions"] >= 60


def test_cores_that_did_not_work_together_are_no_evidence() -> None:
    def ran(began: float, ended: float) -> dict[str, Any]:
        return {"durations_s": [0.5], "began": began, "ended": ended}

    neff._check_rounds([ran(0.0, 1.0), ran(0.1, 1.1)])
    with pytest.raises(Exception, match="the cores worked together for 0% of the time only"):
        neff._check_rounds([ran(0.0, 1.0), ran(1.0, 2.0)])


def test_trainium1_falls_back_to_beta_1_and_says_so(
    settings: Settings,
    python: Callable[[str], str],
    registry: Registry,
    case: Callable[..., Case],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alike = {"nc_count": 2, "memory_size": 32 * 2**30, "connected_to": [], "neuroncore_ids": []}
    listed = [{"neuron_device": number, **alike} for number in range(16)]
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
    assert seen.implementation == ("nki-beta1: trnbench_trn1.nki.gemm:gemm_tiled (neuronx-cc 2.21.0)")
    assert len(seen.samples) == 3
    assert "transfers between host and device are inside these times" in " ".join(seen.notes)
    small = case("gemm", instance="trn1.32xlarge", dtype="bf16", size=256)
    assert backend.unsupported(small, system) == "the Beta 1 source of gemm does not take this point"
    monkeypatch.setenv("STANDIN_BETA1", "not-awaited")
    failed = backend.observe(made, system)
    assert failed.reason is Reason.NO_EVIDENCE
    assert failed.reason_text.endswith("they were not awaited")


# Collectives by nccom-test: their proof, and every way in which one is no number ---------------------

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
    assert not (*seen.proof.doubts({}), *seen.proof.doubts_of_time())
    assert len(seen.samples) == 1  # three processes make a call each
    sizes = [int(each) for each in seen.detail["sweep_s"]]
    assert sizes == [2**exponent for exponent in range(10, 27, 2)]
    assert seen.proof.growth.floor_s == seen.detail["sweep_s"]["1024"]
    assert (judged.detail["rank_count"], judged.detail["rank"]) == (16, "device")


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
        ("other-size", Reason.ERROR, "nccom-test was asked for 67108864 B and measured 1088, 4160, "),
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


def test_an_old_nccom_test_is_read_by_its_table_in_gibibytes(see: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("STANDIN_NCCOM", "old")
    seen, judged = see("all_reduce", Scope.INSTANCE, **COLLECTIVE)
    assert seen.reason is Reason.NONE, seen.reason_text
    assert seen.detail["printed_unit"] == "GiB"
    assert "it prints GiB under the heading GB (C28); our rates follow from size and time" in seen.notes
    assert "nccom-test is an old one that writes no JSON: its table was read" in seen.notes
    # The rate is decimal all the same: size by time, not what was printed.
    algbw = judged.metrics["algbw_bytes_per_s"].value
    assert algbw == pytest.approx(2**26 / (2e-5 + 2**26 / 50e9), rel=1e-3)


def test_a_collective_that_does_not_grow_is_as_long_as_starting_one(see: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("STANDIN_NCCOM", "flat")
    seen, _ = see("all_reduce", Scope.INSTANCE, **COLLECTIVE)
    assert seen.proof.growth.hidden
    monkeypatch.setattr(collective_case, "IDLE_BYTES", 2**24)  # no floor to hide behind
    seen, _ = see("all_reduce", Scope.INSTANCE, **COLLECTIVE)
    assert seen.proof.growth.flat


def test_a_size_too_small_to_be_swept_says_so(see: Callable[..., Any]) -> None:
    seen, _ = see("all_reduce", Scope.INSTANCE, dtype="bf16", size=2048)
    assert seen.proof.growth is None
    assert "whether the time grows with the size was not seen: it is too small to be swept" in seen.notes
    assert list(seen.detail["sweep_s"]) == ["2048"]


@pytest.mark.parametrize(
    ("size", "least"), [(2**26, 1024), (2**27, 2048), (3 * 2**20, 3072), (4095, 4095), (1024, 1024)]
)
def test_a_sweep_begins_at_next_to_nothing(size: int, least: int) -> None:
    assert collective_case.least_size(size) == least


def test_one_rank_per_device(recorded: Callable[[str], str]) -> None:
    from trnbench_neuron.identify import read_listing

    seen = read_listing(recorded("neuron_ls_trn2.json"))
    assert collective_case.leaders(seen) == list(range(0, 64, 4))
    assert collective_case.workers(seen) == 64
