"""A GPU that is none: streams, events and an L2 on a clock of their own, with the faults that GPUs have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

LAUNCH_S = 5e-6  # of the host, to put something on a queue
HBM, L2 = 4e12, 20e12  # bytes per second


class Gpu:
    """Work is queued on streams; the host goes on until it waits. `deaf`: waiting returns at once. `bare`: a
    torch without graphs and without a kernel that spins; `waits`: calls that wait cannot be captured."""

    def __init__(
        self, devices: int = 1, *, deaf: bool = False, bare: bool = False, waits: bool = False
    ) -> None:
        self.host, self.deaf, self.bare, self.waits = 0.0, deaf, bare, waits
        self.capturing: list[tuple[float, int, int]] | None = None
        self.replays = 0
        self.free = {device: {0: 0.0, 1: 0.0} for device in range(devices)}
        self.device, self.stream = 0, 0
        self.in_l2: list[object] = []
        self.precision = "highest"
        self.flushes = 0

    def clock(self) -> float:
        self.host += 1e-8
        return self.host

    def enqueue(self, seconds: float, *, device: int | None = None, stream: int | None = None) -> None:
        self.host += LAUNCH_S
        at = self.device if device is None else device
        chosen = self.stream if stream is None else stream
        if self.capturing is not None:
            self.capturing.append((seconds, at, chosen))
            return
        self._run(seconds, at, chosen)

    def _run(self, seconds: float, device: int, stream: int) -> None:
        streams = self.free[device]
        streams[stream] = max(streams[stream], self.host) + seconds

    def stream_bytes(self, size: float, key: object = "array") -> None:
        """Reads `size` bytes: from the L2 what is still in it."""
        self.enqueue(size / (L2 if key in self.in_l2 else HBM))
        self.in_l2 = [key]

    @property
    def torch(self) -> Any:
        """What the stack uses of the module."""
        gpu = self

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing
                self.at = 0.0

            def record(self) -> None:
                self.at = max(gpu.free[gpu.device][gpu.stream], gpu.host)

            def synchronize(self) -> None:
                if not gpu.deaf:
                    gpu.host = max(gpu.host, self.at)

            def query(self) -> bool:
                return gpu.host >= self.at

            def elapsed_time(self, other: Event) -> float:
                return (other.at - self.at) * 1e3

        class Buffer:
            def __init__(self, size: int) -> None:
                self.size = size

            def zero_(self) -> None:
                gpu.flushes += 1
                gpu.enqueue(self.size / HBM)
                gpu.in_l2 = [self]

        @contextmanager
        def device(index: int) -> Iterator[None]:
            before, gpu.device = gpu.device, index
            yield
            gpu.device = before

        def synchronize(index: int) -> None:
            if not gpu.deaf:
                gpu.host = max(gpu.host, *gpu.free[index].values())

        class Stream:
            def wait_stream(self, other: Stream) -> None: ...

        class Graph:
            def __init__(self) -> None:
                self.nodes: list[tuple[float, int, int]] = []

            def replay(self) -> None:
                gpu.replays += 1
                gpu.host += LAUNCH_S
                for node in self.nodes:
                    gpu._run(*node)

        @contextmanager
        def graph(made: Graph, stream: Stream) -> Iterator[None]:
            if gpu.waits:
                raise RuntimeError(
                    "operation not permitted when stream is capturing\nCUDA kernel errors might"
                )
            gpu.capturing = made.nodes
            yield
            gpu.capturing = None

        @contextmanager
        def on(stream: Stream) -> Iterator[None]:
            yield

        def put(word: str) -> None:
            gpu.precision = word

        cuda = SimpleNamespace(Event=Event, device=device, synchronize=synchronize)
        if not self.bare:
            cuda.Stream, cuda.CUDAGraph, cuda.graph, cuda.stream = Stream, Graph, graph, on
            cuda.current_stream = Stream
            cuda._sleep = lambda cycles: gpu.enqueue(cycles / 2e9)
        return SimpleNamespace(
            cuda=cuda,
            uint8="uint8",
            empty=lambda size, dtype, device: Buffer(size),
            set_float32_matmul_precision=put,
            get_float32_matmul_precision=lambda: gpu.precision,
        )


def launch(call: Callable[[float], Any], work: float = 4.0, **changes: Any) -> Any:
    """`call(share)` does that share of the whole work."""
    from trnbench_torch.device import Launch

    fields: dict[str, Any] = {
        "call": lambda: call(work / 4.0),
        "check": lambda found: "",
        "checked": "nothing: a stand-in",
        "amount": work,
        "smaller": lambda: launch(call, work / 4.0, **changes),
        "idle": lambda: call(0.0),
    }
    return Launch(**{**fields, **changes})
