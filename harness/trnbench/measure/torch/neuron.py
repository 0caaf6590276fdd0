"""The `torch-neuron` backend: torch kernels on a NeuronCore of this instance, through torch_xla."""

from __future__ import annotations

import os
from importlib import metadata, util
from typing import TYPE_CHECKING, Any

from trnbench.backend import Detection, Observation
from trnbench.errors import TrnbenchError
from trnbench.facts.scope import Scope
from trnbench.generation import System
from trnbench.kernels.case import Case
from trnbench.lazy import Ref, resolve
from trnbench.measure.neuron.settings import Settings
from trnbench.measure.torch import library

if TYPE_CHECKING:
    from trnbench.measure.session import Timing

UNVERIFIED = (
    "torch operators on NeuronCores: compilation, waiting and data types of torch_xla as documented",
    "how torch_xla names the device: NEURON (PJRT_DEVICE), held against what neuron-ls identified",
)

INSTALL = "pip install torch-neuronx neuronx-cc --extra-index-url=https://pip.repos.neuron.amazonaws.com"


class TorchNeuronBackend:
    """One NeuronCore; everything larger belongs to the `neuron` backend (NKI, nccom-test)."""

    name = "torch-neuron"

    def __init__(
        self, timing: Timing | None = None, registry: Ref = "trnbench.registry:load_registry"
    ) -> None:
        self.timing, self._registry = timing, registry

    def tuned(self, sample_s: float) -> TorchNeuronBackend:
        """The same backend that samples each case for `sample_s` at most."""
        from trnbench.measure.session import Timing

        return TorchNeuronBackend(Timing(sample_s=sample_s), self._registry)

    def detect(self) -> Detection:
        """Without torch_neuronx this costs a look for it."""
        if lacking := library.missing():
            return _absent(lacking.why, lacking.try_)
        absent = [name for name in ("torch_neuronx", "torch_xla") if util.find_spec(name) is None]
        if absent:
            return _absent(f"{' and '.join(absent)} not installed", INSTALL)
        try:
            instance, why, try_ = self._identified()
        except Exception as error:  # promised never to raise, whatever the tools of another version do
            return _absent(f"looking for devices failed: {type(error).__name__}: {error}", "trnbench doctor")
        if not instance:
            return _absent(why or "no NeuronCore was found", try_ or "neuron-ls")
        return Detection(available=True, instance=instance, kinds=("torch",), unverified=UNVERIFIED)

    def environment(self) -> dict[str, Any]:
        def version(name: str) -> str:
            try:
                return metadata.version(name)
            except metadata.PackageNotFoundError:
                return "none"

        return {
            "torch_version": library.version(),
            "torch_neuronx_version": version("torch-neuronx"),
            "torch_xla_version": version("torch-xla"),
        }

    def unsupported(self, case: Case, system: System) -> str:
        from trnbench.measure.torch.observing import refused

        instance = self._identified()[0]
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
        from trnbench.measure.session import Timing
        from trnbench.measure.torch.observing import observe_case
        from trnbench.measure.torch.xla import XlaCarrier, XlaDevice

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

    def _identified(self) -> tuple[str, str, str]:
        """(instance, why none, what to try), by the tools of the `neuron` backend."""
        from trnbench.measure.neuron.host import look

        found = look(Settings.read(), lambda: resolve(self._registry)()).detection
        return found.instance, found.why, found.try_


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
