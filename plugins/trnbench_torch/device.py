"""Devices as the torch stack needs them, and kernels made ready on one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from trnbench.backend import Program, Recorded
from trnbench.record import Record


class Launch(Record, kw_only=True):
    """- `call()` starts the work and returns its output; it need not wait. It leaves its inputs as they are.
    - `check(output)`: "" or what is wrong, by a way of computing that is not torch's; `checked` in words.
    - `amount` of work, and the same launch with less of it.
    - `idle()`: the same operator on next to nothing.
    - `memory`: it is the memory that limits it, so that a cache must not hold its operands.
    """

    call: Callable[[], Any]
    check: Callable[[Any], str]
    checked: str
    amount: float
    smaller: Callable[[], Launch]
    idle: Callable[[], Any]
    memory: bool = False
    settings: Recorded = {}
    notes: tuple[str, ...] = ()


class Launches:
    """The same kernel once for each part of a machine; outputs are kept as a user would keep them."""

    def __init__(self, launches: Sequence[Launch]) -> None:
        self.each = tuple(launches)
        self.outputs: list[Any] = [None] * len(self.each)

    def calls(self) -> list[Callable[[], None]]:
        """One call for each, which keeps its output."""
        return [self._keeping(number, launch.call) for number, launch in enumerate(self.each)]

    def _keeping(self, number: int, call: Callable[[], Any]) -> Callable[[], None]:
        def kept() -> None:
            self.outputs[number] = call()

        return kept

    def check(self, _: Any) -> str:
        """The first part that is wrong, named where there are several."""
        for number, (launch, output) in enumerate(zip(self.each, self.outputs, strict=True)):
            if wrong := launch.check(output):
                return f"{wrong} (part {number})" if len(self.each) > 1 else wrong
        return ""

    def smaller(self) -> Launches:
        return Launches([launch.smaller() for launch in self.each])

    @property
    def amount(self) -> float:
        return sum(launch.amount for launch in self.each)

    @property
    def first(self) -> Launch:
        return self.each[0]


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


AWAITED = "torch's operators on a processor return when the result is written"


class CpuDevice:
    """`at_once` runs one call on each of the processors that the machine's owner has picked."""

    kind = "cpu"

    def __init__(self, at_once: AtOnce, settings: Recorded | None = None) -> None:
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
