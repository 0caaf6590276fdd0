"""NeuronCores by torch_xla, on stand-ins: what is awaited, what names the device, what is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from measured_machine import Quiet

import trnbench
from trnbench import Timing
from trnbench.errors import TrnbenchError
from trnbench.measure.observe import observe
from trnbench_torch.device import Launch, Launches
from trnbench_torch.neuron import UNVERIFIED, TorchNeuronBackend, named
from trnbench_torch.xla import AWAITED, XlaCarrier, XlaDevice

QUICK = Timing(warm_up_s=0.0, sample_s=0.02, samples=30, growth_s=0.02)


class Xla:
    """Traces calls; `mark_step` starts what is traced, and it is done when somebody waits."""

    def __init__(self, hardware: str = "NEURON") -> None:
        self.now, self.traced, self.running, self.hardware = 0.0, 0.0, 0.0, hardware
        self.steps: list[bool] = []

    def clock(self) -> float:
        self.now += 1e-8
        return self.now

    def trace(self, seconds: float) -> str:
        self.now += 1e-6
        self.traced += seconds
        return "right"

    def mark_step(self, wait: bool = False) -> None:
        self.steps.append(wait)
        self.running, self.traced = self.running + self.traced, 0.0
        if wait:
            self.wait_device_ops()

    def wait_device_ops(self) -> None:
        self.now, self.running = self.now + self.running, 0.0

    def xla_device(self) -> str:
        return "xla:0"

    def xla_device_hw(self, device: str) -> str:
        assert device == "xla:0"
        return self.hardware


def launch(xla: Xla, seconds: float) -> Launch:
    return Launch(
        call=lambda: xla.trace(seconds),
        check=lambda found: "" if found == "right" else "wrong",
        checked="a word",
        amount=seconds,
        smaller=lambda: launch(xla, seconds / 4),
        idle=lambda: xla.trace(0.0),
    )


def test_a_step_is_marked_and_awaited_inside_the_timed_region() -> None:
    xla = Xla()
    program = XlaCarrier(XlaDevice(xla)).program(Launches([launch(xla, 1e-3)]))
    found = observe(
        program, device="NEURON core", named_by="itself", timing=QUICK, timer=xla.clock, watch=Quiet
    )
    assert found.clock == "host"
    assert found.time_s == pytest.approx(1e-3, rel=0.01)
    assert found.proof.completion == AWAITED
    assert not (*found.proof.doubts({}), *found.proof.doubts_of_time())


def test_queued_steps_are_all_awaited_by_the_last_one() -> None:
    xla = Xla()
    program = XlaCarrier(XlaDevice(xla)).program(Launches([launch(xla, 1e-3)]))
    begun, xla.steps = xla.now, []
    program.queued(5)
    assert xla.now - begun == pytest.approx(5e-3, rel=0.01)
    assert xla.steps == [False] * 5 + [True]


def test_a_processor_behind_torch_xla_is_no_neuroncore() -> None:
    assert named(Xla()) == "NEURON"
    with pytest.raises(TrnbenchError) as told:
        named(Xla("CPU"))
    assert told.value.what == "torch_xla would run this on CPU, not on a NeuronCore"


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def only(*present: str) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: name if name in present else None)

    backend = TorchNeuronBackend(trnbench.load_registry())
    only()
    assert backend.detect().why == "torch is not installed"
    only("torch", "torch_xla")
    assert backend.detect().why == "torch_neuronx not installed"
    only("torch", "torch_xla", "torch_neuronx")
    found = backend.detect()
    assert not found.available
    assert found.why.startswith("neuron-ls is not installed")
    assert found.unverified == UNVERIFIED


def test_it_takes_one_core_and_leaves_the_rest_to_the_neuron_backend() -> None:
    registry = trnbench.load_registry()
    backend = TorchNeuronBackend(registry)
    here: Any = SimpleNamespace(detect=lambda: SimpleNamespace(instance="trn1.2xlarge"))
    backend._neuron = here
    from trnbench.run.plan import plan
    from trnbench.run.selection import Selection

    planned = plan(registry, Selection(kernels=("gemm",), instances=("trn1.2xlarge", "trn1.32xlarge")))
    why = {case.id: backend.unsupported(case, planned.systems[case.key.instance]) for case in planned.cases}
    assert why["trn1.2xlarge::gemm[dtype=bf16,size=128]@core"] == ""
    assert (
        why["trn1.32xlarge::gemm[dtype=bf16,size=128]@core"]
        == "this machine is trn1.2xlarge, not trn1.32xlarge"
    )
    assert "torch takes one NeuronCore here; --backend neuron takes several" in why.values()
    assert (
        why["trn1.2xlarge::gemm[dtype=fp8,size=128]@core"]
        == "torch has no operator of its own that gives fp8 to a NeuronCore"
    )
