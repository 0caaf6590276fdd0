"""Whether the system ended a process because memory ran out: it counts them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")


def out_of_memory_kills() -> int:
    """Processes ended so far, by this control group or, where none is told, by the whole system; else 0."""
    return max(_counts(), default=0)


def _counts() -> Iterator[int]:
    for path in (*_groups(), Path("/proc/vmstat")):
        try:
            lines = path.read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            key, _, value = line.partition(" ")
            if key == "oom_kill" and value.strip().isdigit():
                yield int(value)


def _groups() -> Iterator[Path]:
    """The files of this process's group, versions 2 and 1 of the interface."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = (*line.split(":", 2), "", "")[:3]
        if not controllers:
            yield _ROOT / place.lstrip("/") / "memory.events"
        elif "memory" in controllers.split(","):
            yield _ROOT / "memory" / place.lstrip("/") / "memory.oom_control"
