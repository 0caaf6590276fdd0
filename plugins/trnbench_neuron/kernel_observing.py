"""A kernel measured: by today's NKI and nrtpy, or by Beta 1 on second-generation cores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trnbench.backend import Observation
from trnbench.errors import TrnbenchError
from trnbench.results.proof import Growth, Proof
from trnbench.results.statistics import median
from trnbench_emulator.nki import problem
from trnbench_neuron import beta1_case, explorer, nki_case, nki_timing
from trnbench_neuron.failure import NoEvidence
from trnbench_neuron.observing import Observing
from trnbench_neuron.settings import child_environment

if TYPE_CHECKING:
    from trnbench_emulator.nki.problem import Source


class KernelObserving(Observing):
    """One case with an NKI source."""

    def observe(self) -> Observation:
        if self.host.beta1(self.case, self.system):
            return self._beta1()
        return self._nki()

    def _nki(self) -> Observation:
        source = self._source("nki")
        interpreters, cores = self.host.interpreters, self.host.cores(self.case)
        self.implementation = (
            f"nki: {source.ref} (nki {interpreters.nki.version}), timed by nrtpy {interpreters.nrtpy.version}"
        )

        def run(source: Source, name: str, **more: Any) -> nki_case.Result:
            return nki_case.run_case(
                self.case,
                self.system,
                source,
                self.folder / name,
                found=interpreters,
                cores=cores,
                tag=self.tag,
                seed=self._seed,
                **more,
            )

        seen, counters, notes = self._watched(
            lambda: run(source, "case", rules=self._rules(nki_timing.RULES))
        )
        counters |= self._profile(Path(seen.compiled.neff), notes)
        growth = self._growth(
            "nki",
            median(seen.timed.samples),
            lambda smaller: median(run(smaller, "smaller", rules=nki_timing.FEW, check=False).timed.samples),
            lambda: nki_case.idle_time(
                self.folder / "idle", found=interpreters, system=self.system, core=cores[0], tag=self.tag
            ),
        )
        return self._observation(
            seen.timed.samples,
            clock="device",
            stop_reason=seen.timed.stop_reason,
            version=f"nki {interpreters.nki.version}, nrtpy {interpreters.nrtpy.version}",
            proof=Proof(
                device=self._named,
                completion="device-side tracing of each execution; "
                f"{seen.timed.wall_s:.3g} s by the host's clock hold them all",
                output=seen.checked,
                growth=growth,
                counted=self._counted(counters, notes),
            ),
            counters=counters,
            notes=notes,
            detail={
                "cores": len(cores),
                "compile_s": seen.compiled.seconds,
                "host_execution_s": seen.timed.host_s,
                "executions": seen.timed.executions,
                "seed": self._seed,
                **_busy(counters, median(seen.timed.samples)),
            },
        )

    def _beta1(self) -> Observation:
        source = self._source(beta1_case.KIND)
        python = self.host.interpreters.beta1
        self.implementation = f"{beta1_case.KIND}: {source.ref} (neuronx-cc {python.version})"

        def run(source: Source, name: str, calls: int = 1, check: bool = False) -> beta1_case.Result:
            return beta1_case.run_case(
                self.case,
                self.system,
                source,
                self.folder / name,
                python=python.path,
                core=0,
                tag=self.tag,
                seed=self._seed,
                calls=calls,
                check=check,
            )

        seen, counters, notes = self._watched(lambda: run(source, "case", beta1_case.CALLS, True))
        notes.append("transfers between host and device are inside these times: neuron-bench counts them")
        return self._observation(
            seen.samples,
            clock="host",
            stop_reason=seen.stop_reason,
            version=f"neuronx-cc {python.version}",
            proof=Proof(
                device=self._named,
                completion="neuron-bench waits for every execution",
                output=seen.checked,
                growth=self._growth(
                    beta1_case.KIND,
                    median(seen.samples),
                    lambda smaller: median(run(smaller, "smaller").samples),
                    lambda: 0.0,
                ),
            ),
            counters=counters,
            notes=notes,
            detail={"percentiles_s": seen.percentiles_s, "seed": self._seed},
        )

    def _source(self, kind: str) -> Source:
        source = problem.source_of(self.case, kind)
        if source is None:
            raise NoEvidence(f"the source of {self.case.kernel.name} does not take this point")
        return source

    def _growth(
        self,
        kind: str,
        time_s: float,
        time_of: Callable[[Source], float],
        idle: Callable[[], float],
    ) -> Growth | None:
        """The same kernel with less work; None where there is no smaller case, or it does not run."""
        point = problem.smaller(self.case.kernel, self.case.key.point)
        source = problem.source_of(self.case, kind, point) if point is not None else None
        if point is None or source is None:
            return None
        less = problem.amount(self.case, point)
        whole = problem.amount(self.case, self.case.key.point)
        if kind not in self.floors:
            self.floors[kind] = idle()
        try:
            smaller_s = time_of(source)
        except TrnbenchError:
            return None
        return Growth(
            work_ratio=whole / less,
            time_s=time_s,
            less_s=smaller_s,
            floor_s=self.floors[kind],
        )

    def _profile(self, neff: Path, notes: list[str]) -> dict[str, float]:
        if not self.host.settings.profile or self.host.tools.find(explorer.NAME) is None:
            return {}
        env = child_environment(NEURON_LOGICAL_NC_CONFIG="1", NEURON_PROCESS_TAG=f"{self.tag}-profile")
        place = self.folder / "profile"
        place.mkdir()
        try:
            return explorer.profile(self.host.tools, neff, env=env, folder=place)
        except TrnbenchError as error:
            notes.append(f"no counters of the profiler: {error.what}")
            return {}

    def _counted(self, counters: dict[str, float], notes: list[str]) -> dict[str, float]:
        """Less than the formula is work left out. More is padding, transposes and passes: told, no doubt."""
        work = self.case.kernel.work(self.case.key.point, self.case.extent).as_counts()
        cores = max(self.case.extent.cores, 1)
        flops = counters.get("profile_hardware_flops")
        if flops is not None:
            flops -= counters.get("profile_transpose_flops", 0.0)
        reads, writes = counters.get("profile_hbm_read_bytes"), counters.get("profile_hbm_write_bytes")
        moved = reads + writes if reads is not None and writes is not None else None
        counted: dict[str, float] = {}
        for name, value in (("flops", flops), ("hbm_bytes", moved)):
            asked = work.get(name, 0.0) / cores
            if value is None or not asked:
                continue
            if value <= asked:
                counted[name] = value * cores
            elif value > 1.05 * asked:
                notes.append(f"the profiler counted {value / asked:.3g} times the formula's {name}")
        return counted


def _busy(counters: Mapping[str, float], time_s: float) -> dict[str, Any]:
    """What the profiler saw of each engine: its own seconds, and as a share of the time that was measured
    without it, which reports draw beside the emulator's."""
    engines, total = explorer.engines(counters), counters.get("profile_total_time", 0.0)
    if not engines:
        return {}
    return {
        "profiled": {"total_s": total, "engines_s": engines},
        "busy": {name: seconds / total * time_s for name, seconds in engines.items()},
    }
