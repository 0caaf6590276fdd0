"""The `cuda` backend from a case to a judged number, with real kernels on tensors of this processor.

Only what a GPU would answer is stood in for: its events, its name, its tool.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import trnbench
from trnbench import Case, Measurement, Status, System, Timing
from trnbench.errors import TrnbenchError
from trnbench.facts.fact import PeakPolicy
from trnbench.run.judge import Judge
from trnbench.run.plan import plan
from trnbench.run.selection import Selection
from trnbench_cuda.backend import CudaBackend

pytestmark = pytest.mark.torch

QUICK = Timing(warm_up_s=0.0, sample_s=0.05, samples=40, growth_s=0.02)
SMI = """#!/bin/sh
case "$*" in
*index,uuid*) echo "0, GPU-1, NVIDIA H200, 143771, Disabled, 570.86.15";;
*-lms=*) while :; do echo "0, {clock}, 45, 350.0, 700.00, 700.00, {reasons}"; sleep 0.05; done;;
*clocks_event_reasons*) echo 0x0000000000000001;;
esac
"""


class Event:
    """What a processor does is done when the call returns: its time is the host's."""

    def __init__(self, enable_timing: bool) -> None:
        self.at = 0.0

    def record(self) -> None:
        self.at = time.perf_counter()

    def synchronize(self) -> None:
        return None

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Event) -> float:
        return (other.at - self.at) * 1e3


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """`gpu(clock, reasons)` puts nvidia-smi on the PATH; torch believes in an H200 whose memory is ours."""
    import torch
    from trnbench_torch.cuda import CudaDevice

    @contextmanager
    def device(_: int) -> Iterator[None]:
        yield

    properties = SimpleNamespace(multi_processor_count=132, L2_cache_size=1 << 20)
    for name, stand_in in {
        "Event": Event,
        "device": device,
        "synchronize": lambda _=None: None,
        "is_available": lambda: True,
        "get_device_name": lambda _: "NVIDIA H200",
        "get_device_properties": lambda _: properties,
        "_sleep": lambda cycles: None,  # our memory answers at once: nothing has to be held back
    }.items():
        monkeypatch.setattr(torch.cuda, name, stand_in)
    monkeypatch.setattr(CudaDevice, "torch_device", property(lambda self: "cpu"))
    monkeypatch.setattr("trnbench_torch.cuda.FLUSHED_AT_LEAST", 1 << 20)
    torch.set_num_threads(1)

    def install(clock: int = 1980, reasons: str = "0x0000000000000000") -> None:
        path = tmp_path / "nvidia-smi"
        path.write_text(SMI.format(clock=clock, reasons=reasons))
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return install


def case_of(kernel: str, **axes: Any) -> tuple[Case, System]:
    words = tuple(f"{name}={value}" for name, value in axes.items())
    selection = Selection(kernels=(kernel,), instances=("h200-sxm",), axes=words, kinds=("torch",))
    planned = plan(trnbench.load_registry(), selection)
    (case,) = planned.cases
    return case, planned.systems["h200-sxm"]


def measured(kernel: str, **axes: Any) -> Measurement:
    random.seed(5)
    case, system = case_of(kernel, **axes)
    backend = CudaBackend(QUICK)
    assert backend.unsupported(case, system) == ""
    return Judge(PeakPolicy.SEED).judge(case, backend.observe(case, system), system)


def test_a_product_comes_with_its_evidence_and_its_peak(gpu: Any) -> None:
    gpu(clock=1755)
    found = measured("gemm", size=128, dtype="bf16")
    # A busy machine may leave a number unjudged, or suspect; it may not leave one without its evidence.
    assert found.status in (Status.OK, Status.INCONCLUSIVE, Status.SUSPECT), found.reason_text
    assert found.evidence.by == "NVIDIA H200"
    assert found.clock == "device"
    assert set(found.detail["proof"]) == {"device", "completion", "output", "growth"}
    assert found.counters["sm_clock_hz"] == 1.755e9
    assert found.detail["settings"]["float32_precision"] == "highest"
    assert found.judgement.peaks.chosen.value == 989.5e12
    assert 0.0 < found.judgement.fraction < 1e-2  # it was a processor


def test_a_copy_is_judged_cold(gpu: Any) -> None:
    gpu()
    found = measured("hbm_copy", size=65536)
    assert found.detail["timing"]["judged"] == "cold"
    assert found.metrics["hbm_bytes_per_s"].value > 0.0


def test_a_gpu_that_is_too_hot_makes_the_number_suspect(gpu: Any) -> None:
    gpu(clock=1200, reasons="0x0000000000000040")
    found = measured("gemm", size=128, dtype="fp32")
    assert found.status is Status.SUSPECT
    assert "the hardware slows it down: too hot" in found.reason_text


def test_a_gpu_at_its_power_limit_is_told(gpu: Any) -> None:
    gpu(clock=1500, reasons="0x0000000000000004")
    notes = " ".join(measured("gemm", size=128, dtype="fp32").notes)
    assert "held down by its power limit in " in notes
    assert "at a clock of 1.5 GHz" in notes


def test_tf32_turned_on_from_outside_fails_the_case(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu()
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "1")
    case, system = case_of("gemm", size=128, dtype="fp32")
    with pytest.raises(TrnbenchError, match="NVIDIA_TF32_OVERRIDE=1 has fp32 multiplied in TF32"):
        CudaBackend(QUICK).observe(case, system)


def test_a_wrong_product_is_no_result(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    gpu()
    matmul = torch.matmul
    monkeypatch.setattr(torch, "matmul", lambda a, b, out: matmul(a, b, out=out).mul_(1.5))
    found = measured("gemm", size=128, dtype="fp32")
    assert (found.status, found.reason) == (Status.FAILED, trnbench.Reason.WRONG_RESULT)
    assert found.time_s is None
