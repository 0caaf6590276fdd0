"""A command with all that it starts: what it takes of memory and of processors.

Shared pages are counted in parts (PSS), so that the processes add up. Asked every tenth of a second.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Cost(NamedTuple):
    """Bytes at the peak; seconds of processor time of the command's own process, and of all of them."""

    peak: int
    parent_s: float
    all_s: float


def carried_out(store: Path, *words: str) -> Cost:
    """A command of trnbench, which has to end with 0."""
    store.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "trnbench", "--store", str(store), *words]
    before = os.times()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    most, parent_s = 0, 0.0
    while process.poll() is None:
        most = max(most, sum(map(_bytes, _tree(process.pid))))
        parent_s = max(parent_s, _processor_s(process.pid))
        time.sleep(0.1)
    assert process.returncode == 0
    after = os.times()
    children = after.children_user + after.children_system - before.children_user - before.children_system
    return Cost(most, parent_s, children)


def python_s(*words: str, **more: Any) -> float:
    """Processor seconds of `python WORDS…`, its own and the system's; it has to end with 0."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL, **more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _tree(process: int) -> Iterator[int]:
    """It and its descendants."""
    yield process
    for child in _read(f"/proc/{process}/task/{process}/children").split():
        yield from _tree(int(child))


def _bytes(process: int) -> int:
    lines = _read(f"/proc/{process}/smaps_rollup").splitlines()
    return 1024 * next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def _processor_s(process: int) -> float:
    fields = _read(f"/proc/{process}/stat").rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:  # it has ended
        return ""
