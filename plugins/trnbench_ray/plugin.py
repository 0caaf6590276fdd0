"""Machines of a Ray cluster as a plugin: one executor."""

from __future__ import annotations

from collections.abc import Iterator

import trnbench
from trnbench import ExecutorEntry


@trnbench.hookimpl
def trnbench_executors() -> Iterator[ExecutorEntry]:
    """The machines of RAY_ADDRESS, or of this machine alone."""
    yield ExecutorEntry(
        name="ray", title="machines of a Ray cluster (RAY_ADDRESS)", open="trnbench_ray.executor:ray_executor"
    )
