"""Whatever a case does, the others come to what they would have come to, and the command ends well."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forks import Forks
from hostile_cases import hostile_modes

from trnbench.store.store import Store

ENDLESS = ("hang", "deaf", "stubborn")
"""Modes that only `--timeout` ends."""

WELL = {
    *("well", "exits_at_the_end", "thread", "grandchild", "print", "descriptor", "close_stdout", "shallow"),
    *("close_descriptors", "folder", "umask", "environment", "signals", "clock"),
}
"""Modes whose case comes to a result all the same; not every one of the others fails."""


def test_there_are_enough() -> None:
    assert len(set(hostile_modes())) >= 40
    assert {*ENDLESS, *WELL} <= set(hostile_modes())


@pytest.mark.parametrize("mode", tuple(hostile_modes()))
def test_it_costs_its_own_case_at_most(forks: Forks, tmp_path: Path, mode: str) -> None:
    limit = ("--timeout", "2") if mode in ENDLESS else ()
    words = ("run", "--no-report", "--format", "json", *limit)
    answer = forks(tmp_path, *words, machine="hostile_cases", modes=["half", mode, "low"])
    assert not answer.late
    assert answer.code in (0, 3, 124), answer.stderr
    assert "Traceback" not in answer.stderr
    assert "internal error" not in answer.stderr
    assert answer.left == 0  # nothing that it started is there any more
    told = json.loads(answer.stdout)  # and nothing else was written there
    assert told["cases"] == 3
    with Store(tmp_path / "r.db") as store:
        run = store.load()
    found = {str(each.case.point["mode"]): each for each in run.measurements}
    assert found["half"].status == "ok"
    assert found["low"].status == "document-low"
    assert (found[mode].status == "failed") == (answer.code != 0)
    if mode in WELL:
        assert found[mode].status == "ok"
    if mode in ENDLESS:
        assert answer.code == 124
        assert found[mode].reason == "timeout"
    if found[mode].status == "failed":
        assert found[mode].reason_text.strip()
    assert run.finished
    assert not run.interrupted
    assert forks(tmp_path, "store", "check").code == 0
