"""Steps of models on layouts, made of kernels and collectives, and the plan that ranks layouts."""

from __future__ import annotations

from collections.abc import Iterator

import trnbench
from trnbench import Check, Kernel, Template


@trnbench.hookimpl
def trnbench_kernels() -> Iterator[Kernel | Template]:
    """A step of one device that every run has, and one that somebody asks for."""
    from trnbench_steps.device_step import device_step

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
