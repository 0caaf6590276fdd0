"""What the torch stack needs to know of a device, whatever it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from trnbench.kernels.program import Program
from trnbench_torch.launch import Launches


class Device(Protocol):
    """Where a kernel puts its operands."""

    @property
    def kind(self) -> str:
        """ "cpu", "cuda" or "xla"."""

    @property
    def torch_device(self) -> Any:
        """As torch calls it."""


class Carrier(Protocol):
    """How launches are carried out on devices of one kind, awaited and timed."""

    def program(self, launches: Launches) -> Program:
        """One launch for each device that takes part."""


AtOnce = Callable[
    [list[Callable[[], Any]]], tuple[Callable[[], None], Callable[[], None], Callable[[], None] | None]
]
"""(calls) -> (all of them at once, as many empty ones, what ends the threads)."""
