"""A collective, driven by `nccom-test` over the ranks that a case counts: devices, or their logical cores.

One call is a sweep from next to nothing to the case's size: the result, the time of a quarter of it and what
starting takes come from the same seconds. Several processes make a call each, and have to agree.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from trnbench import Case, Growth, Observation, Proof
from trnbench.bounded import ANSWER, read_file
from trnbench.measure.sampling import Rule, SampleLimit, TimeLimit, first_reason
from trnbench.record import Record
from trnbench.results.statistics import median
from trnbench_neuron import nccom
from trnbench_neuron.identify import Listing
from trnbench_neuron.observation import Observing
from trnbench_neuron.settings import child_environment
from trnbench_neuron.tool import NoEvidence, WrongResult, run
from trnbench_neuron.toolbox import Output, Toolbox, ToolError, Trouble

CALL_S = 600.0
FACTOR_TOLERANCE = 0.03
IDLE_BYTES = 1024
"""Small enough that nothing but starting the collective takes time."""


MOST_CALLS = 10

ONCE: tuple[Rule, ...] = (SampleLimit(samples=1),)


class Result(Record, kw_only=True):
    """Seconds per collective, one sample per call of the tool; `sweep`: the median of every size in bytes."""

    samples: tuple[float, ...]
    sweep: dict[int, float]
    stop_reason: str
    unit: str  # what its "GB" were; "" where its figures do not say
    algorithm: str
    notes: tuple[str, ...]


def leaders(seen: Listing) -> list[int]:
    """The first logical core of each device: one rank per device."""
    found, base = [], 0
    for device in seen.devices:
        found.append(min(device.core_ids) if device.core_ids else base)
        base += device.logical_cores
    return found


def workers(seen: Listing) -> int:
    """All logical cores: ranks are counted over them, and a group says which take part."""
    return sum(device.logical_cores for device in seen.devices)


def run_case(
    case: Case,
    seen: Listing,
    tools: Toolbox,
    folder: Path,
    *,
    tag: str,
    seed: int,
    rules: Sequence[Rule] = ONCE,
) -> Result:
    """Raises `ToolError`, `WrongResult`, `NoEvidence`."""
    size = int(case.key.point["size"])
    members = leaders(seen) if case.extent.ranks == len(seen.devices) else list(range(workers(seen)))
    operation = str(case.kernel.implementations["collective"])
    groups, pairs = _rank_files(folder, members)
    permute = operation == "permute"
    env = child_environment(NEURON_PROCESS_TAG=tag, NEURON_LOGICAL_NC_CONFIG=str(seen.lnc))
    began = time.monotonic()
    samples: list[float] = []
    sweeps: dict[int, list[float]] = {}
    notes: dict[str, None] = {}
    old = False
    command = partial(
        nccom.command,
        operation,
        workers=workers(seen),
        size=size,
        least=least_size(size),
        dtype=str(case.key.point["dtype"]),
        seed=seed % 2**31,
        groups="" if permute else str(groups),
        pairs=str(pairs) if permute else "",
    )
    while True:
        report = folder / f"report_{len(samples)}.json"
        try:
            output = _call(tools, command(report="" if old else str(report)), env, folder)
        except ToolError as error:
            if error.trouble is not Trouble.VERSION or old:
                raise
            old = True
            notes[f"{nccom.NAME} is an old one that writes no JSON: its table was read"] = None
            continue
        rows = _rows(output, report, size)
        row = rows[size]
        _check_ranks(row, case, len(members))
        for each in rows.values():
            sweeps.setdefault(each.size, []).append(_seconds(each))
        samples.append(_seconds(row))
        if note := _unit_note(row):
            notes[note] = None
        if why := first_reason(rules, samples, time.monotonic() - began):
            return Result(
                samples=tuple(samples),
                sweep={each: median(sweep) for each, sweep in sorted(sweeps.items())},
                stop_reason=f"{why}; each sample is the tool's average of 20",
                unit=row.unit,
                algorithm=row.algorithm,
                notes=tuple(notes),
            )


def _rank_files(folder: Path, members: list[int]) -> tuple[Path, Path]:
    """Files of the groups that take part, and of the pairs of a ring."""
    groups, pairs = folder / "groups.json", folder / "pairs.json"
    groups.write_text(json.dumps(nccom.replica_groups(members)))
    pairs.write_text(json.dumps(nccom.ring_pairs(members)))
    return groups, pairs


def _unit_note(row: nccom.Row) -> str:
    """What to say of the unit of a printed rate; "" for GB."""
    if row.unit == "GiB":
        return "it prints GiB under the heading GB (C28); our rates follow from size and time"
    if not row.unit and row.algbw:
        return "its printed rate fits neither GB nor GiB of its own size and time"
    return ""


def _call(tools: Toolbox, args: list[str], env: dict[str, str], folder: Path) -> Output:
    try:
        output = run([tools.need(nccom.NAME), *args], CALL_S, env=env, folder=folder)
    except ToolError as error:
        if error.trouble is Trouble.EXIT and error.output is not None:
            _complain(error.output)
        raise
    _complain(output)
    return output


def _rows(output: Output, report: Path, size: int) -> dict[int, nccom.Row]:
    """The rows of a sweep by size; the largest is there."""
    text = read_file(report, most=ANSWER).decode("utf-8", "replace") if report.is_file() else ""
    rows = nccom.read_report(text) if text.strip() else nccom.read_table(output.stdout)
    by_size = {row.size: row for row in rows}
    if size not in by_size:
        raise ToolError(
            Trouble.UNREADABLE,
            f"{nccom.NAME} was asked for {size} B and measured {', '.join(map(str, by_size))} B",
            cause="it rounds sizes to whole elements of every rank",
        )
    if not all(value > 0.0 for row in rows for value in row.times_s.values()):
        raise NoEvidence(f"{nccom.NAME} gave a time of 0")
    return by_size


def _seconds(row: nccom.Row) -> float:
    return row.times_s.get("avg", next(iter(row.times_s.values())))


def _complain(output: Output) -> None:
    wrong, line = nccom.complaint(output.stdout + "\n" + output.stderr)
    if wrong:
        raise WrongResult(f"{nccom.NAME} found a wrong result: {line}")
    if line:
        raise ToolError(Trouble.EXIT, f"{nccom.NAME}: {line}", cause="the log that it names tells more")


def _check_ranks(row: nccom.Row, case: Case, ranks: int) -> None:
    """busbw / algbw tells how many ranks the tool counted: a group it did not heed is noticed."""
    factor = row.factor
    if factor is None:
        return
    counts = case.work.as_counts()
    payload = counts.get("payload_bytes")
    if not payload or not row.algbw or row.algbw < 0.1:
        return  # printed with two digits: too small to divide
    wanted = counts["link_bytes"] / payload
    if abs(factor / wanted - 1.0) > FACTOR_TOLERANCE:
        raise NoEvidence(
            f"{nccom.NAME} counted busbw as {factor:.4g} times algbw, which {ranks} ranks would make "
            f"{wanted:.4g}: not the ranks asked for took part",
            cause="its replica groups were not heeded, or it counts in another way",
            try_=f"run {nccom.NAME} with --custom-replica-groups by hand",
        )


def least_size(size: int) -> int:
    """Where the sweep begins: the case's size divided by the step, down to what takes as long as nothing."""
    least = size
    while least % nccom.STEP == 0 and least // nccom.STEP >= IDLE_BYTES:
        least //= nccom.STEP
    return least


