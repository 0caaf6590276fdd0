"""A step as a kernel: planned, carried out, judged and kept like every other case."""

from __future__ import annotations

from collections.abc import Mapping

from trnbench import Extent, Kernel, Point, PrimaryMetric, Scope, Spread, TrnbenchError, Work
from trnbench.extension import WORKLOAD_FAMILY
from trnbench_steps.flops import read_bytes
from trnbench_steps.job import Task
from trnbench_steps.measures import model_flops
from trnbench_steps.step_request import StepRequest

_TITLES = {
    Task.TRAIN: "A training step of {}",
    Task.PREFILL: "The forward pass of {} over a prompt",
    Task.DECODE: "A decoding step of {}",
}
_ABOUT = "what a step of the model takes on its layout, put together from kernels and collectives"


def step_kernel(asked: StepRequest) -> Kernel:
    """Judged by the HBM rate of the whole system where it decodes, by the tensor engines' otherwise."""
    formulas = _Formulas(asked)
    decoding = asked.job.task is Task.DECODE
    return Kernel(
        name=asked.name,
        family=WORKLOAD_FAMILY,
        title=_TITLES[asked.job.task].format(asked.model),
        about=_ABOUT,
        axes=asked.kernel_axes(),
        scopes=(Scope.INSTANCE,),
        primary=PrimaryMetric(
            name="hbm_bytes_per_s" if decoding else "flops_per_s",
            unit="B/s" if decoding else "FLOP/s",
            count="hbm_bytes" if decoding else "flops",
            peak="hbm_bandwidth" if decoding else "peak_flops",
        ),
        work=formulas.work,
        footprint=formulas.footprint,
        requires=formulas.requires,
        refuses=formulas.refuses,
        spread=Spread.DEVICES,
        tags=(str(asked.job.task),),
        implementations={"model": "trnbench_steps.step_cases:STEPS"},
        subject=asked,
    )


class _Formulas:
    """Of one asked step; functions of a module, so that a kernel can be sent to another process."""

    def __init__(self, asked: StepRequest) -> None:
        self.asked = asked

    def work(self, point: Point, _: Extent) -> Work:
        division = self.asked.at(point)
        return Work(
            flops=float(model_flops(division.model, division.job).all),
            bytes={"hbm": read_bytes(division)},
            tokens=float(division.job.batch * division.job.new_tokens),
            formula="FLOP of the model; weights and cache that one token of each sequence meets",
        )

    def footprint(self, _: Point, __: Extent) -> Mapping[str, float]:
        """Nothing here: whether it fits follows from its layout on a system (`StepCases.unsupported`)."""
        return {}

    def requires(self, _: Point) -> tuple[str, ...]:
        return ()

    def refuses(self, point: Point, _: Extent) -> str:
        try:
            self.asked.at(point)
        except TrnbenchError as error:
            return "; ".join(filter(None, (error.what, error.cause)))
        return ""
