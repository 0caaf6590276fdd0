"""A GPU that is none: streams, events and an L2 on a clock of their own, with the faults that GPUs have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

LAUNCH_S = 5e-6  # of the host, to put something on a queue
HBM, L2 = 4e12, 20e12  # bytes per second


class Gpu:
    """Work is queued on streams; the host goes on until it waits. `deaf`: waiting returns at once."""

    def __init__(self, devices: int = 1, *, deaf: bool = False) -> None:
        self.host, self.deaf = 0.0, deaf
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
        streams, chosen = self.free[at], self.stream if stream is None else stream
        streams[chosen] = max(streams[chosen], self.host) + seconds

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

        def put(word: str) -> None:
            gpu.precision = word

        cuda = SimpleNamespace(Event=Event, device=device, synchronize=synchronize)
        return SimpleNamespace(
            cuda=cuda,
            uint8="uint8",
            empty=lambda size, dtype, device: Buffer(size),
            set_float32_matmul_precision=put,
            get_float32_matmul_precision=lambda: gpu.precision,
        )


def launch(call: Callable[[float], Any], work: float = 4.0, **changes: Any) -> Any:
    """`call(share)` does that share of the whole work."""
    from trnbench.measure.torch.launch import Launch

    fields: dict[str, Any] = {
        "call": lambda: call(work / 4.0),
        "check": lambda found: "",
        "checked": "nothing: a stand-in",
        "amount": work,
        "smaller": lambda: launch(call, work / 4.0, **changes),
        "idle": lambda: call(0.0),
    }
    return Launch(**{**fields, **changes})
