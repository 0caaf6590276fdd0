"""A timeline as Chrome trace events (JSON), which ui.perfetto.dev and chrome://tracing open.

The format: "Trace Event Format", Google, 2016: complete events (ph X), flows (s, f), counters (C) and
metadata (M); `ts` and `dur` in microseconds. A viewer has no place for evidence, so it stands in the
names of the processes, in every event's arguments and in `otherData`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from heapq import heapify, heapreplace
from typing import Any

import msgspec

from trnbench.errors import UsageError
from trnbench_emulator.clock import TICKS_PER_US
from trnbench_emulator.trace.timeline import Slice, Timeline

DEFAULT_CAP = 64 << 20
"""Bytes of a file that a browser still opens at ease."""

_LEAST = 64 << 10


class TraceFile(msgspec.Struct, frozen=True):
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
    head = [_packed(each) for each in _metadata(timeline, lanes, evidence)]
    # Room for the frame, `otherData` and the sentence about what is missing.
    room = cap - sum(map(len, head)) - 2 * len(head) - len(_packed(dict(about))) - 2_000
    events, kept, ended = _events(timeline, order, lanes, evidence, room)
    said = timeline.missing
    if kept < len(order):
        first = timeline.slices[order[kept]].start / TICKS_PER_US
        cut = (
            f"the file is capped at {cap:,} bytes: it has {kept:,} of {len(order):,} slices, "
            f"those that start before {first:,.3f} µs"
        )
        said = f"{said}; {cut}" if said else cut
    other = {**about, "evidence": evidence, "slices": kept, "slices_in_all": len(order), "missing": said}
    if said:
        process = min(timeline.processes, default=0)
        note = {"ph": "i", "s": "g", "name": f"not complete: {said}", "cat": "note"}
        events.append(_packed({**note, "ts": _us(ended), "pid": process, "tid": 0}))
    body = b",\n".join([*head, *events])
    data = b'{"displayTimeUnit":"ns","otherData":%s,\n"traceEvents":[\n%s\n]}\n' % (_packed(other), body)
    return TraceFile(data, kept, len(order), said)


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
    sample = flows = kept = ended = 0
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
            return events, kept, ended
        events += fresh
        present.add(index)
        kept += 1
        ended = max(ended, shown.start + shown.duration)
    rest = [_packed(event) for _, event in samples[sample:]]
    if sum(map(len, rest)) + 2 * len(rest) <= room:
        events += rest
    return events, kept, ended


def _lanes(timeline: Timeline, order: list[int]) -> dict[int, tuple[int, int]]:
    """(pid, tid) of every slice. A viewer draws one slice at a time on a track, or nested ones: what
    overlaps (a queue with several transfers under way) gets a second track of the same name."""
    names = dict.fromkeys(timeline.tracks)
    names.update(dict.fromkeys(shown.track for shown in timeline.slices))
    rank = {name: number for number, name in enumerate(names)}
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


def _metadata(
    timeline: Timeline, lanes: dict[int, tuple[int, int]], evidence: str
) -> Iterator[dict[str, Any]]:
    named = dict(timeline.processes)
    for shown in timeline.slices:
        named.setdefault(shown.process, f"core {shown.process}")
    for process, name in sorted(named.items()):
        yield _named(process, 0, "process_name", name=f"{name} ({evidence})")
        yield _named(process, 0, "process_sort_index", sort_index=process)
    names = dict.fromkeys(timeline.tracks)
    names.update(dict.fromkeys(shown.track for shown in timeline.slices))
    listed = list(names)
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
    whole, rest = divmod(ticks, TICKS_PER_US)
    return whole if not rest else ticks / TICKS_PER_US


def _packed(event: Mapping[str, Any]) -> bytes:
    return json.dumps(event, separators=(",", ":"), allow_nan=False).encode()
