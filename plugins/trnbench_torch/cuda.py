"""CUDA GPUs: work on a stream between two events, which are the device's clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from trnbench.errors import TrnbenchError
from trnbench.facts.format import show
from trnbench.kernels.program import Program, Witness
from trnbench_torch.cuda_queue import CudaDevice, CudaQueue
from trnbench_torch.launch import Launches

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
        settings: dict[str, str | int | float | bool] | None = None,
        witness: Callable[[], Witness] | None = None,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.torch, self.devices = torch, tuple(devices)
        self.cache_bytes, self.settings = cache_bytes, settings or {}
        self._witness, self._timer = witness, timer
        self._buffers: list[Any] = []

    def program(self, launches: Launches) -> Program:
        queue = CudaQueue(self.torch, self.devices, launches.calls(), self._timer)
        idle = CudaQueue(self.torch, self.devices, [each.idle for each in launches.each], self._timer, queue)
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
                self.torch.empty(self._flush_bytes, dtype=self.torch.uint8, device=each.torch_device)
                for each in self.devices
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
        return msgspec.structs.replace(witness, notes=(*witness.notes, *notes)) if notes else witness
