"""A measured run, and the page that tells of measuring."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

import measured_machine as machine
import msgspec
import pytest
from command import typed

from trnbench import Reason, Run, Status, load_registry
from trnbench.facts.load import load_book
from trnbench.run import pool
from trnbench.run.worker import epitaph


def measured(*modes: str, folder: Path, **settings: Any) -> Run:
    # How several processes of a case come to one result: test_rounds.py.
    return machine.carried_out(*modes, folder=folder, **{"processes": 2, **settings})


@pytest.mark.spawned
def test_every_case_has_a_process_of_its_own(tmp_path: Path) -> None:
    run = measured("well", "well", "well", folder=tmp_path)
    processes = [each.detail["process"] for each in run.measurements]
    assert len(set(processes)) == 3
    assert os.getpid() not in processes
    assert {each.status for each in run.measurements} == {Status.OK}
    assert run.notes == ()


def test_four_ways_to_fail_cost_one_case_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "GRACE_S", 0.5)
    run = measured("crash", "memory", "hang", "wrong", "well", folder=tmp_path, timeout_s=10.0)
    assert [(each.status, each.reason) for each in run.measurements] == [
        (Status.FAILED, Reason.CRASH),
        (Status.FAILED, Reason.OUT_OF_MEMORY),
        (Status.FAILED, Reason.TIMEOUT),
        (Status.FAILED, Reason.WRONG_RESULT),
        (Status.OK, Reason.NONE),
    ]
    assert run.measurements[0].reason_text == "the process that ran it was killed by SIGSEGV"
    assert run.measurements[3].reason_text == "the output is wrong: 'stale' is not right (first call)"


def test_a_case_that_is_lost_once_is_tried_again_and_says_so(tmp_path: Path) -> None:
    run = measured("once", folder=tmp_path, retries=2)
    (found,) = run.measurements
    assert found.status is Status.OK
    assert found.detail["tries"] == 2
    assert found.notes[-2:] == (
        "this is try 2",
        "try 1: crash: the process that ran it was killed by SIGSEGV",
    )
    assert run.settings["retries"] == 2


def test_a_case_that_is_lost_each_time_has_all_tries_in_its_result(tmp_path: Path) -> None:
    (found,) = measured("crash", folder=tmp_path, retries=2).measurements
    assert found.reason is Reason.CRASH
    assert [note.partition(":")[0] for note in found.notes] == ["this is try 3", "try 1", "try 2"]


def test_without_retries_there_is_one_try(tmp_path: Path) -> None:
    (found,) = measured("once", folder=tmp_path).measurements
    assert (found.reason, found.notes) == (Reason.CRASH, ())


def test_a_wrong_result_is_not_tried_again(tmp_path: Path) -> None:
    (found,) = measured("wrong", folder=tmp_path, retries=3).measurements
    assert (found.reason, "tries" in found.detail) == (Reason.WRONG_RESULT, False)


def test_a_process_ended_by_the_system_for_memory_is_told_apart() -> None:
    assert epitaph(-9, starved=True) == (
        Reason.OUT_OF_MEMORY,
        "the process that ran it was killed by SIGKILL: the system ran out of memory and counted a process "
        "it ended",
    )
    assert epitaph(-9, starved=False) == (
        Reason.CRASH,
        "the process that ran it was killed by SIGKILL; most often that is the system's out-of-memory killer",
    )
    # Memory that ran out elsewhere ended nothing here.
    assert epitaph(1, starved=True)[0] is Reason.CRASH


def test_names_of_the_host_stay_out_unless_they_are_asked_for(tmp_path: Path) -> None:
    node = platform.node()
    telling = len(node) >= 3 and node.lower() not in ("localhost", "linux", "build")
    (quiet,) = measured("names", folder=tmp_path).measurements
    text = msgspec.json.encode(quiet).decode()
    assert machine.INSTANCE not in text
    assert "<instance-id>" in text
    assert not telling or node not in text
    run = measured("names", folder=tmp_path, keep_identity=True)
    assert f"ran on {node}, {machine.INSTANCE}" in run.measurements[0].notes
    assert run.environment["host_name"] == node


def test_same_seed_same_data_whichever_process(tmp_path: Path) -> None:
    def drawn(seed: int) -> list[str]:
        return [each.detail["drawn"] for each in measured("well", folder=tmp_path, seed=seed).measurements]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


# docs/measuring.md names tests and options that exist.


HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "measuring.md"


def test_every_trap_has_a_test_that_exists() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if re.match(r"\| \d+ ", line)]
    assert [int(row.split()[1]) for row in rows] == list(range(1, 16))
    for row in rows:
        named = re.findall(r"`([./\w]+\.py)(?:::(\w+))?`", row)
        assert named, row
        for path, test in named:
            text = (HERE / path).read_text()
            assert not test or f"def {test}(" in text, (path, test)


def test_the_options_it_names_exist() -> None:
    told = typed("run", "--help-all").output
    for option in ("--backend", "--timeout", "--sample-time", "--retries", "--keep-identity", "--facts"):
        assert option in PAGE.read_text()
        assert option in told


def test_the_facts_it_shows_give_memory_a_peak(tmp_path: Path) -> None:
    from trnbench import Scope
    from trnbench.peaks import choose_peak

    shown = PAGE.read_text().partition("    schema = 1\n")[2].partition("\n\n")[0]
    path = tmp_path / "mine.toml"
    path.write_text("schema = 1\n" + "\n".join(line.strip() for line in shown.splitlines()))
    assert load_book([path]).facts[0].value == 307.2e9
    system = load_registry().system("host", extra_facts=(path,))
    choice = choose_peak(system, metric="host_memory_bandwidth", scope=Scope.INSTANCE)
    assert choice.chosen.value == 307.2e9
