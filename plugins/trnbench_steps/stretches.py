"""Operators and collectives in series, and what of their transfers is exposed."""

from __future__ import annotations

from typing import NamedTuple

from trnbench_steps.kernel_times import Call, KernelTime
from trnbench_steps.step_parts import COLLECTIVES, MEMORY, STARTS, Series


class Event(NamedTuple):
    """Something in series: an operator, a collective, or what transfers hold up."""

    name: str
    part: str
    seconds: float


class ExchangeTime(NamedTuple):
    """Seconds of a collective in a graph without its residue: the start, and what links and memory take."""

    start_s: float
    moving_s: float


NO_TIME = ExchangeTime(0.0, 0.0)


class Stretches:
    """Operators one after the other, from collective to collective.

    Where activations stay in SBUF, the weights and caches of all operators up to the next collective stream
    in while the engines work (DMA engines run beside them: AWS Neuron, Introduction to DMA with NKI); what
    they take beyond the engines' work is exposed, and so is the time until the first of them arrive.
    Collectives and host overlap with nothing.
    """

    def __init__(self, part: str = "") -> None:
        self._part = part
        self.events: list[Event] = []
        self._seconds: dict[str, float] = {}
        self._operators = self._by_roofline = self._by_kernels = 0.0
        self._begin()

    def _begin(self) -> None:
        self._engines = self._stream = self._arrival = 0.0

    def _spend(self, part: str, seconds: float, name: str) -> None:
        if seconds:
            into = part if part in (COLLECTIVES, STARTS) else self._part or part
            self._seconds[into] = self._seconds.get(into, 0.0) + seconds
            self.events.append(Event(name, into, seconds))

    def kernel(self, name: str, part: str, call: Call, found: KernelTime) -> None:
        self._operators += call.operators
        self._spend(part, found.engines, name)
        self._by_kernels += 0.0 if call.compiled else found.engines
        if not call.stays:
            self._spend(MEMORY, found.memory, f"{name}: transfers")
            return
        self._engines += found.engines
        if call.weights:
            if not self._stream:
                self._arrival = max(found.all - max(found.engines, found.stream), 0.0)
            self._stream += found.stream

    def own_kernel(self, name: str, part: str, found: KernelTime) -> None:
        """A user's: its operands and its result lie in HBM, and no weights of others stream in beside it."""
        self._end()
        self._operators += 1
        self._spend(part, found.engines, f"{name}, own kernel")
        self._by_kernels += found.engines
        self._spend(MEMORY, found.memory, f"{name}, own kernel: transfers")

    def round_trip(self, name: str, seconds: float) -> None:
        """What a neighbour of a user's kernel has to store, or to load, that stayed in SBUF before."""
        self._spend(MEMORY, seconds, f"{name}: to HBM and back")

    def roofline(self, name: str, part: str, engines: float, memory: float) -> None:
        self._operators += 1
        self._spend(part, engines, f"{name}, by roofline")
        self._spend(MEMORY, memory, f"{name}: transfers")
        self._by_roofline += engines + memory

    def exchange(self, name: str, found: ExchangeTime) -> None:
        self._end()
        self._spend(STARTS, found.start_s, f"{name}: start")
        self._spend(COLLECTIVES, found.moving_s, name)

    def _end(self) -> None:
        exposed = max(self._stream - self._engines, 0.0) + self._arrival
        self._spend(MEMORY, exposed, "weights and cache that are still on their way")
        self._begin()

    def series(self) -> Series:
        self._end()
        return Series(
            seconds=self._seconds,
            operators=self._operators,
            by_roofline=self._by_roofline,
            by_kernels=self._by_kernels,
        )
