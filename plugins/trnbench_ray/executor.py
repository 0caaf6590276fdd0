"""`--executor ray`: what a run is carried out by, where it is not this machine's own processes."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from trnbench import Backend, Case, Detection, Observation, System, TrnbenchError
from trnbench.run.attempt import Attempts
from trnbench.run.reply import detected
from trnbench_ray.cluster import Cluster, Machine, connected
from trnbench_ray.pool import ClusterPool

_OF_THE_MOMENT = frozenset({"load_average", "host_name"})
"""What differs between machines, and within one from minute to minute, without making them two kinds."""


class Placed:
    """Detected and described there; sent to another process it is the backend that it stands for."""

    def __init__(self, backend: Backend, machines: Sequence[Machine], version: str) -> None:
        self.backend, self.name = backend, backend.name
        self._version = version
        self._all = tuple(machines)
        able = [machine for machine in machines if machine.seen.detection.available]
        self._instance = able[0].seen.detection.instance if able else ""
        self.machines = tuple(
            machine for machine in able if machine.seen.detection.instance == self._instance
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.backend,)

    def tuned(self, sample_s: float) -> Placed:
        tuned = getattr(self.backend, "tuned", None)
        return Placed(tuned(sample_s) if tuned else self.backend, self._all, self._version)

    def detect(self) -> Detection:
        """Of the first machine that can; where none can, what the first one says."""
        chosen = self.machines or self._all
        return chosen[0].seen.detection

    def environment(self) -> dict[str, Any]:
        """Of the first machine; see `differences`."""
        environment = {"executor": f"ray {self._version}", "executor_machines": len(self.machines)}
        return {**self.machines[0].seen.environment, **environment} if self.machines else environment

    def differences(self) -> Iterator[str]:
        """Sentences for the run's notes: machines left out, and what is not the same on all."""
        for machine in self._all:
            if machine in self.machines:
                if machine.seen.problem:
                    yield f"machine {machine.number} could not describe its stack: {machine.seen.problem}"
                continue
            seen = machine.seen.detection
            why = f"it is {seen.instance}, not {self._instance}" if seen.available else seen.why
            yield f"machine {machine.number} of the cluster takes no part: {why}"
        keys = dict.fromkeys(key for each in self.machines for key in each.seen.environment)
        for key in keys:
            by_value: dict[str, list[int]] = defaultdict(list)
            for machine in self.machines:
                by_value[str(machine.seen.environment.get(key, "not told"))].append(machine.number)
            if len(by_value) > 1 and key not in _OF_THE_MOMENT:
                values = "; ".join(
                    f"{value} on machine{'s' if len(on) > 1 else ''} {', '.join(map(str, on))}"
                    for value, on in by_value.items()
                )
                yield f"the machines differ in {key}: {values}"

    def unsupported(self, case: Case, system: System) -> str:
        return self.backend.unsupported(case, system)

    def observe(self, case: Case, system: System) -> Observation:
        return self.backend.observe(case, system)


def _itself(backend: Backend) -> Backend:
    return backend


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
        detection = detected(backend)
        if detection.available and not detection.instance:
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
