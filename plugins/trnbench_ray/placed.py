"""A backend as the machines of a cluster see it, which need not be what this machine sees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from trnbench.backend import Backend, Detection, Observation
from trnbench.generation import System
from trnbench.kernels.case import Case
from trnbench_ray.cluster import Machine

_OF_THE_MOMENT = frozenset({"load_average", "host_name"})
"""What differs between machines, and within one from minute to minute, without making them two kinds."""


class Placed:
    """Detected and described there; sent to another process it is the backend that it stands for."""

    def __init__(self, backend: Backend, machines: Sequence[Machine], version: str) -> None:
        self.backend, self.name = backend, backend.name
        self._version = version
        self._all = tuple(machines)
        able = [each for each in machines if each.seen.detection.available]
        self._instance = able[0].seen.detection.instance if able else ""
        self.machines = tuple(each for each in able if each.seen.detection.instance == self._instance)

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
        told = {"executor": f"ray {self._version}", "executor_machines": len(self.machines)}
        return {**self.machines[0].seen.environment, **told} if self.machines else told

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
