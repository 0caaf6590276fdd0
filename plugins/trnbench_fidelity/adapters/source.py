"""Public kernels, taken from a folder of the user's: loaded, recorded, timed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from trnbench.record import grouped
from trnbench_emulator import seconds
from trnbench_emulator.nki import Machine
from trnbench_fidelity.adapters.source_recording import recorded
from trnbench_fidelity.bench import Bench
from trnbench_fidelity.engines import active_s
from trnbench_fidelity.point import Clock, KernelSource, NotEmulated, Prediction, PublishedPoint, Quantity
from trnbench_fidelity.probes import launch_of, timing_of


def predict(point: PublishedPoint, bench: Bench) -> Prediction:
    """The time of the kernel named in the point, or the rate or the share of a peak that follows from it.

    With a launch where the publication's clock has one in it: `launch_of`. Raises `NotEmulated` when the
    point names no file, the folder lacks it, it does not load, or breaks a rule of the machine.
    """
    folder, source = bench.source(point)
    time_s = flops = 0.0
    launch, launched = launch_of(point, bench)
    calls, bounds = 0, []
    busy: dict[str, float] = {}
    active: dict[str, float] = {}
    nki = ""
    for each in (source, *source.also):
        path = find(folder, each, repository(point))
        machine = Machine.of(bench.system(point.system))
        public = recorded(folder, path, each, machine, bench.assumptions)
        timing = timing_of(public.recording, bench, point.system, cores=public.together)
        if not timing.total:
            raise NotEmulated("the kernel does nothing that takes time")
        time_s += seconds(timing.total) + launch
        flops += sum(op.flops * count for op, count in public.recording.tally.items()) * public.together
        calls += public.recording.calls
        for engine, spent in timing.busy_s.items():
            busy[engine] = busy.get(engine, 0) + spent
        if point.clock is Clock.PROFILE or any(key.endswith("_active") for key in point.extra):
            for engine, spent in active_s(timing, bench.table(point.system)).items():
                active[engine] = active.get(engine, 0) + spent
        bounds.append(max(timing.busy_s, key=lambda name: (timing.busy_s[name], name)))
        nki = public.nki
    names = " + ".join(each.function for each in (source, *source.also))
    names += "".join(f" with {constant.replace('=', ' = ')}" for constant in source.constants)
    how = f"{source.file}::{names}, {calls:,} calls, {' and '.join(dict.fromkeys(bounds))}-bound, {nki}"
    how += f", {launched}" if launched else ""
    return Prediction(value=_wanted(point, bench, time_s, flops, busy), how=how, active=active)


_ACTIVE = re.compile(r"(Tensor|Vector|Scalar)E active( %)?")


def _wanted(
    point: PublishedPoint, bench: Bench, time_s: float, flops: float, busy: Mapping[str, float]
) -> float:
    """The quantity of the point. Work is that of the tensor engine, transposes left out."""
    if point.quantity is Quantity.LATENCY:
        return time_s
    if point.quantity is Quantity.FLOPS and flops:
        return flops / time_s
    if flops and (peak := bench.peak(point)):
        return flops / time_s / peak
    active = _ACTIVE.fullmatch(point.metric)
    if point.quantity is Quantity.SHARE and active:
        return busy.get(active[1].lower(), 0.0) / time_s
    raise NotEmulated(f"a kernel has a time, not {point.metric or point.quantity}")


def repository(point: PublishedPoint) -> str:
    """ "github:owner/name@commit:path" → "owner/name", "" for what is printed elsewhere."""
    found = re.match(r"github:([\w.-]+/[\w.-]+)", point.source)
    return found[1] if found else ""


def find(folder: Path, source: KernelSource, repository: str = "") -> Path:
    """The file under `folder` whose path ends as the point says; the longest common end wins, then a
    folder named like the repository.

    Raises `NotEmulated` when there is none, or when two that differ fit equally well.
    """
    wanted = Path(source.file).parts
    files = filter(Path.is_file, sorted(folder.rglob(wanted[-1])))
    copies = grouped(files, lambda path: _common_end(path.parts, wanted))
    if not copies:
        raise NotEmulated(f"{source.file} is not under {folder}", source_missing=True)
    best = copies[max(copies)]
    owner, _, name = repository.partition("/")
    at_home = [each for each in best if any(_names(part, owner, name) for part in each.parts)]
    best = at_home or best
    if len({each.read_bytes() for each in best}) > 1:
        raise NotEmulated(f"{source.file} is there twice: {best[0]}, {best[1]}", source_missing=True)
    return best[0]


def _names(part: str, owner: str, name: str) -> bool:
    """Is this folder called after the repository: name, owner__name, name-<commit>?"""
    return bool(name) and part.removeprefix(owner).lstrip("_-+.").startswith(name)


def _common_end(parts: Sequence[str], wanted: Sequence[str]) -> int:
    count = 0
    for a, b in zip(reversed(parts), reversed(wanted), strict=False):
        if a != b:
            break
        count += 1
    return count
