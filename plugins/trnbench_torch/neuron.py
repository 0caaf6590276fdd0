"""The `torch-neuron` backend: torch kernels on a NeuronCore of this instance, through torch_xla."""

from __future__ import annotations

import os
from copy import copy
from importlib import util
from typing import TYPE_CHECKING, Any

from trnbench import Case, Detection, Observation, Scope, TrnbenchError
from trnbench.generation import System, Systems
from trnbench_neuron.backend import NeuronBackend
from trnbench_torch import library

if TYPE_CHECKING:
    from trnbench import Timing

UNVERIFIED = (
    "torch operators on NeuronCores: compilation, waiting and data types of torch_xla as documented",
    "how torch_xla names the device: NEURON (PJRT_DEVICE), held against what neuron-ls identified",
)

INSTALL = "pip install torch-neuronx neuronx-cc --extra-index-url=https://pip.repos.neuron.amazonaws.com"


class TorchNeuronBackend:
    """One NeuronCore; everything larger belongs to the `neuron` backend (NKI, nccom-test).

    `systems` are those that one of which this machine may be, as `NeuronBackend` finds out.
    """

    name = "torch-neuron"

    def __init__(self, systems: Systems) -> None:
        self.timing: Timing | None = None
        self._neuron = NeuronBackend(systems)

    def tuned(self, sample_s: float) -> TorchNeuronBackend:
        """The same backend that samples each case for `sample_s` at most."""
        from trnbench import Timing

        tuned = copy(self)
        tuned.timing = Timing(sample_s=sample_s)
        return tuned

    def detect(self) -> Detection:
        """Without torch_neuronx this costs a look for it."""
        if lacking := library.missing():
            return _absent(lacking.why, lacking.try_)
        absent = [name for name in ("torch_neuronx", "torch_xla") if util.find_spec(name) is None]
        if absent:
            return _absent(f"{' and '.join(absent)} not installed", INSTALL)
        detection = self._neuron.detect()
        if not detection.instance:
            return _absent(detection.why or "no NeuronCore was found", detection.try_ or "neuron-ls")
        return Detection(available=True, instance=detection.instance, kinds=("torch",), unverified=UNVERIFIED)

    def environment(self) -> dict[str, Any]:
        return {
            "torch_version": library.version(),
            "torch_neuronx_version": library.version("torch-neuronx"),
            "torch_xla_version": library.version("torch-xla"),
        }

    def unsupported(self, case: Case, system: System) -> str:
        from trnbench_torch.observation import refused

        instance = self._neuron.detect().instance
        if system.name != instance:
            return f"this machine is {instance or 'no instance that is documented'}, not {system.name}"
        if why := refused(case):
            return why
        if case.kernel.spread.linked:
            return "collectives between NeuronCores are driven by --backend neuron (nccom-test)"
        if case.key.scope.rank > Scope.CORE.rank:
            return "torch takes one NeuronCore here; --backend neuron takes several"
        if case.key.dtype in ("tf32", "fp8", "cfp8", "mxfp8", "mxfp4", "int8"):
            return f"torch has no operator of its own that gives {case.key.dtype} to a NeuronCore"
        return ""

    def observe(self, case: Case, system: System) -> Observation:
        from trnbench import Timing
        from trnbench_torch.observation import observe_case
        from trnbench_torch.xla import XlaCarrier, XlaDevice

        # Before torch_xla starts its runtime: one core, of the kind that is asked for.
        os.environ.setdefault("PJRT_DEVICE", "NEURON")
        os.environ.setdefault("NEURON_RT_NUM_CORES", "1")
        device = XlaDevice()
        kind = named(device.model)
        return observe_case(
            case,
            [device],
            XlaCarrier(device),
            device=f"{kind} core of {system.instance.device}",
            named_by="torch_xla's word for the hardware behind its device, and neuron-ls for the instance",
            timing=self.timing or Timing(),
        )


def named(model: Any) -> str:
    """What torch_xla calls the hardware. Raises `TrnbenchError` unless it is NEURON: torch_xla runs on
    processors as well, and would do so without a word."""
    kind = str(model.xla_device_hw(model.xla_device()))
    if kind != "NEURON":
        raise TrnbenchError(
            f"torch_xla would run this on {kind}, not on a NeuronCore",
            cause="PJRT_DEVICE names another device, or the runtime found no core that is free",
            try_="PJRT_DEVICE=NEURON trnbench run --backend torch-neuron; neuron-ls",
        )
    return kind


def _absent(why: str, try_: str) -> Detection:
    return Detection(available=False, why=why, try_=try_, unverified=UNVERIFIED)
