"""A decoding step that the logical cores of one device share, beside products and attention in a run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trnbench.extension import WORKLOAD_FAMILY
from trnbench.facts.fact import Scope
from trnbench.kernels.kernel import Axis, Kernel, Point, PrimaryMetric
from trnbench.kernels.work import Extent, Spread, Work

if TYPE_CHECKING:
    from trnbench_steps.step_request import StepRequest

NAME = "decode_step"
MODEL = "llama-3-8b"
"""Fits the memory of one device of every generation, and its heads divide by their logical cores."""
BATCH, KV = 1, 4096
CORES = (2, 4)
"""Logical cores of a device of Trainium, and of those that came after it."""


class DeviceStep(msgspec.Struct, frozen=True):
    """What `decode_step` is about; the request itself is made when a case asks for it."""

    name: str = NAME

    @property
    def request(self) -> StepRequest:
        return _request()

    def files(self) -> tuple[Path, ...]:
        return ()

    def code(self) -> tuple[str, ...]:
        return self.request.code()

    def work(self, point: Point, extent: Extent) -> Work:
        """Of the whole step, once: weights and cache that one token of each sequence meets."""
        return _step_kernel().work(point, extent)

    def footprint(self, _: Point, __: Extent) -> Mapping[str, float]:
        """Nothing here: whether it fits follows from its layout on a system."""
        return {}

    def requires(self, point: Point) -> tuple[str, ...]:
        return (f"dtype:{point['dtype']}",)

    def refuses(self, point: Point, extent: Extent) -> str:
        """One rank on each logical core: fewer would leave cores idle, and more have no device."""
        if point["tp"] == extent.ranks:
            return ""
        return f"tp = {point['tp']} is not a rank on each of the {extent.ranks} logical cores of a device"


@cache
def _request() -> StepRequest:
    from trnbench_steps.job import Job, Task
    from trnbench_steps.layout import Layout
    from trnbench_steps.step_request import StepRequest

    return StepRequest(
        model=MODEL,
        job=Job(task=Task.DECODE, batch=BATCH, kv=KV),
        layout=Layout(tp=CORES[0]),
        axes=("batch", "kv", "dtype", "tp"),
    )


@cache
def _step_kernel() -> Kernel:
    from trnbench_steps.step_kernel import step_kernel

    return step_kernel(_request())


def device_step() -> Kernel:
    """decode_step."""
    step = DeviceStep()
    return Kernel(
        name=NAME,
        family=WORKLOAD_FAMILY,
        title="A decoding step of Llama 3 8B on one device",
        about="One token of one sequence, by all logical cores of a device together: what a device does.",
        axes=(
            Axis(name="batch", values=(BATCH,), about="sequences"),
            Axis(name="kv", values=(KV,), about="tokens of each in the cache"),
            Axis(name="dtype", kind="str", values=("bf16",), about="of what is between layers"),
            Axis(name="tp", values=CORES, about="ranks, one on each logical core"),
        ),
        scopes=(Scope.DEVICE,),
        rank="logical-core",
        primary=PrimaryMetric(name="hbm_bytes_per_s", unit="B/s", count="hbm_bytes", peak="hbm_bandwidth"),
        work=step.work,
        footprint=step.footprint,
        requires=step.requires,
        refuses=step.refuses,
        spread=Spread.DEVICES,
        tags=("decode",),
        implementations={"model": "trnbench_steps.step_cases:STEPS"},
        subject=step,
    )
