"""`--executor ray`: what a run is carried out by, where it is not this machine's own processes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from trnbench.backend import Backend
from trnbench.errors import TrnbenchError
from trnbench.kernels.case import Case
from trnbench.run.attempt import Attempts
from trnbench.run.returned import detected
from trnbench_ray.cluster import Cluster, connected
from trnbench_ray.placed import Placed
from trnbench_ray.pool import ClusterPool


class RayExecutor:
    """Places backends on the machines of a cluster, and hands cases out to them."""

    name = "ray"
    elsewhere = True
    by_case = False

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def placed(self, backend: Backend, *, keep_identity: bool = False) -> Backend:
        """`backend` as the machines see it. One that needs no machine is left as it is.

        What a measured case needs all of is the backend's `resource`: "neuron_cores", "GPU", or "CPU"
        where it names none. Raises `UsageError` where no machine offers it.
        """
        found = detected(backend)
        if found.available and not found.instance:
            return backend
        machines = self._cluster.machines(backend, resource_of(backend), keep_identity=keep_identity)
        return Placed(backend, machines, self._cluster.version)

    def pool(
        self, attempts: Attempts, cases: Sequence[Case], *, jobs: int, apart: bool, retries: int
    ) -> ClusterPool:
        """Raises `ValueError` for cases that cannot be sent to another machine."""
        backend = attempts.backend
        placed = backend if isinstance(backend, Placed) else None
        pool = ClusterPool(
            self._cluster,
            attempts,
            cases,
            machines=placed.machines if placed and apart else (),
            resource=resource_of(backend),
            jobs=jobs,
            retries=retries,
        )
        if placed:
            pool.notes += placed.differences()
        return pool

    def ended(self, code: int, error: TrnbenchError | None = None) -> None:
        """Machines of a cluster are not told."""


def resource_of(backend: Backend) -> str:
    """The name by which Ray counts what this backend measures."""
    inner = backend.backend if isinstance(backend, Placed) else backend
    return str(getattr(inner, "resource", "CPU"))


@contextlib.contextmanager
def ray_executor(jobs: int = 0) -> Iterator[RayExecutor]:
    """Connected to the cluster of RAY_ADDRESS, or to one of this machine alone. Raises `UsageError`."""
    with connected(jobs) as cluster:
        yield RayExecutor(cluster)
