"""An NKI kernel as a case: compiled by the real `nki`, executed and timed by nrtpy, its result checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from trnbench import Case, Growth, Observation, Proof, System, TrnbenchError
from trnbench.measure.sampling import Rule
from trnbench.record import Record
from trnbench.results.statistics import median
from trnbench_emulator.nki import problem
from trnbench_emulator.nki.problem import Source
from trnbench_neuron import beta1_case, neff, verification
from trnbench_neuron.conversation import Interpreters
from trnbench_neuron.neff import (
    FEW,
    RULES,
    Compiled,
    Timed,
    compile_kernel,
    slower_by_host,
    target_of,
    time_neff,
)
from trnbench_neuron.observation import Observing
from trnbench_neuron.settings import BETA1, child_environment
from trnbench_neuron.tool import NoEvidence, WrongResult


class Result(Record, kw_only=True):
    """A case that was timed; `checked` says how its result was found right, "" where nobody looked."""

    timed: Timed
    compiled: Compiled
    checked: str


def run_case(
    case: Case,
    system: System,
    source: Source,
    folder: Path,
    *,
    found: Interpreters,
    cores: Sequence[int],
    tag: str,
    seed: int,
    rules: Sequence[Rule] = RULES,
    check: bool = True,
) -> Result:
    """Compiled, executed, checked and timed. Raises `TrnbenchError` of the kind that went wrong."""
    folder.mkdir(exist_ok=True)
    values = problem.fill(source, seed)
    arrays = problem.write(source, values, folder)
    target = target_of(system.instance.core)
    compiled = compile_kernel(source, arrays, folder, python=found.nki.path, target=target)
    arrays = problem.write(source, values, folder, compiled.arguments)
    timed = time_neff(
        compiled.neff, arrays, folder, python=found.nrtpy.path, cores=cores, tag=tag, rules=rules
    )
    checked = _checked(case, system, source, values, timed) if check else ""
    if check:
        slower_by_host(timed)
    return Result(timed=timed, compiled=compiled, checked=checked)


def _checked(case: Case, system: System, source: Source, values: list[Any], timed: Timed) -> str:
    kinds = problem.outputs_of(source, system)
    first: list[bytes] = []
    how = ""
    for position, outputs in enumerate(timed.outputs):
        if len(outputs) != len(kinds):
            raise WrongResult(f"the kernel returns {len(kinds)} results, the device gave {len(outputs)}")
        data = [Path(str(output["file"])).read_bytes() for output in outputs]
        if position and data == first:
            continue  # the same bytes as the core before, which were right
        try:
            arrays = [problem.read(output, dtype) for output, (_, dtype) in zip(outputs, kinds, strict=True)]
        except ValueError as error:
            raise WrongResult(f"the device's result is not of the type the kernel returns: {error}") from None
        how = verification.checked(source, case, system, values, arrays, "nki")
        first = data
    return how


def idle_time(case: Case, system: System, folder: Path, *, found: Interpreters, core: int, tag: str) -> float:
    """Seconds of the smallest kernel there is; 0 where it does not run, which is no evidence lost."""
    source = Source(
        ref="trnbench_neuron.kernels.idle:idle",
        module="trnbench_neuron.kernels.idle",
        file=str(Path(__file__).parent / "kernels" / "idle.py"),
        function="idle",
        inputs=(((1, 1), "float32"),),
    )
    try:
        idle = run_case(
            case, system, source, folder, found=found, cores=[core], tag=tag, seed=0, rules=FEW, check=False
        )
    except TrnbenchError:
        return 0.0
    return median(idle.timed.samples)


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

        def run(source: Source, name: str, **more: Any) -> Result:
            return run_case(
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

        seen, counters, notes = self._watched(lambda: run(source, "case", rules=self._rules(neff.RULES)))
        counters |= self._profile(Path(seen.compiled.neff), notes)
        growth = self._growth(
            "nki",
            median(seen.timed.samples),
            lambda smaller: median(run(smaller, "smaller", rules=neff.FEW, check=False).timed.samples),
            lambda: idle_time(
                self.case,
                self.system,
                self.folder / "idle",
                found=interpreters,
                core=cores[0],
                tag=self.tag,
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
        source = self._source(BETA1)
        python = self.host.interpreters.beta1
        self.implementation = f"{BETA1}: {source.ref} (neuronx-cc {python.version})"

        def run(source: Source, name: str, calls: int = 1, check: bool = False) -> beta1_case.Result:
            return beta1_case.run_case(
                self.case,
                self.system,
                source,
                self.folder / name,
                python=python.path,
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
                    BETA1,
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
        self, kind: str, time_s: float, time_of: Callable[[Source], float], idle: Callable[[], float]
    ) -> Growth | None:
        """The same kernel with less work; None where there is no smaller case, or it does not run."""
        point = problem.smaller(self.case.kernel, self.case.key.point)
        source = problem.source_of(self.case, kind, point) if point is not None else None
        if point is None or source is None:
            return None
        less = problem.amount(self.case, point)
        full = problem.amount(self.case, self.case.key.point)
        if kind not in self.floors:
            self.floors[kind] = idle()
        try:
            smaller_s = time_of(source)
        except TrnbenchError:
            return None
        return Growth(work_ratio=full / less, time_s=time_s, less_s=smaller_s, floor_s=self.floors[kind])

    def _profile(self, compiled: Path, notes: list[str]) -> dict[str, float]:
        if not self.host.settings.profile or self.host.tools.find(neff.EXPLORER) is None:
            return {}
        env = child_environment(NEURON_LOGICAL_NC_CONFIG="1", NEURON_PROCESS_TAG=f"{self.tag}-profile")
        profile = self.folder / "profile"
        profile.mkdir()
        try:
            return neff.profile(self.host.tools, compiled, env=env, folder=profile)
        except TrnbenchError as error:
            notes.append(f"no counters of the profiler: {error.what}")
            return {}

    def _counted(self, counters: dict[str, float], notes: list[str]) -> dict[str, float]:
        """Less than the formula is work left out. More is padding, transposes and passes: told, no doubt."""
        work = self.case.work.as_counts()
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
    engines, total = neff.engines(counters), counters.get("profile_total_time", 0.0)
    if not engines:
        return {}
    return {
        "profiled": {"total_s": total, "engines_s": engines},
        "busy": {name: seconds / total * time_s for name, seconds in engines.items()},
    }
