"""Whether the processor, or the system, held the work back: counters read before the first and after the last
sample. What a machine does not count is left out, never taken for zero."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from trnbench import Witness

SYS, CGROUP, PROC = Path("/sys/devices/system/cpu"), Path("/sys/fs/cgroup"), Path("/proc")

STOLEN = 0.02
"""Share of the time that other virtual machines may take before it is told."""

_THERMAL = ("core_throttle_count", "package_throttle_count")  # of x86, by the kernel's therm_throt


class Throttle:
    """Reads when it is made; `witness` reads again and tells the difference."""

    def __init__(
        self, processors: Sequence[int], sys: Path = SYS, cgroup: Path = CGROUP, proc: Path = PROC
    ) -> None:
        self._processors, self._sys, self._cgroup, self._proc = tuple(processors), sys, cgroup, proc
        self._before = self._read()

    def witness(self) -> Witness:
        """A clock that was lowered or a group that was held back makes the number suspect."""
        after = self._read()
        seen = {key: after[key] - self._before[key] for key in after if key in self._before}
        doubts, notes = [], []
        hot = sum(seen.get(key, 0.0) for key in _THERMAL)
        if hot > 0:
            doubts.append(
                f"the processor lowered its clock {hot:g} times meanwhile because it was too hot "
                "(thermal_throttle)"
            )
        held, held_s = seen.get("cgroup_throttled", 0.0), seen.get("cgroup_throttled_s", 0.0)
        if held > 0:
            doubts.append(
                f"its control group was held back {held:g} times meanwhile, {held_s:.3g} s in all: the quota "
                "of the container was used up (cpu.stat)"
            )
        total = seen.pop("processor_ticks", 0.0)
        if total and (stolen := seen.get("stolen_ticks", 0.0) / total) > STOLEN:
            notes.append(f"other virtual machines took {stolen:.1%} of these processors' time meanwhile")
        return Witness(counters=seen, doubts=tuple(doubts), notes=tuple(notes))

    def _read(self) -> dict[str, float]:
        return {**dict(self._thermal()), **dict(self._group()), **dict(self._stolen())}

    def _thermal(self) -> Iterator[tuple[str, float]]:
        for name in _THERMAL:
            readings = [
                int(text)
                for processor in self._processors
                if (text := _text(self._sys / f"cpu{processor}" / "thermal_throttle" / name)).isdigit()
            ]
            # A package counts once, whichever of its processors is asked.
            if readings:
                yield name, float(sum(readings) if name.startswith("core") else max(readings))

    def _group(self) -> Iterator[tuple[str, float]]:
        """Version 2 of the interface counts microseconds, version 1 nanoseconds."""
        for path in self._groups():
            stat = dict(line.split()[:2] for line in _text(path).splitlines() if len(line.split()) >= 2)
            if stat.get("nr_throttled", "").isdigit():
                yield "cgroup_throttled", float(stat["nr_throttled"])
                micro, nano = float(stat.get("throttled_usec", 0)), float(stat.get("throttled_time", 0))
                yield "cgroup_throttled_s", micro / 1e6 or nano / 1e9
                return

    def _groups(self) -> Iterator[Path]:
        for line in _text(self._proc / "self" / "cgroup").splitlines():
            _, controllers, place = (*line.split(":", 2), "", "")[:3]
            if not controllers:
                yield self._cgroup / place.lstrip("/") / "cpu.stat"
            elif "cpu" in controllers.split(","):
                for folder in ("cpu", controllers):
                    yield self._cgroup / folder / place.lstrip("/") / "cpu.stat"
        yield self._cgroup / "cpu.stat"  # a container sees its own group as the root

    def _stolen(self) -> Iterator[tuple[str, float]]:
        words = [line.split() for line in _text(self._proc / "stat").splitlines() if line]
        lines = {first: rest for first, *rest in words}
        rows = [lines[f"cpu{processor}"] for processor in self._processors if f"cpu{processor}" in lines]
        if rows and all(len(row) >= 8 for row in rows):
            yield "stolen_ticks", float(sum(int(row[7]) for row in rows))
            yield "processor_ticks", float(sum(sum(map(int, row[:8])) for row in rows))


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
