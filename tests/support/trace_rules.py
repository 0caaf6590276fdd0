"""What a file of Chrome trace events has to keep to; one list of complaints, empty when it does."""

from __future__ import annotations

import json
from typing import Any

NEEDED = {
    "M": {"name", "pid", "tid", "args"},
    "X": {"name", "cat", "ts", "dur", "pid", "tid", "args"},
    "C": {"name", "ts", "pid", "tid", "args"},
    "i": {"name", "ts", "pid", "tid", "s"},
    "s": {"name", "cat", "id", "ts", "pid", "tid"},
    "f": {"name", "cat", "id", "ts", "pid", "tid", "bp"},
}


def complaints(data: bytes) -> list[str]:
    """Of the schema, the names of processes and tracks, overlaps on a track, and unpaired flows."""

    def no_constant(text: str) -> Any:
        raise AssertionError(f"{text} is no JSON")

    whole = json.loads(data, parse_constant=no_constant)
    found: list[str] = []
    if whole["displayTimeUnit"] != "ns":
        found.append("displayTimeUnit")
    events = whole["traceEvents"]
    for each in events:
        lacking = NEEDED.get(each["ph"], {"a known ph"}) - each.keys()
        if lacking:
            found.append(f"{each} lacks {sorted(lacking)}")
        found += [
            f"{each} has a strange {name}"
            for name in ("ts", "dur")
            if not isinstance(each.get(name, 0), (int, float)) or each.get(name, 0) < 0
        ]
    named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    processes = {e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    slices = [each for each in events if each["ph"] == "X"]
    found += [f"track of {e['name']} has no name" for e in slices if (e["pid"], e["tid"]) not in named]
    found += [f"process of {e['name']} has no name" for e in events if e["pid"] not in processes]
    found += _overlaps(slices)
    found += _unpaired(events, slices)
    return found


def _overlaps(slices: list[dict[str, Any]]) -> list[str]:
    busy: dict[tuple[int, int], float] = {}
    found = []
    for each in sorted(slices, key=lambda e: (e["ts"], e["ts"] + e["dur"])):
        key = (each["pid"], each["tid"])
        if each["ts"] < busy.get(key, 0.0) - 1e-9:
            found.append(f"{each['name']} at {each['ts']} overlaps its neighbour on track {key}")
        busy[key] = each["ts"] + each["dur"]
    return found


def _unpaired(events: list[dict[str, Any]], slices: list[dict[str, Any]]) -> list[str]:
    begins = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    found = [f"flow {i} is not paired" for i in begins.keys() ^ ends.keys()]
    if len(begins) != sum(e["ph"] == "s" for e in events):
        found.append("a flow begins twice")
    places = {(e["pid"], e["tid"], e["ts"]) for e in slices}
    for i, begin in begins.items():
        end = ends.get(i, begin)
        if end["ts"] < begin["ts"]:
            found.append(f"flow {i} ends before it begins")
        found += [
            f"flow {i} is bound to no slice"
            for each in (begin, end)
            if (each["pid"], each["tid"], each["ts"]) not in places
        ]
    return found
