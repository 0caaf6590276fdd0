"""One case measured: the tools run under watch, and what proves the number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from trnbench.backend import Observation
from trnbench.errors import TrnbenchError
from trnbench.measure.neuron import beta1_case, collective_case, explorer, nccom, nki_case, problem, sysfs
from trnbench.measure.neuron.failure import NoEvidence
from trnbench.measure.neuron.monitor import Monitor, Watch
from trnbench.measure.neuron.settings import child_environment
from trnbench.measure.series import Series, stability
from trnbench.results.evidence import Evidence, Grade
from trnbench.results.proof import Growth, Proof
from trnbench.results.statistics import median

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.kernels.case import Case
    from trnbench.measure.neuron.host import Host
    from trnbench.measure.neuron.problem import Source


class Observing:
    """`floors` keeps, for the cases to come, what a call without work takes."""

    def __init__(
        self, case: Case, system: System, host: Host, folder: Path, tag: str, floors: dict[str, float]
    ) -> None:
        self.case, self.system, self.host, self.folder = case, system, host, folder
        self.tag, self.floors = tag, floors
        self.implementation = ""
        self._seed = problem.seed_of(case)
        self._named = ""  # how the device named itself
        self._device = ""

    def evidence(self, version: str = "") -> Evidence:
        """Of this device, by the name it gives itself."""
        return Evidence(grade=Grade.MEASURED, by=self._device or self.host.match.instance, version=version)

    def observe(self) -> Observation:
        """Raises `TrnbenchError` for whatever goes wrong on the way."""
        if "collective" in self.case.kernel.implementations:
            return self._collective()
        if self.host.beta1(self.case, self.system):
            return self._beta1()
        return self._nki()

    # ---- kernels

    def _nki(self) -> Observation:
        source = self._source("nki")
        found, cores = self.host.interpreters, self.host.cores(self.case)
        self.implementation = (
            f"nki: {source.ref} (nki {found.nki.version}), timed by nrtpy {found.nrtpy.version}"
        )

        def run(source: Source, name: str, **more: Any) -> nki_case.Result:
            return nki_case.run_case(
                self.case,
                self.system,
                source,
                self.folder / name,
                found=found,
                cores=cores,
                tag=self.tag,
                seed=self._seed,
                **more,
            )

        seen, counters, notes = self._watched(lambda: run(source, "case"))
        counters |= self._profile(Path(seen.compiled.neff), notes)
        growth = self._growth(
            "nki",
            median(seen.timed.samples),
            lambda smaller: median(run(smaller, "smaller", rules=nki_case.FEW, check=False).timed.samples),
            lambda: nki_case.idle_time(
                self.folder / "idle", found=found, system=self.system, core=cores[0], tag=self.tag
            ),
        )
        return self._observation(
            seen.timed.samples,
            clock="device",
            stop_reason=seen.timed.stop_reason,
            version=f"nki {found.nki.version}, nrtpy {found.nrtpy.version}",
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

    # ---- collectives

    def _collective(self) -> Observation:
        listing = self.host.listing
        assert listing is not None  # a case without devices is not supported
        self.implementation = f"collective: {nccom.NAME} {self.case.kernel.implementations['collective']}"

        def run(size: int | None, name: str, **more: Any) -> collective_case.Result:
            folder = self.folder / name
            folder.mkdir()
            return collective_case.run_case(
                self.case, listing, self.host.tools, folder, tag=self.tag, seed=self._seed, size=size, **more
            )

        seen, counters, notes = self._watched(lambda: run(None, "case"))
        notes += seen.notes
        if seen.algorithm:
            self.implementation += f", {seen.algorithm}"
        size, time_s = int(self.case.key.point["size"]), collective_case.seconds(seen)
        less = collective_case.smaller_size(size)
        growth = None
        if less < size:
            floor = f"collective {self.case.kernel.name}"
            try:
                if floor not in self.floors:
                    self.floors[floor] = collective_case.seconds(
                        run(collective_case.IDLE_BYTES, "idle", rules=collective_case.ONCE)
                    )
                smaller_s = collective_case.seconds(run(less, "smaller", rules=collective_case.ONCE))
                growth = Growth(
                    work_ratio=size / less,
                    time_s=time_s,
                    less_s=smaller_s,
                    floor_s=self.floors[floor],
                )
            except TrnbenchError as error:
                notes.append(f"whether the time grows with the size was not seen: {error.what}")
        return self._observation(
            seen.samples,
            clock="device",
            stop_reason=seen.stop_reason,
            version=nccom.NAME,
            proof=Proof(
                device=self._named,
                completion=f"{nccom.NAME} times operations on the device and reads their results back",
                output=f"{nccom.NAME} --check random: a golden result computed on the host",
                growth=growth,
            ),
            counters=counters,
            notes=notes,
            detail={"printed_unit": seen.unit, "algorithm": seen.algorithm, "seed": self._seed},
        )

    # ---- what is common

    def _watched(self, measure: Callable[[], Any]) -> tuple[Any, dict[str, float], list[str]]:
        """The outcome of `measure`, and what tools and driver counted while it ran."""
        indices = self._indices()
        before = sysfs.counters(indices, self.host.sysfs)
        monitor = Monitor(self.host.tools, self.tag)
        with monitor:
            seen = measure()
        counted = sysfs.counters(indices, self.host.sysfs).since(before)
        watch = monitor.watch()
        self._name(watch)
        counters = {**counted, **watch.counters}
        notes = list(watch.notes)
        self._refuse(counters)
        listing = self.host.listing
        if listing is not None and set(listing.busy) & set(indices):
            notes.append("another process held these devices when this run began")
        return seen, counters, notes

    def _name(self, watch: Watch) -> None:
        """The device's own word for itself: the driver's, else the monitor's. The number of devices,
        their cores and memory were held against the document before."""
        name = self.host.name
        if name.device or name.architecture:
            self._device = name.device or name.architecture
            self._named = f"the driver calls it {self._device} ({name.architecture or 'no architecture'})"
        elif watch.device:
            self._device = watch.device
            self._named = f"neuron-monitor calls it {watch.device} (core {watch.core_version or 'unknown'})"
        if self._device and (why := _another(self._device, self.system.instance.device)):
            raise NoEvidence(f"the device calls itself {self._device}, which is not {why}")

    def _refuse(self, counters: dict[str, float]) -> None:
        """Raises `NoEvidence` for what counters say cannot be a good result."""
        for key in ("ecc_uncorrected", "driver_ecc_uncorrected"):
            if counters.get(key, 0.0) > 0.0:
                raise NoEvidence(f"{counters[key]:g} uncorrected memory errors were counted meanwhile")
        for key in ("executions_failed", "driver_errors"):
            if counters.get(key, 0.0) > 0.0:
                raise NoEvidence(f"{counters[key]:g} executions did not go well ({key})")
        if counters.get("driver_executions") == 0.0:
            raise NoEvidence(
                "the driver counted no execution on these devices: whatever was timed, it was not they",
                try_="trnbench doctor",
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
        found: dict[str, float] = {}
        for name, value in (("flops", flops), ("hbm_bytes", moved)):
            asked = work.get(name, 0.0) / cores
            if value is None or not asked:
                continue
            if value <= asked:
                found[name] = value * cores
            elif value > 1.05 * asked:
                notes.append(f"the profiler counted {value / asked:.3g} times the formula's {name}")
        return found

    def _indices(self) -> list[int]:
        listing = self.host.listing
        if listing is None:
            return []
        if "collective" in self.case.kernel.implementations:
            return [each.index for each in listing.devices]
        used = -(-max(self.case.extent.cores, 1) // listing.devices[0].cores)
        return [each.index for each in listing.devices[:used]]

    def _observation(
        self,
        samples: tuple[float, ...],
        *,
        clock: str,
        stop_reason: str,
        version: str,
        proof: Proof,
        counters: dict[str, float],
        notes: list[str],
        detail: dict[str, Any],
    ) -> Observation:
        series = Series(name="hot", samples=samples, stop_reason=stop_reason)
        settled = stability(series)
        if settled.verdict != "stable" and len(samples) >= 5:
            notes.append(f"{settled.verdict}: {settled.why}; {settled.advice}")
        return Observation(
            evidence=self.evidence(version),
            time_s=median(series.judged),
            samples=samples,
            clock=clock,
            stop_reason=stop_reason,
            implementation=self.implementation,
            proof=proof,
            counters=counters,
            notes=tuple(notes),
            detail={
                **detail,
                "timing": {"series": {"hot": series.describe()}, "stability": msgspec.to_builtins(settled)},
            },
        )


def _another(said: str, documented: str) -> str:
    """The documented name, if what the device says names another family or another number of it."""

    def parts(text: str) -> tuple[str, str]:
        text = text.lower().replace(" ", "")
        return text.rstrip("0123456789"), text[len(text.rstrip("0123456789")) :]

    said_family, said_number = parts(said)
    family, number = parts(documented)
    if said_family != family:
        # Words such as "v3" name an architecture, not a product: nothing to compare.
        return documented if said_family in ("trainium", "inferentia") else ""
    return "" if (said_number or "1") == (number or "1") else documented
