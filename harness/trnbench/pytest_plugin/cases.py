"""The cases of a system as pytest sees them: planned as `trnbench run` plans them, judged as it judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trnbench.backend import Backend
from trnbench.kernels.kernel import Case
from trnbench.measure.timing import replay
from trnbench.record import Record
from trnbench.results.measurement import BAD, Grade, Measurement, Status
from trnbench.run.api import choose_backend
from trnbench.run.attempt import Attempts
from trnbench.run.plan import Plan, plan
from trnbench.run.pool import carried_out
from trnbench.run.preparation import calibrated, prepared
from trnbench.run.reply import detected
from trnbench.run.selection import PROCESSES, RunSettings, Selection

if TYPE_CHECKING:
    from trnbench.registry import Registry

REPLAYED = 2000
"""Samples handed to pytest-benchmark at most; its statistics are made of all of them."""


class Cases(Record, kw_only=True):
    """`apart`: each case in a process of its own, as `trnbench run` measures it. pytest's own process has
    its plugins, its threads and what the tests before left behind; none of it may be in a measured time."""

    plan: Plan
    attempts: Attempts
    apart: bool

    def carry_out(self, case: Case, benchmark: Any) -> None:
        """One case: its samples become the benchmark's, its judgement the test's outcome."""
        import pytest

        measurement = self._measurement(case)
        if measurement.status is Status.SKIPPED:
            pytest.skip(measurement.reason_text)
        benchmark.extra_info.update(told(measurement))
        if measurement.samples and benchmark.enabled:
            replay(benchmark, measurement.samples[:REPLAYED])
        elif not benchmark.enabled:
            benchmark(int)  # a fixture that is asked for and not used is a warning
        if measurement.status is Status.INCONCLUSIVE:
            pytest.xfail(f"{measurement.status}: {measurement.reason_text}")
        if measurement.status in BAD:
            pytest.fail(f"{measurement.status}: {measurement.reason_text}", pytrace=False)

    def _measurement(self, case: Case) -> Measurement:
        if not self.apart:
            return self.attempts(case)[0]
        # A crash, a hang or a lack of memory there is this test's failure, and no other's.
        return carried_out(self.attempts, case, PROCESSES)


def told(measurement: Measurement) -> dict[str, Any]:
    """What a number has to be shown with, JSON-safe and flat."""
    info: dict[str, Any] = {
        "evidence": str(measurement.evidence.grade),
        "by": measurement.evidence.by,
        "clock": measurement.clock,
        "instance": measurement.case.instance,
        "status": str(measurement.status),
    }
    info.update({name: metric.value for name, metric in measurement.metrics.items() if name != "latency_s"})
    if measurement.judgement is not None:
        info["percent_of_peak"] = 100.0 * measurement.judgement.fraction
        info["peak"] = measurement.judgement.peaks.chosen.value
    return info


def cases_of(instance: str, kernels: tuple[str, ...], backend: str) -> Cases:
    """Raises what `trnbench run -i instance kernels --backend backend` would."""
    from trnbench.registry import load_registry

    registry = load_registry()
    _, named = registry.instance(instance)
    chosen = choose_backend(registry, backend) if backend else _fitting(registry, named.name)
    found = detected(chosen)
    planned = plan(registry, Selection(instances=(instance,), kernels=kernels, kinds=found.kinds))
    planned = calibrated(planned, chosen)
    attempts = prepared(planned, chosen, RunSettings(), registry)
    return Cases(plan=planned, attempts=attempts, apart=attempts.unseen.grade is Grade.MEASURED)


def _fitting(registry: Registry, instance: str) -> Backend:
    """What measures this system here, else the usual one. Raises `UsageError` where there is none."""
    for backend in registry.backends.values():
        seen = detected(backend)
        if seen.available and instance in (seen.instance, *seen.also):
            return backend
    return choose_backend(registry)
