"""A timeline, and its file of Chrome trace events (JSON) for ui.perfetto.dev and chrome://tracing.

Times of a timeline are picoseconds since the launch, whole numbers as everywhere in the emulator.
The format: "Trace Event Format", Google, 2016: complete events (ph X), flows (s, f), counters (C) and
metadata (M); `ts` and `dur` in microseconds. A viewer has no place for evidence, so it stands in the
names of the processes, in every event's arguments and in `otherData`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heapreplace
from typing import Any

from trnbench.errors import UsageError
from trnbench.record import Record
from trnbench_emulator import TICKS_PER_US


class Slice(Record):
    """One instruction, transfer or wait. `process` is the core; `track` an engine or a queue of it."""

    process: int
    track: str
    name: str
    start: int
    duration: int
    args: Mapping[str, Any] = {}


class Flow(Record):
    """A dependency: `target` could not start before `source` had ended. Both index `Timeline.slices`."""

    source: int
    target: int
    why: str = "dependency"


class Counter(Record):
    """A curve: (time, value), in order of time."""

    process: int
    name: str
    unit: str
    samples: Sequence[tuple[int, float]]


class Timeline(Record, kw_only=True):
    """`processes`: the name of each core. `tracks`: those to show first and in which order.

    `missing` says in words what the emulation did not keep, "" where it kept everything.
    """

    processes: Mapping[int, str]
    slices: Sequence[Slice]
    tracks: Sequence[str] = ()
    flows: Sequence[Flow] = ()
    counters: Sequence[Counter] = ()
    missing: str = ""


DEFAULT_CAP = 64 << 20
"""Bytes of a file that a browser still opens at ease."""

_LEAST = 64 << 10


class TraceFile(Record):
    """The bytes of the file, how many slices it has of how many, and what to tell the reader of it."""

    data: bytes
    kept: int
    total: int
    said: str  # "" where nothing was left out


def write_trace(
    timeline: Timeline, *, evidence: str, about: Mapping[str, Any], cap: int = DEFAULT_CAP
) -> TraceFile:
    """The file, at most `cap` bytes: what starts later is left out when the whole does not fit.

    `evidence` as in "emulated by trnbench 0.1"; `about` is JSON for `otherData`. Raises `UsageError`
    for a cap that leaves no room for anything.
    """
    if cap < _LEAST:
        raise UsageError(
            f"a trace of at most {cap:,} bytes holds nothing",
            cause=f"names and metadata alone may take {_LEAST:,}",
            try_=f"--trace-limit {_LEAST >> 10}K or more",
        )
    order = sorted(range(len(timeline.slices)), key=lambda i: (timeline.slices[i].start, i))
    lanes = _lanes(timeline, order)
    head = [_packed(event) for event in _metadata(timeline, lanes, evidence)]
    # Room for the frame, `otherData` and the sentence about what is missing.
    room = cap - sum(map(len, head)) - 2 * len(head) - len(_packed(dict(about))) - 2_000
    events, count, ended = _events(timeline, order, lanes, evidence, room)
    missing = timeline.missing
    if count < len(order):
        first = timeline.slices[order[count]].start / TICKS_PER_US
        cut = (
            f"the file is capped at {cap:,} bytes: it has {count:,} of {len(order):,} slices, "
            f"those that start before {first:,.3f} µs"
        )
        missing = f"{missing}; {cut}" if missing else cut
    metadata = {
        **about,
        "evidence": evidence,
        "slices": count,
        "slices_in_all": len(order),
        "missing": missing,
    }
    if missing:
        process = min(timeline.processes, default=0)
        note = {"ph": "i", "s": "g", "name": f"not complete: {missing}", "cat": "note"}
        events.append(_packed({**note, "ts": _us(ended), "pid": process, "tid": 0}))
    body = b",\n".join([*head, *events])
    data = b'{"displayTimeUnit":"ns","otherData":%s,\n"traceEvents":[\n%s\n]}\n' % (_packed(metadata), body)
    return TraceFile(data, count, len(order), missing)


def _events(
    timeline: Timeline, order: list[int], lanes: dict[int, tuple[int, int]], evidence: str, room: int
) -> tuple[list[bytes], int, int]:
    """Slices in order of start with the flows into them, counters between; as many as fit."""
    into: dict[int, list[tuple[int, str]]] = {}
    for flow in timeline.flows:
        into.setdefault(flow.target, []).append((flow.source, flow.why))
    samples = sorted(_samples(timeline), key=lambda shown: shown[0])
    events: list[bytes] = []
    present: set[int] = set()
    sample = flows = count = ended = 0
    for index in order:
        shown = timeline.slices[index]
        fresh = []
        while sample < len(samples) and samples[sample][0] <= shown.start:
            fresh.append(_packed(samples[sample][1]))
            sample += 1
        fresh.append(_packed(_complete(shown, lanes[index], evidence)))
        for source, why in into.get(index, ()):
            if source in present and timeline.slices[source].start <= shown.start:
                fresh += _arrow(flows, why, timeline.slices[source], lanes[source], shown, lanes[index])
                flows += 1
        room -= sum(map(len, fresh)) + 2 * len(fresh)
        if room < 0:
            return events, count, ended
        events += fresh
        present.add(index)
        count += 1
        ended = max(ended, shown.start + shown.duration)
    remaining = [_packed(event) for _, event in samples[sample:]]
    if sum(map(len, remaining)) + 2 * len(remaining) <= room:
        events += remaining
    return events, count, ended


def _lanes(timeline: Timeline, order: list[int]) -> dict[int, tuple[int, int]]:
    """(pid, tid) of every slice. A viewer draws one slice at a time on a track, or nested ones: what
    overlaps (a queue with several transfers under way) gets a second track of the same name."""
    rank = {name: number for number, name in enumerate(_tracks(timeline))}
    lane_of: dict[int, tuple[int, int]] = {}
    free: dict[tuple[int, str], list[tuple[int, int]]] = {}
    for index in order:
        shown = timeline.slices[index]
        lanes = free.setdefault((shown.process, shown.track), [])
        end = shown.start + shown.duration
        if lanes and lanes[0][0] <= shown.start:
            lane = lanes[0][1]
            heapreplace(lanes, (end, lane))
        else:
            lane = len(lanes)
            lanes.append((end, lane))
            heapify(lanes)
        lane_of[index] = (shown.process, 1 + rank[shown.track] + lane * len(rank))
    return lane_of


def _tracks(timeline: Timeline) -> list[str]:
    """Each once, in the order in which they are shown."""
    return list(dict.fromkeys([*timeline.tracks, *(shown.track for shown in timeline.slices)]))


def _metadata(
    timeline: Timeline, lanes: dict[int, tuple[int, int]], evidence: str
) -> Iterator[dict[str, Any]]:
    named = dict(timeline.processes)
    for shown in timeline.slices:
        named.setdefault(shown.process, f"core {shown.process}")
    for process, name in sorted(named.items()):
        yield _named(process, 0, "process_name", name=f"{name} ({evidence})")
        yield _named(process, 0, "process_sort_index", sort_index=process)
    listed = _tracks(timeline)
    for process, track in sorted(set(lanes.values())):
        lane, rank = divmod(track - 1, len(listed))
        name = listed[rank] if not lane else f"{listed[rank]} ({lane + 1})"
        yield _named(process, track, "thread_name", name=name)
        yield _named(process, track, "thread_sort_index", sort_index=rank * 1000 + lane)


def _named(process: int, track: int, what: str, **args: Any) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": track, "args": args}


def _complete(each: Slice, lane: tuple[int, int], evidence: str) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": each.name,
        "cat": each.track,
        "ts": _us(each.start),
        "dur": _us(each.duration),
        "pid": lane[0],
        "tid": lane[1],
        "args": {**each.args, "evidence": evidence.partition(" ")[0]},
    }


def _arrow(
    number: int, why: str, source: Slice, start: tuple[int, int], target: Slice, end: tuple[int, int]
) -> list[bytes]:
    common = {"cat": "dependency", "name": why, "id": number}
    begin = {**common, "ph": "s", "ts": _us(source.start), "pid": start[0], "tid": start[1]}
    # bp "e": it binds to the slice around its time, not to the next one.
    finish = {**common, "ph": "f", "bp": "e", "ts": _us(target.start), "pid": end[0], "tid": end[1]}
    return [_packed(begin), _packed(finish)]


def _samples(timeline: Timeline) -> Iterator[tuple[int, dict[str, Any]]]:
    for counter in timeline.counters:
        name = f"{counter.name} [{counter.unit}]" if counter.unit else counter.name
        for time, value in counter.samples:
            common = {"ph": "C", "name": name, "pid": counter.process, "tid": 0}
            yield time, {**common, "ts": _us(time), "args": {"value": value}}


def _us(ticks: int) -> float | int:
    """Picoseconds as microseconds: whole ones without a point, others with every digit."""
    microseconds, remainder = divmod(ticks, TICKS_PER_US)
    return microseconds if not remainder else ticks / TICKS_PER_US


def _packed(event: Mapping[str, Any]) -> bytes:
    return json.dumps(event, separators=(",", ":"), allow_nan=False).encode()