class CollectiveObserving(Observing):
    """One case over all devices of this host."""

    def observe(self) -> Observation:
        listing = self.host.listing
        assert listing is not None  # a case without devices is not supported
        self.implementation = f"collective: {nccom.NAME} {self.case.kernel.implementations['collective']}"

        rules = (
            (TimeLimit(seconds=self.sample_s), SampleLimit(samples=MOST_CALLS))
            if self.sample_s > 0.0
            else ONCE
        )
        seen, counters, notes = self._watched(
            lambda: run_case(
                self.case, listing, self.host.tools, self.folder, tag=self.tag, seed=self._seed, rules=rules
            )
        )
        notes += seen.notes
        if seen.algorithm:
            self.implementation += f", {seen.algorithm}"
        growth = _growth(seen, int(self.case.key.point["size"]))
        if growth is None:
            notes.append("whether the time grows with the size was not seen: it is too small to be swept")
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
            detail={
                "printed_unit": seen.unit,
                "algorithm": seen.algorithm,
                "seed": self._seed,
                "sweep_s": {str(size): time_s for size, time_s in seen.sweep.items()},
            },
        )


def _growth(seen: Result, size: int) -> Growth | None:
    """The case's size against a quarter of it, and the smallest of the sweep for what starting takes."""
    less = size // nccom.STEP
    if less not in seen.sweep:
        return None
    return Growth(
        work_ratio=float(nccom.STEP),
        time_s=median(seen.samples),
        less_s=seen.sweep[less],
        floor_s=seen.sweep[min(seen.sweep)] if min(seen.sweep) < less else 0.0,
    )
