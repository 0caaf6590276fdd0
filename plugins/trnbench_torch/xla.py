"""NeuronCores by torch_xla: operators are traced, `mark_step` compiles and starts them, and is waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trnbench.backend import Program
from trnbench_torch.device import Launches

AWAITED = "mark_step(wait=True), then wait_device_ops: the graph has run on the device"


class XlaDevice:
    kind = "xla"

    def __init__(self, model: Any = None) -> None:
        """`model` is torch_xla.core.xla_model."""
        self._model = model

    @property
    def model(self) -> Any:
        if self._model is None:
            from torch_xla.core import xla_model

            self._model = xla_model
        return self._model

    @property
    def torch_device(self) -> Any:
        return self.model.xla_device()


class XlaCarrier:
    """The clock is the host's: nothing in torch_xla tells the device's own."""

    def __init__(self, device: XlaDevice) -> None:
        self._device = device

    def program(self, launches: Launches) -> Program:
        model = self._device.model

        def awaited(call: Callable[[], Any]) -> Callable[[], Any]:
            def run() -> Any:
                # Kept until the step is marked: what nobody holds is no part of the graph.
                output = call()
                model.mark_step(wait=True)
                model.wait_device_ops()
                return output

            return run

        def queued(count: int) -> Any:
            """Steps behind one another; the last one is waited for."""
            result = None
            for _ in range(count):
                result = call()
                model.mark_step()
            model.mark_step(wait=True)
            model.wait_device_ops()
            return result

        (call,) = launches.calls()
        model.mark_step(wait=True)  # operands are on the device before anything is timed
        return Program(
            run=awaited(call),
            check=launches.check,
            awaited=AWAITED,
            checked=launches.first.checked,
            amount=launches.amount,
            smaller=lambda: self.program(launches.smaller()),
            idle=awaited(launches.first.idle),
            queued=queued,
            settings=launches.first.settings,
            notes=(*launches.first.notes, "eager operators, one graph to a call: as torch_xla compiles them"),
        )
