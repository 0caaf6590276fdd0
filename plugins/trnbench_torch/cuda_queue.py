"""Calls on the streams of GPUs: held back until all are queued, in a graph where there are many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from trnbench.errors import TrnbenchError

NODES = 64
"""Calls of one graph: launched at once, they follow each other without the host."""

HOLD_S, LONGEST_HOLD_S = 100e-6, 20e-3
"""How long a kernel that only spins keeps a GPU busy while the host queues what is timed: least and most."""

SPINS_PER_S = 2e9
"""Clock cycles: a GPU with a lower clock is held back longer, which is in no time."""


class CudaDevice(msgspec.Struct, frozen=True):
    index: int
    kind: str = "cuda"

    @property
    def torch_device(self) -> Any:
        return f"cuda:{self.index}"


class CudaQueue:
    """Calls on the current stream of each device, an event before and behind them.

    A spinning kernel goes first, so that the first event, the calls and the last event are queued when it
    ends: what launching takes is then in no time. It ends by itself, so that a call that waits for the GPU
    hangs nothing. Many calls are captured in a graph, once; where that fails, `uncaptured` says why and they
    are queued.

    `tells` is the queue whose clock the times are put on: idle calls are read off the same clock.
    """

    def __init__(
        self,
        torch: Any,
        devices: Sequence[CudaDevice],
        calls: Sequence[Callable[[], Any]],
        timer: Callable[[], float],
        tells: CudaQueue | None = None,
    ) -> None:
        self.torch, self.devices, self.calls, self._timer = torch, devices, calls, timer
        self.tells = tells or self
        self.begun = [torch.cuda.Event(enable_timing=True) for _ in devices]
        self.ended = [torch.cuda.Event(enable_timing=True) for _ in devices]
        self.last_s = self.issue_s = self.each_s = 0.0
        self.uncaptured = ""
        self._graphs: list[Any] | None = None
        self._hold_s, self._exposed = HOLD_S, False

    @property
    def bound_by_issuing(self) -> bool:
        """Whether the GPU waited for the host, and the times are those of launching."""
        return self._exposed and self.each_s > 0.0 and self.issue_s > 0.8 * self.each_s

    def carry_out(self, count: int) -> None:
        """`count` calls, and then until every device has nothing left to do."""
        cuda = self.torch.cuda
        graphs = self._captured() if count > 1 else None
        self._hold()
        self._record(self.begun)
        started = self._timer()
        self._issue(count, graphs)
        issued = self._timer() - started
        exposed = any(event.query() for event in self.begun)  # it had begun before all was queued
        self._record(self.ended)
        for event in self.ended:
            event.synchronize()
        for each in self.devices:
            cuda.synchronize(each.index)  # other streams too: work there is no work between the events
        if not all(event.query() for event in self.ended):
            raise TrnbenchError(
                "the GPU was waited for and is not done",
                cause="the event behind the last kernel has not come to pass: whatever was waited for, "
                "it was not this work",
                try_="trnbench doctor",
            )
        pairs = zip(self.begun, self.ended, strict=True)
        self.tells.last_s = max(float(begun.elapsed_time(ended)) * 1e-3 for begun, ended in pairs)
        self._hold_s = min(LONGEST_HOLD_S, max(HOLD_S, 2.0 * issued))
        if count > 1:
            self.issue_s, self.each_s = issued / count, self.tells.last_s / count
            self._exposed = exposed

    def _issue(self, count: int, graphs: Sequence[Any] | None) -> None:
        replays, singly = divmod(count, NODES) if graphs else (0, count)
        for _ in range(replays):
            for each, graph in zip(self.devices, graphs or (), strict=True):
                with self.torch.cuda.device(each.index):
                    graph.replay()
        for _ in range(singly):
            for call in self.calls:
                call()

    def _hold(self) -> None:
        """Nothing in a torch that cannot."""
        spin = getattr(self.torch.cuda, "_sleep", None)
        if spin is None:
            return
        for each in self.devices:
            with self.torch.cuda.device(each.index):
                spin(int(self._hold_s * SPINS_PER_S))

    def _captured(self) -> Sequence[Any] | None:
        """A graph of `NODES` calls for each device; made once."""
        if self._graphs is None and not self.uncaptured:
            try:
                pairs = zip(self.devices, self.calls, strict=True)
                self._graphs = [self._capture(each, call) for each, call in pairs]
            except (RuntimeError, AttributeError) as error:
                told = (str(error).strip().splitlines() or [type(error).__name__])[0]
                self.uncaptured = f"not captured in a CUDA graph, so queued call by call: {told}"
        return self._graphs

    def _capture(self, device: CudaDevice, call: Callable[[], Any]) -> Any:
        """On a stream of its own, on which the call has run before: libraries set themselves up with their
        first call, which nothing may do while it is captured."""
        cuda = self.torch.cuda
        with cuda.device(device.index):
            stream = cuda.Stream()
            stream.wait_stream(cuda.current_stream())
            with cuda.stream(stream):
                call()
            cuda.current_stream().wait_stream(stream)
            cuda.synchronize(device.index)
            graph = cuda.CUDAGraph()
            with cuda.graph(graph, stream=stream):
                for _ in range(NODES):
                    call()
        return graph

    def _record(self, events: Sequence[Any]) -> None:
        for each, event in zip(self.devices, events, strict=True):
            with self.torch.cuda.device(each.index):
                event.record()
