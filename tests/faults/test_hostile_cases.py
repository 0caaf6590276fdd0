"""Whatever a case does, the others come to what they would have come to, and the command ends well."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from forks import Forks
from hostile_cases import GROUPS

from trnbench.store.store import Store

WELL = {
    *("exits_at_the_end", "thread", "grandchild", "print", "descriptor", "close_stdout", "close_descriptors"),
    *("folder", "umask", "environment", "signals", "clock", "shallow"),
}
"""Modes whose case comes to a result all the same; of the others some do not."""

FAILED = {
    *("sys_exit", "exit_0", "kill", "segfault", "abort", "keyboard_interrupt", "unheard", "raise_strange"),
    *("recursion", "memory", "hang", "deaf", "stubborn", "escapes", "none", "strange", "generator"),
    *("negative", "time_of_text", "detail_of_strange", "detail_of_itself"),
}


def test_there_are_enough() -> None:
    modes = [mode for group in GROUPS.values() for mode in group]
    assert len(modes) == len(set(modes)) >= 35
    assert set(modes) >= WELL | FAILED


@pytest.mark.parametrize("group", GROUPS)
def test_it_costs_its_own_case_at_most(forks: Forks, tmp_path: Path, group: str) -> None:
    modes = GROUPS[group]
    endless = group == "does not end"
    words = ("run", "--no-report", "--format", "json", *(("--timeout", "1") if endless else ()))
    answer = forks(tmp_path, *words, machine="hostile_cases", modes=["half", *modes, "low"])
    assert not answer.late
    assert answer.code in (0, 3, 124), answer.stderr
    assert "internal error" not in answer.stderr
    assert answer.left == 0  # nothing that they started is there any more
    assert json.loads(answer.stdout)["cases"] == len(modes) + 2  # and nothing else was written there
    with Store(tmp_path / "r.db") as store:
        run = store.load()
    assert run.finished
    assert not run.interrupted
    found = {str(each.case.point["mode"]): each for each in run.measurements}
    assert found["half"].status == "ok"
    assert found["low"].status == "document-low"
    failures = [each for each in run.measurements if each.status == "failed"]
    assert answer.code == (124 if endless else 3 if failures else 0), answer.stderr
    for mode in modes:
        failed = found[mode].status == "failed"
        assert failed or mode not in FAILED, mode
        assert not failed or mode not in WELL, found[mode].reason_text
        assert not failed or found[mode].reason_text.strip(), mode
    assert forks(tmp_path, "store", "check").code == 0
