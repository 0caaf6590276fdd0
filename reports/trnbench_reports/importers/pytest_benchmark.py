"""What pytest-benchmark saves (`--benchmark-json`, `--benchmark-save`), and what we write in its format.

One file is one run. Times are in seconds; a case of ours is known again by its name, anything else keeps the
name that its test has.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from trnbench import BadInput, ImportedCase, ImportedRun, NotJson, Status, parse_json

_OURS = re.compile(
    r"(?P<instance>[^:\s]+)::(?P<kernel>\w+)(?:\[(?P<point>[^\]]*)\])?@(?P<scope>[\w-]+)"
    r"(?::(?P<division>sharded|replicated))?"
)
_MACHINE = ("python_version", "python_implementation", "system", "machine")
_GRADES = ("measured", "emulated", "published", "derived")
_DOUBTFUL = ("suspect", "inconclusive")


def read(data: bytes) -> ImportedRun:
    """The medians and, where they were saved, the samples. Raises `BadInput` for another document."""
    try:
        document = _mapping(parse_json(data, nan_is_null=True))
    except NotJson as error:
        raise _none(f"it is no JSON ({str(error)[:100]})") from error
    benchmarks = document.get("benchmarks")
    if not isinstance(benchmarks, list) or not benchmarks:
        raise _none("it has no list of benchmarks")
    return ImportedRun(
        by=f"pytest-benchmark {document.get('version', '')}"[:60].strip(),
        cases=tuple(
            _case(_mapping(benchmark), number) for number, benchmark in enumerate(benchmarks, start=1)
        ),
        created=_moment(document.get("datetime")),
        environment=_environment(document),
    )


def _case(each: Mapping[str, Any], number: int) -> ImportedCase:
    stats, name = each.get("stats"), each.get("fullname")
    if not isinstance(stats, Mapping) or not isinstance(name, str) or not name:
        raise _none(f"benchmark {number} has no fullname or no stats")
    extra = _mapping(each.get("extra_info"))
    data = stats.get("data")
    samples = data if isinstance(data, list) else []
    told: Any = extra.get("run_time_s") if _is_time(extra.get("run_time_s")) else stats.get("median")
    if not _is_time(told) or not all(map(_is_time, samples)):
        raise _none(f"benchmark {number} ({name[:60]}) has no median, or a time that is none")
    grade, status = extra.get("evidence"), extra.get("status")
    case = ImportedCase(
        kernel=_plain(name),
        grade=grade if grade in _GRADES else "",
        status=Status(status) if status in _DOUBTFUL else Status.OK,
        time_s=float(told),
        samples=tuple(map(float, samples)),
    )
    # A test of `pytest --trnbench-instance` has the case as its parameter, which JSON has no value for.
    match = _OURS.fullmatch(name) or _OURS.fullmatch(f"{extra.get('instance')}::{each.get('param')}")
    if match is None:
        return case
    return replace(
        case,
        kernel=match["kernel"],
        instance=match["instance"],
        scope=match["scope"],
        division=match["division"] or "",
        point=_point(match["point"] or "", _mapping(each.get("params"))),
    )


def _point(text: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """With the types of `params`, where these are what the name says: in a name 0.5 may be a word."""
    values = {name: value for name, value in params.items() if isinstance(value, int | float | str)}
    if text == ",".join(f"{name}={value}" for name, value in values.items()):
        return values
    point: dict[str, Any] = {}
    for word in filter(None, text.split(",")):
        name, _, value = word.partition("=")
        integer = re.fullmatch(r"-?\d{1,18}", value, re.ASCII)
        point[name] = int(value) if integer else value
    return point


def _plain(name: str) -> str:
    """A test's name as a kernel's: what ids are cut at may not be in it."""
    return re.sub(r"[\[\]@\s]+", "-", name.replace("::", ".")).strip("-")[:200] or "unnamed"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _is_time(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0.0 < value <= sys.float_info.max  # an int of 400 digits is below inf, and no float


def _moment(value: Any) -> str:
    try:
        when = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return ""
    return when.replace(tzinfo=when.tzinfo or UTC).astimezone(UTC).isoformat(timespec="seconds")


def _environment(document: Mapping[str, Any]) -> dict[str, Any]:
    """What their machine and commit say, without names."""
    machine, commit = _mapping(document.get("machine_info")), _mapping(document.get("commit_info"))
    cpu = _mapping(machine.get("cpu"))
    environment = {
        **{name: machine.get(name) for name in _MACHINE},
        "cpu_model": cpu.get("brand_raw"),
        "cpu_count": cpu.get("count"),
    }
    described = {name: value for name, value in environment.items() if isinstance(value, str | int) and value}
    commit_id = commit.get("id")
    if isinstance(commit_id, str) and re.fullmatch(r"[0-9a-f]{40,64}", commit_id):
        described["git_commit"] = commit_id
    if isinstance(commit.get("dirty"), bool):
        described["git_dirty"] = commit["dirty"]
    return described


def _none(why: str) -> BadInput:
    return BadInput(
        f"this is no file of pytest-benchmark: {why}",
        cause="it is something else, or it was cut short",
        try_="pytest --benchmark-json=FILE",
    )
