"""One case measured: the tools run under watch, and what proves the number."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from trnbench import Case, Evidence, Grade, Observation, Proof, System
from trnbench.measure.sampling import Rule, TimeLimit
from trnbench.measure.series import Series, stability
from trnbench.results.statistics import median
from trnbench_emulator.nki import problem
from trnbench_neuron.monitor import Monitor, Watch, counters
from trnbench_neuron.tool import NoEvidence, OverTime

if TYPE_CHECKING:
    from trnbench_neuron.host import Host


class Observing(ABC):
    """`floors` keeps, for the cases to come, what a call without work takes. `sample_s` limits how long
    samples are taken; 0 leaves it to the rules of each tool."""

    def __init__(
        self,
        case: Case,
        system: System,
        host: Host,
        folder: Path,
        tag: str,
        floors: dict[str, float],
        *,
        sample_s: float = 0.0,
    ) -> None:
        self.case, self.system, self.host, self.folder = case, system, host, folder
        self.tag, self.floors, self.sample_s = tag, floors, sample_s
        self.implementation = ""
        self._seed = problem.seed_of(case)
        self._named = ""  # how the device named itself
        self._device = ""

    def evidence(self, version: str = "") -> Evidence:
        """Of this device, by the name it gives itself."""
        return Evidence(grade=Grade.MEASURED, by=self._device or self.host.match.instance, version=version)

    @abstractmethod
    def observe(self) -> Observation:
        """Raises `TrnbenchError` for whatever goes wrong on the way."""

    def _rules(self, usual: Sequence[Rule]) -> tuple[Rule, ...]:
        if self.sample_s <= 0.0:
            return tuple(usual)
        return (
            *(rule for rule in usual if not isinstance(rule, TimeLimit)),
            TimeLimit(seconds=self.sample_s),
        )

    def _watched(self, measure: Callable[[], Any]) -> tuple[Any, dict[str, float], list[str]]:
        """The outcome of `measure`, and what tools and driver counted while it ran."""
        indices = self._indices()
        before = counters(indices, self.host.sysfs)
        monitor = Monitor(self.host.tools, self.tag)
        with monitor:
            seen = measure()
        counted = counters(indices, self.host.sysfs).since(before)
        watch = monitor.watch()
        self._name(watch)
        counts = {**counted, **watch.counters}
        notes = list(watch.notes)
        self._refuse(counts)
        listing = self.host.listing
        if listing is not None and set(listing.busy) & set(indices):
            notes.append("another process held these devices when this run began")
        return seen, counts, notes

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

    def _indices(self) -> list[int]:
        listing = self.host.listing
        if listing is None:
            return []
        if "collective" in self.case.kernel.implementations:
            return [device.index for device in listing.devices]
        used = -(-max(self.case.extent.cores, 1) // listing.devices[0].cores)
        return [device.index for device in listing.devices[:used]]

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


PATIENCE_S = 3600.0


@contextmanager
def alone() -> Iterator[None]:
    """Waits for other measurements of this user. Raises `OverTime` after `PATIENCE_S`."""
    path = Path(tempfile.gettempdir()) / f"trnbench-neuron-{os.getuid()}.lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise OverTime(
                        f"another measurement held the devices for {PATIENCE_S:g} s",
                        cause="another run of trnbench is under way",
                    ) from None
                time.sleep(0.05)
        yield
    finally:
        os.close(handle)
