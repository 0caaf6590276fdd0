"""Steps of models on layouts, made of kernels and collectives, and the plan that ranks layouts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import trnbench
from trnbench import Axis, Check, Extent, Kernel, Point, PrimaryMetric, Scope, Spread, Template, Work
from trnbench.extension import WORKLOAD_FAMILY
from trnbench.record import Record

if TYPE_CHECKING:
    from trnbench_steps.step_request import StepRequest


_NAME = "decode_step"
MODEL = "llama-3-8b"
"""Fits the memory of one device of every generation, and its heads divide by their logical cores."""
HEADS = 32
"""Of the model: what a dry run asks for, without reading the model."""
_BATCH, _KV = 1, 4096


class DeviceStep(Record):
    """What `decode_step` is about; the request itself is made when a case asks for it."""

    name: str = _NAME

    def on(self, ranks: int) -> StepRequest:
        """One rank on each logical core: fewer would leave cores idle, and more have no device."""
        return _request(ranks)

    def files(self) -> tuple[Path, ...]:
        return ()

    def code(self) -> tuple[str, ...]:
        return _request(1).code()

    def work(self, point: Point, extent: Extent) -> Work:
        """Of the whole step, once: weights and cache that one token of each sequence meets."""
        return _step_kernel(extent.ranks).work(point, extent)

    def footprint(self, _: Point, __: Extent) -> Mapping[str, float]:
        """Nothing here: whether it fits follows from its layout on a system."""
        return {}

    def requires(self, point: Point) -> tuple[str, ...]:
        return (f"dtype:{point['dtype']}",)

    def refuses(self, _: Point, extent: Extent) -> str:
        """Why its heads do not lie on so many ranks."""
        if HEADS % extent.ranks == 0:
            return ""
        return f"the {HEADS} heads of {MODEL} do not lie on {extent.ranks} logical cores"


@cache
def _request(ranks: int) -> StepRequest:
    from trnbench_steps.job import Job, Task
    from trnbench_steps.layout import Layout
    from trnbench_steps.step_request import StepRequest

    return StepRequest(
        model=MODEL,
        job=Job(task=Task.DECODE, batch=_BATCH, kv=_KV),
        layout=Layout(tp=ranks),
        axes=("batch", "kv", "dtype"),
    )


@cache
def _step_kernel(ranks: int) -> Kernel:
    from trnbench_steps.step_kernel import step_kernel

    return step_kernel(_request(ranks))


def device_step() -> Kernel:
    """decode_step."""
    step = DeviceStep()
    return Kernel(
        name=_NAME,
        family=WORKLOAD_FAMILY,
        title="A decoding step of Llama 3 8B on one device",
        about="One token of one sequence, by a rank on each logical core of a device: what a device does.",
        axes=(
            Axis(name="batch", values=(_BATCH,), about="sequences"),
            Axis(name="kv", values=(_KV,), about="tokens of each in the cache"),
            Axis(name="dtype", kind="str", values=("bf16",), about="of what is between layers"),
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


@trnbench.hookimpl
def trnbench_kernels() -> Iterator[Kernel | Template]:
    """A step of one device that every run has, and one that somebody asks for."""
    yield device_step()
    yield Template(
        name="workload",
        subject="trnbench_steps.step_request:step_request",
        kernel="trnbench_steps.step_kernel:step_kernel",
    )


@trnbench.hookimpl
def trnbench_checks() -> Iterator[Check]:
    """Models are read, kernels of operators can be resolved."""
    yield Check(name="workloads", check="trnbench_steps.checks.workloads:workloads", order=130)
