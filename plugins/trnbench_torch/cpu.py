"""Processors: torch's operators return when they are done, so the host's clock is the right one."""

from __future__ import annotations

from typing import Any

from trnbench.backend import Program
from trnbench_torch.device import AtOnce, Launches

AWAITED = "torch's operators on a processor return when the result is written"


class CpuDevice:
    """`at_once` runs one call on each of the processors that the machine's owner has picked."""

    kind = "cpu"

    def __init__(self, at_once: AtOnce, settings: dict[str, str | int | float | bool] | None = None) -> None:
        self._at_once, self._settings = at_once, settings or {}

    @property
    def torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def prepare(self) -> None:
        """One thread to an operator: parts are put on processors, not operators on threads."""
        import torch

        torch.set_num_threads(1)
        # Anything less lets oneDNN multiply fp32 in bf16.
        torch.set_float32_matmul_precision("highest")

    def program(self, launches: Launches) -> Program:
        import torch

        run, idle, close = self._at_once(launches.calls())
        only = launches.first.idle if len(launches.each) == 1 else idle
        return Program(
            run=run,
            check=launches.check,
            awaited=AWAITED if len(launches.each) == 1 else f"{AWAITED}; threads are joined by their queues",
            checked=launches.first.checked,
            amount=launches.amount,
            smaller=lambda: self.program(launches.smaller()),
            idle=only,
            close=close,
            settings={
                **self._settings,
                **launches.first.settings,
                "torch_threads": torch.get_num_threads(),
                "float32_precision": torch.get_float32_matmul_precision(),
            },
            notes=launches.first.notes,
        )
