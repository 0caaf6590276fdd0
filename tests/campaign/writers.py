"""Processes that carry out runs into one store at once, while others read it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from forked import carried_out
from tests.campaign.scenarios import MODES

from trnbench.store.store import Store

RUNS = 3
"""By each writer, one after the other."""


def written_at_once(count: int, folder: Path) -> tuple[str, ...]:
    """What is wrong in `folder` after `count` writers and a reader for each have ended."""
    children = [_begun(folder, number) for number in range(count)]
    problems = [each for child in children for each in _ended(*child)]
    with Store(folder / "r.db") as store:
        found = store.list()
        for each in found:
            run = store.load(each.id)
            statuses = {str(case.case.point["mode"]): str(case.status) for case in run.measurements}
            if each.state != "done" or statuses != MODES:
                problems.append(f"run {each.id} is {each.state} with {statuses}")
    if len(found) != count * RUNS:
        problems.append(f"{len(found)} runs of {count * RUNS} are there")
    checked = _command(folder, "store", "check")
    if checked["code"] != 0:
        problems.append(f"store check: {checked['stdout'][-300:]}{checked['stderr'][-300:]}")
    return tuple(problems)


def _begun(folder: Path, number: int) -> tuple[int, int]:
    """A process that writes and reads in turn; its id, and where its problems can be read."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    problems = []
    try:
        for _ in range(RUNS):
            wrote = _command(folder, "run", "--label", f"writer{number}", "--no-report")
            if wrote["code"] != 1 or "warning: the store" in wrote["stderr"]:
                problems.append(f"writer {number} ends with {wrote['code']}: {wrote['stderr'][-300:]}")
            read = _command(folder, "runs", "list")
            if read["code"] != 0:
                problems.append(f"reader {number} ends with {read['code']}: {read['stderr'][-300:]}")
        os.write(writing, json.dumps(problems).encode())
    finally:
        os._exit(0)


def _ended(child: int, reading: int) -> list[str]:
    with os.fdopen(reading, encoding="utf-8") as stream:
        told = stream.read()
    os.waitpid(child, 0)
    found: list[str] = json.loads(told) if told else [f"writer of process {child} said nothing"]
    return found


def _command(folder: Path, *words: str) -> dict[str, Any]:
    env = {"TRNBENCH_STORE": str(folder / "r.db")}
    return carried_out({"words": words, "folder": str(folder), "env": env, "modes": list(MODES)})
