"""CUDA GPUs: work on a stream between two events, which are the device's clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from trnbench import Program, TrnbenchError, Witness, show
from trnbench.backend import Recorded
from trnbench.record import Record
from trnbench_torch.device import Launches

NODES = 64
"""Calls of one graph: launched at once, they follow each other without the host."""

HOLD_S, LONGEST_HOLD_S = 100e-6, 20e-3
"""How long a kernel that only spins keeps a GPU busy while the host queues what is timed: least and most."""

SPINS_PER_S = 2e9
"""Clock cycles: a GPU with a lower clock is held back longer, which is in no time."""


class CudaDevice(Record):
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
        for device in self.devices:
            cuda.synchronize(device.index)  # other streams too: work there is no work between the events
        if not all(event.query() for event in self.ended):
            raise TrnbenchError(
                "the GPU was waited for and is not done",
                cause="the event behind the last kernel has not come to pass: whatever was waited for, "
                "it was not this work",
                try_="trnbench doctor",
            )
        pairs = zip(self.begun, self.ended, strict=True)
        self.tells.last_s = max(float(start.elapsed_time(ended)) * 1e-3 for start, ended in pairs)
        self._hold_s = min(LONGEST_HOLD_S, max(HOLD_S, 2.0 * issued))
        if count > 1:
            self.issue_s, self.each_s = issued / count, self.tells.last_s / count
            self._exposed = exposed

    def _issue(self, count: int, graphs: Sequence[Any] | None) -> None:
        replays, singly = divmod(count, NODES) if graphs else (0, count)
        for _ in range(replays):
            for device, graph in zip(self.devices, graphs or (), strict=True):
                with self.torch.cuda.device(device.index):
                    graph.replay()
        for _ in range(singly):
            for call in self.calls:
                call()

    def _hold(self) -> None:
        """Nothing in a torch that cannot."""
        spin = getattr(self.torch.cuda, "_sleep", None)
        if spin is None:
            return
        for device in self.devices:
            with self.torch.cuda.device(device.index):
                spin(int(self._hold_s * SPINS_PER_S))

    def _captured(self) -> Sequence[Any] | None:
        """A graph of `NODES` calls for each device; made once."""
        if self._graphs is None and not self.uncaptured:
            try:
                pairs = zip(self.devices, self.calls, strict=True)
                self._graphs = [self._capture(each, call) for each, call in pairs]
            except (RuntimeError, AttributeError) as error:
                reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
                self.uncaptured = f"not captured in a CUDA graph, so queued call by call: {reason}"
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
        for device, event in zip(self.devices, events, strict=True):
            with self.torch.cuda.device(device.index):
                event.record()


TICK_S = 0.5e-6
"""What the CUDA runtime's documentation of cudaEventElapsedTime gives as the resolution of events."""

FLUSHED_AT_LEAST = 256 << 20
"""Bytes written to make a GPU cold: more than four times the L2 of any that is documented here."""

AWAITED = "the event behind the last kernel is awaited, then every stream of the device; the event is asked"

OVERRIDES = ("NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE")
"""Variables that have fp32 multiplied in TF32 whatever a program asks for."""


def set_precision(torch: Any, dtype: str, variables: dict[str, str]) -> str:
    """fp32 is fp32 and TF32 is asked for by name; returns torch's word for what is set.

    Raises `TrnbenchError` where the environment would overrule it.
    """
    for name in OVERRIDES:
        if dtype == "fp32" and variables.get(name, "") == "1":
            raise TrnbenchError(
                f"{name}=1 has fp32 multiplied in TF32, which would be another data type than the case names",
                try_=f"unset {name}, or --dtype tf32",
            )
        if dtype == "tf32" and variables.get(name, "") == "0":
            raise TrnbenchError(f"{name}=0 forbids TF32, which this case is about", try_=f"unset {name}")
    torch.set_float32_matmul_precision("high" if dtype == "tf32" else "highest")
    return str(torch.get_float32_matmul_precision())


class CudaCarrier:
    """One launch on each of `devices`, all queued before any is waited for.

    `cache_bytes` is the largest cache of a device. `witness` tells what the GPU said of itself meanwhile.
    """

    def __init__(
        self,
        devices: Sequence[CudaDevice],
        *,
        torch: Any,
        cache_bytes: float = 0.0,
        settings: Recorded | None = None,
        witness: Callable[[], Witness] | None = None,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.torch, self.devices = torch, tuple(devices)
        self.cache_bytes, self.settings = cache_bytes, settings or {}
        self._witness, self._timer = witness, timer
        self._buffers: list[Any] = []

    def program(self, launches: Launches) -> Program:
        queue = CudaQueue(self.torch, self.devices, launches.calls(), self._timer)
        idle = CudaQueue(
            self.torch, self.devices, [launch.idle for launch in launches.each], self._timer, queue
        )
        memory = launches.first.memory
        return Program(
            run=lambda: queue.carry_out(1),
            check=launches.check,
            awaited=AWAITED,
            checked=launches.first.checked,
            amount=launches.amount,
            smaller=lambda: self.program(launches.smaller()),
            idle=lambda: idle.carry_out(1),
            cold=memory,
            flush=self._flush,
            flushed=f"{show(self._flush_bytes, 'B')} written behind one another on the same stream, "
            f"against an L2 of {show(self.cache_bytes, 'B') if self.cache_bytes else 'unknown size'}",
            device_clock=lambda: queue.last_s,
            device_tick_s=TICK_S,
            queued=queue.carry_out,
            idle_queued=idle.carry_out,
            witness=lambda: self._told(queue),
            settings={**self.settings, **launches.first.settings, "gpus": len(self.devices)},
            notes=launches.first.notes,
        )

    @property
    def _flush_bytes(self) -> int:
        return max(FLUSHED_AT_LEAST, int(4 * self.cache_bytes))

    def _flush(self) -> None:
        """Not waited for: the GPU is busy with it while the kernel behind it is queued, so that the time
        between the events holds no time of the host's."""
        if not self._buffers:
            self._buffers = [
                self.torch.empty(self._flush_bytes, dtype=self.torch.uint8, device=device.torch_device)
                for device in self.devices
            ]
        for buffer in self._buffers:
            buffer.zero_()

    def _told(self, queue: CudaQueue) -> Witness:
        witness = self._witness() if self._witness is not None else Witness()
        notes = [queue.uncaptured] if queue.uncaptured else []
        if queue.bound_by_issuing:
            issue = show(queue.issue_s, "s")
            notes.append(
                f"bound by issuing: the host takes {issue} to queue a call, which is what the GPU waits for"
            )
        return replace(witness, notes=(*witness.notes, *notes)) if notes else witness
