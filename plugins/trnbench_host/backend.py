"""The `host` backend: this machine's processor, by the very path that every measured stack takes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Self

from msgspec.structs import replace

from trnbench import (
    Calibration,
    Case,
    Detection,
    KernelError,
    Observation,
    Program,
    Scope,
    System,
    Timing,
    resolve,
)
from trnbench_host.book import HOST, measured, unknowns
from trnbench_host.cpu import SYS, read_cpu, read_memory, text_of

COLD_UP_TO = 0.25
"""Cold samples are taken of cases that fill at most this share of the last cache: others are cold anyway."""


CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


class HostBackend:
    """NumPy and C on the processors that this process may use."""

    name = "host"

    def __init__(self, timing: Timing | None = None) -> None:
        self.timing = timing or Timing()

    def tuned(self, sample_s: float) -> Self:
        """The same backend that samples each case for `sample_s` at most."""
        return type(self)(Timing(sample_s=sample_s))

    def detect(self) -> Detection:
        if not sys.platform.startswith("linux"):
            return Detection(
                available=False,
                why=f"{sys.platform} has no /proc/cpuinfo, so the processor cannot be identified",
                try_="run it on Linux",
            )
        return Detection(available=True, instance=HOST, kinds=("numpy", "c"))

    def environment(self) -> dict[str, Any]:
        """What results depend on; the BLAS and its threads are recorded with each case."""
        from trnbench_host.compiler import compiler

        cpu = read_cpu()
        described: dict[str, Any] = {
            "cpu_vendor": cpu.vendor,
            "cpu_family": cpu.family,
            "cpu_model_number": cpu.model,
            "cpu_sockets": cpu.sockets,
            "cpu_cores_usable": cpu.cores,
            "cpu_threads_usable": cpu.threads,
            "cpu_nominal_hz": cpu.nominal_hz or "unknown",
            "cpu_highest_hz": cpu.highest_hz or "unknown",
            "cpu_virtual": cpu.virtual,
            "cpu_governor": text_of(SYS / "cpu0/cpufreq/scaling_governor") or "unknown",
            "clock_source": text_of(CLOCK_SOURCE),
            "kernel_release": os.uname().release,
            "load_average": round(os.getloadavg()[0], 2),
            "numpy_version": installed("numpy"),
            "pytest_benchmark_version": installed("pytest-benchmark"),
            "c_compiler": compiler().rpartition("/")[2] or "none",
            "unknown": "; ".join(unknowns(cpu, read_memory())),
        }
        described.update({f"cpu_cache_{level.lower()}_bytes": size for level, size in cpu.caches.items()})
        return described

    def calibrated(self, system: System) -> Calibration:
        """Peaks that no document and no table gives, measured before the first case."""
        return measured(system.book, read_cpu()) if system.instance.name == HOST else Calibration()

    def unsupported(self, case: Case, system: System) -> str:
        if system.instance.name != HOST:
            return f"the host backend measures this machine, which is no {system.name}"
        kinds = case.kernel.implementations
        if "numpy" not in kinds and "c" not in kinds:
            return f"{case.kernel.name} has no implementation for a processor (numpy or c)"
        from trnbench_host.compiler import lacking

        return lacking() if "numpy" not in kinds else ""

    def observe(self, case: Case, system: System) -> Observation:
        """In a process of the case's own; threads and processors are set for it and recorded."""
        from random import getrandbits

        from trnbench import host_flush, observe
        from trnbench_host.cpu import Throttle
        from trnbench_host.threads import Place, limit_blas, pinned, processors_for

        cpu = read_cpu()
        cores = 1 if case.key.scope.rank <= Scope.CORE.rank else cpu.cores
        seed = getrandbits(64)
        blas = limit_blas(cores)
        import numpy as np

        kind = "numpy" if "numpy" in case.kernel.implementations else "c"
        reference = case.kernel.implementations[kind]
        with pinned(processors_for(cores)) as processors:
            program = resolve(reference)(
                case.key.point, Place(processors=processors, blas=blas), np.random.default_rng(seed)
            )
            if not isinstance(program, Program):
                raise KernelError(
                    f"{reference} returns {type(program).__name__}, no Program",
                    cause="it measures nothing itself: it hands over what is to be timed",
                    try_="return trnbench.Program(...)",
                )
            size = case.footprint.get("host", 0.0)
            warm = size <= COLD_UP_TO * cpu.last_cache_bytes and self.timing.cold_samples
            throttle = Throttle(processors)
            return observe(
                replace(program, witness=throttle.witness),
                device=cpu.name,
                named_by="the processor's own name, /proc/cpuinfo",
                version=f"numpy {installed('numpy')}, {blas.library}",
                implementation=f"{kind}: {reference}",
                timing=self.timing,
                flush=host_flush(cpu.last_cache_bytes) if warm else None,
                detail={"data": {"kind": "uniform random", "seed": str(seed)}},
            )


def installed(distribution: str) -> str:
    """Its version. Raises `importlib.metadata.PackageNotFoundError`."""
    from importlib import metadata

    return metadata.version(distribution)
