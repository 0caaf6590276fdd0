"""Machines of a Ray cluster as a plugin: one executor."""

from __future__ import annotations

from collections.abc import Iterator

import trnbench
from trnbench import Detection, ExecutorEntry


@trnbench.hookimpl
def trnbench_executors() -> Iterator[ExecutorEntry]:
    """The machines of RAY_ADDRESS, or of this machine alone."""
    yield ExecutorEntry(
        name="ray",
        title="machines of a Ray cluster (RAY_ADDRESS)",
        open="trnbench_ray.executor:ray_executor",
        detect="trnbench_ray.plugin:detect",
    )


def detect() -> Detection:
    """Whether Ray is there: neither imported nor asked for a cluster, both take seconds."""
    import os
    from importlib import metadata

    try:
        version = metadata.version("ray")
    except metadata.PackageNotFoundError:
        return Detection(available=False, why="Ray is not installed", try_="pip install 'trnbench[ray]'")
    address = os.environ.get("RAY_ADDRESS", "")
    cluster = f"the cluster at {address} (RAY_ADDRESS)" if address else "this machine alone: no RAY_ADDRESS"
    return Detection(available=True, why=f"Ray {version}; {cluster}")
