"""Cases on the machines of a Ray cluster: `trnbench run --executor ray`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import trnbench
from trnbench import ExecutorEntry

if TYPE_CHECKING:
    from trnbench import Detection


@trnbench.hookimpl
def trnbench_executors() -> Iterator[ExecutorEntry]:
    """The machines of RAY_ADDRESS, or of this machine alone."""
    yield ExecutorEntry(
        name="ray",
        title="machines of a Ray cluster (RAY_ADDRESS)",
        open="trnbench_ray.executor:ray_executor",
        detect="trnbench_ray:detect",
    )


def detect() -> Detection:
    """Whether Ray is there: neither imported nor asked for a cluster, both take seconds."""
    from importlib import metadata

    try:
        version = metadata.version("ray")
    except metadata.PackageNotFoundError:
        why, hint = "Ray is not installed", "pip install 'trnbench[ray]'"
        return trnbench.Detection(available=False, why=why, try_=hint)
    address = os.environ.get("RAY_ADDRESS", "")
    cluster = f"the cluster at {address} (RAY_ADDRESS)" if address else "this machine alone: no RAY_ADDRESS"
    return trnbench.Detection(available=True, why=f"Ray {version}; {cluster}")
