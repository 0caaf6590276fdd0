"""One case over the runs that have it: points in the order of time, and where the level changed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from statistics import median
from typing import Any, NamedTuple

from msgspec.structs import replace

from trnbench.facts.units import signed_percent
from trnbench.record import Record
from trnbench.results.measurement import GOOD, Grade, Standing, Status, Verdict, verdict_of

OF_THE_MACHINE = ("system", "machine", "cpu_model", "cpu_count", "memory_bytes", "byte_order", "host_name")
"""What an environment says of it; no emulated number depends on that."""
_NO_CAUSE = ("facts_read", "git_commit", "git_dirty", "load_average", "neuron_devices_busy", "gpu_notes")
_NAMED = 6


class HistoryPoint(Record, kw_only=True):
    """One run of the case. `commit` is "" where it was not recorded, `dirty` None where git did not tell."""

    run: str
    created: str
    status: Status
    value: float | None  # of the primary metric, in its base unit
    time_s: float | None
    tool_version: str = ""
    commit: str = ""
    dirty: bool | None = None
    environment: Mapping[str, Any] = {}
    cut_short: str = ""  # how, where its run was

    @property
    def counts(self) -> bool:
        """Whether its value makes a level: what failed, is suspect or inconclusive moves none."""
        return self.status in GOOD and self.value is not None and self.value > 0.0


class HistoryStep(Record, kw_only=True):
    """`first` is the first run that has it, `last` the one before it; what changed lies between the two.

    `verdict` is what `compare` calls the change. `before` and `after` are medians of the two levels, None
    where the case has none. `differs` names what their environments have different, the commit aside;
    `causes` are those that `compare` names, where the two runs were compared."""

    first: HistoryPoint
    last: HistoryPoint
    verdict: Verdict
    before: float | None = None
    after: float | None = None
    worse: bool = False
    differs: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()

    @property
    def change(self) -> float | None:
        """0.05: 5 % above the level before; None without two levels."""
        return self.after / self.before - 1.0 if self.after is not None and self.before else None

    @property
    def signed(self) -> str:
        """ "+3.1 %"; "" without two levels."""
        return "" if self.change is None else signed_percent(self.change)

    @property
    def words(self) -> str:
        """ "−3.6 %, slower": of a rate, that fell; "broken"."""
        return ", ".join(filter(None, (self.signed, str(self.verdict))))

    @property
    def way(self) -> str:
        """ "worse", "better", or "other" where it is neither: other evidence, a new case."""
        better = self.verdict in (Verdict.MENDED, Verdict.FASTER)
        return "worse" if self.worse else "better" if better else "other"

    @property
    def why(self) -> tuple[str, ...]:
        """Its causes, else what differs of the environments."""
        return self.causes or self.differs


class CaseHistory(Record, kw_only=True):
    """Points of one grade, backend, metric and, of measured values, one machine."""

    case: str
    metric: str
    unit: str
    evidence: Grade
    backend: str
    machine: str  # "" of emulated values, which do not depend on it
    points: tuple[HistoryPoint, ...]
    steps: tuple[HistoryStep, ...] = ()

    @property
    def lower_is_better(self) -> bool:
        return self.unit == "s"

    @property
    def latest(self) -> float | None:
        """The newest value that counts."""
        return next((point.value for point in reversed(self.points) if point.counts), None)


class Outside(NamedTuple):
    """The run next to a series that belongs with it: the case is missing there, or has another `grade`."""

    point: HistoryPoint
    grade: Grade | None = None


Differences = dict[tuple[str, str], tuple[str, ...]]
"""By two runs, what is different of them: many cases of the same runs have a step."""


def with_steps(
    found: CaseHistory,
    before: Outside | None,
    after: Outside | None,
    known: Differences,
    gaps: Mapping[str, HistoryPoint],
) -> CaseHistory:
    """The same with its steps: of emulated values every change, of others by PELT; of all what is broken,
    mended, new, lost or of other evidence, by the runs `before` and `after` the series as well.

    `gaps`: by a point's run the first behind it in which the case is missing. Where it is back at another
    level, the step is that of the level.
    """
    marked = {step.first.run: step for step in _levels_of(found, known)}
    inside: list[tuple[HistoryPoint, Standing | None]] = []
    for point in found.points:
        inside.append((point, Standing(point.status, found.evidence)))
        if point.run in gaps:
            inside.append((gaps[point.run], None))
    ends = [
        [(end.point, Standing(Status.OK, end.grade) if end.grade is not None else None)] if end else []
        for end in (before, after)
    ]
    for (old, was), (new, now) in itertools.pairwise([*ends[0], *inside, *ends[1]]):
        if was is None and new.run in marked:
            continue
        if was != now and (verdict := verdict_of(was, now)).changed:
            step = marked.get(new.run) or HistoryStep(first=new, last=old, verdict=verdict)
            worse = verdict in (Verdict.BROKEN, Verdict.LOST) or (verdict is Verdict.EVIDENCE and step.worse)
            marked[new.run] = replace(step, last=old, verdict=verdict, worse=worse)
    return steps_in_order(found, marked)


def steps_in_order(found: CaseHistory, marked: Mapping[str, HistoryStep]) -> CaseHistory:
    """The same with the steps of `marked`, by run, in the order of its points; one in a run that is no point
    comes behind the last point before it."""
    order = {point.run: float(at) for at, point in enumerate(found.points)}

    def place(step: HistoryStep) -> float:
        return order.get(step.first.run, order.get(step.last.run, len(order)) + 0.5)

    return replace(found, steps=tuple(sorted(marked.values(), key=place)))


def _levels_of(found: CaseHistory, known: Differences) -> Iterator[HistoryStep]:
    """Where the level of the values that count becomes another."""
    counted = [point for point in found.points if point.counts]
    values = [point.value for point in counted if point.value is not None]
    exact = found.evidence is Grade.EMULATED
    for step in steps(values, exact=exact):
        first, last = counted[step.at], counted[step.at - 1]
        worse = (step.after > step.before) is found.lower_is_better
        runs = last.run, first.run
        if exact and runs not in known:
            known[runs] = differing(last, first, machine=False)
        yield HistoryStep(
            first=first,
            last=last,
            verdict=Verdict.SLOWER if worse else Verdict.FASTER,
            before=step.before,
            after=step.after,
            worse=worse,
            differs=known[runs] if exact else differing(last, first, machine=True),
        )


def differing(before: HistoryPoint, after: HistoryPoint, *, machine: bool) -> tuple[str, ...]:
    """In a few words each, what is different in versions and, with `machine`, in the machine."""
    left_out = _NO_CAUSE if machine else (*_NO_CAUSE, *OF_THE_MACHINE)
    old, new = ({"trnbench": each.tool_version, **each.environment} for each in (before, after))
    changes = [
        f"{name} {old.get(name, 'none')} → {new.get(name, 'none')}"
        for name in dict.fromkeys((*old, *new))
        if old.get(name) != new.get(name) and not name.startswith(left_out)
    ]
    more = len(changes) - _NAMED
    return (*changes[:_NAMED], *((f"{more} more",) if more > 0 else ()))


def machine_of(environment: Mapping[str, Any]) -> str:
    """The machine in words that are the same for its like: accelerators, processor, memory in whole GiB."""
    parts = [str(environment["neuron_instance"])] if environment.get("neuron_instance") else []
    if environment.get("gpu_name", "none") != "none":
        parts.append(f"{environment.get('gpu_count', 1)} × {environment['gpu_name']}")
    parts.append(str(environment.get("cpu_model", "unknown processor")))
    if (count := environment.get("cpu_count")) is not None:
        parts.append(f"{count} CPUs")
    memory = environment.get("memory_bytes")
    if isinstance(memory, int | float):
        parts.append(f"{memory / 2**30:.0f} GiB")
    return ", ".join(parts)


def sparkline(values: Sequence[float | None], width: int = 24) -> str:
    """The last `width` values as bars from the lowest to the highest; "·" where there is none."""
    shown = values[-width:]
    present = [each for each in shown if each is not None]
    if not present:
        return "·" * len(shown)
    low, high = min(present), max(present)
    # A band of one per cent at least, or noise in the last digit would fill the height.
    middle, half = (low + high) / 2, max((high - low) / 2, abs(high + low) / 400)

    def bar(value: float | None) -> str:
        if value is None:
            return "·"
        share = (value - middle) / (2 * half) + 0.5 if half else 0.5
        return _BARS[round(share * (len(_BARS) - 1))]

    return "".join(map(bar, shown))


_BARS = "▁▂▃▄▅▆▇█"


LEAST = 3
"""Runs of a measured series on either side of a step: fewer may be chance."""


SMALLEST = 1e-3
"""Noise that is taken at least, relative: clocks and rounding are no better, and no step is below it."""


_EXACT = 1e-9  # emulated values that differ by less are the same, printed by another Python


_NORMAL = 0.6745 * math.sqrt(2.0)  # the median of |a − b| of two normal values, in σ


_PENALTY = 4.0


_SHORT = 30  # runs: of fewer, σ itself is uncertain


_FAR = 3.0  # σ: two bad runs in a row stay below the penalty too


_AROUND = 5  # values, the one itself in their middle but at the ends


class Step(NamedTuple):
    """From value `at` on the level is another one: `before` and `after` are medians of the two levels."""

    at: int
    before: float
    after: float


def steps(values: Sequence[float], *, exact: bool) -> tuple[Step, ...]:
    """The steps of a series of positive values, in order. `exact`: values without noise."""
    if not all(0.0 < value < math.inf for value in values):
        raise ValueError("a series of results has positive numbers alone")
    cuts = _changes(values) if exact else _measured([math.log(value) for value in values])
    ends = [0, *cuts, len(values)]
    middles = [median(values[start:end]) for start, end in itertools.pairwise(ends) if end > start]
    return tuple(
        Step(cut, before, after) for cut, before, after in zip(cuts, middles, middles[1:], strict=False)
    )


def _changes(values: Sequence[float]) -> list[int]:
    return [at for at in range(1, len(values)) if abs(values[at] / values[at - 1] - 1.0) > _EXACT]


def _measured(values: Sequence[float]) -> list[int]:
    if len(values) < 2 * LEAST:
        return []
    apart = [abs(b - a) for a, b in itertools.pairwise(values)]
    noise = max(median(apart) / _NORMAL, SMALLEST)
    return levels(
        _tamed(values, _FAR * noise), _PENALTY * math.log(max(len(values), _SHORT)) * noise**2, least=LEAST
    )


def _tamed(values: Sequence[float], far: float) -> list[float]:
    tamed = []
    for at, value in enumerate(values):
        start = min(max(0, at - _AROUND // 2), len(values) - _AROUND)
        middle = median(values[start : start + _AROUND])
        tamed.append(min(max(value, middle - far), middle + far))
    return tamed


_PRUNE_EVERY = 8  # steps: dropping candidates later changes no result, and costs less


def levels(values: Sequence[float], penalty: float, *, least: int) -> list[int]:
    """Where each level but the first begins, in order; none is shorter than `least` values.

    Among all ways to cut `values` it is the one with the smallest sum of squares plus `penalty` for each cut.
    """
    count = len(values)
    middle = math.fsum(values) / count  # sums of squares of large numbers would lose the small differences
    moved = [value - middle for value in values]
    sums = [0.0, *accumulate(moved)]
    squares = [0.0, *accumulate(each * each for each in moved)]
    best = [-penalty] + [math.inf] * count  # of the first so many values
    cut = [0] * (count + 1)
    starts = [(0, 0.0, best[0])]  # where the last level may begin, the sum before it, its part of the cost
    doomed: set[int] = set()
    every = max(_PRUNE_EVERY, least)
    for end in range(least, count + 1):
        total = sums[end]
        costs = [part - (inside := total - before) * inside / (end - start) for start, before, part in starts]
        lowest = min(costs)
        best[end] = lowest + squares[end] + penalty
        cut[end] = starts[costs.index(lowest)][0]
        if end % every == 0:
            # A level from `end` on would do better than these, once it is long enough to be one.
            kept = [start for start in starts if start[0] not in doomed]
            doomed = {start[0] for start, cost in zip(starts, costs, strict=True) if cost > lowest + penalty}
            starts = kept
        if (start := end + 1 - least) >= least:
            starts.append((start, sums[start], best[start] - squares[start]))
    found = []
    end = count
    while end:
        end = cut[end]
        found.append(end)
    return found[-2::-1]
