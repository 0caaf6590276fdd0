"""A busy machine is said, waited for, or refused; `--strict` makes a gate of what is not known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import measured_machine as machine
import pytest
from click.testing import Result
from command import refusal, typed

from trnbench.measure import conditions
from trnbench.results.measurement import Conditions

BUSY = "other processes had 40% of the processors"
TRY = "  try:   end other processes, or wait for them: --wait-quiet 600\n"
Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """`trnbench run` on a machine that is seen as busy as `others` say, one look after the other."""

    def run(*words: str, others: tuple[float, ...], mode: str = "well") -> Result:
        looks = [Conditions(wall_s=0.5, others=share, stolen=0.0) for share in others]
        monkeypatch.setattr(conditions, "seen", lambda: looks.pop(0) if len(others) > 1 else looks[0])
        begin = ("run", "--backend", "stand-in", "--no-report")
        done = typed(*begin, *words, registry=machine.registry(mode, folder=tmp_path))
        assert len(others) == 1 or not looks
        return done

    return run


def test_a_busy_machine_is_said_and_the_run_goes_on(invoke: Invoke) -> None:
    done = invoke("--processes", "2", others=(0.4,))
    assert done.exit_code == 0, done.stderr
    suffers = "cases that suffer from it will be inconclusive"
    assert f"warning: the machine is busy: {BUSY}; {suffers}\n{TRY}" in done.stderr


def test_a_quiet_machine_is_not_talked_about(invoke: Invoke) -> None:
    done = invoke("--require-quiet", "--processes", "2", others=(0.0,))
    assert done.exit_code == 0, done.stderr
    assert "busy" not in done.stderr


def test_a_quiet_machine_can_be_required(invoke: Invoke, tmp_path: Path) -> None:
    assert refusal(invoke("--require-quiet", others=(0.4,)), 1).endswith(
        "error: the machine is too busy to measure: nothing was run (--require-quiet)\n"
        f"  cause: {BUSY}\n{TRY}"
    )
    assert not list(tmp_path.glob("*.journals/*"))


def test_it_can_be_waited_for(invoke: Invoke) -> None:
    done = invoke("--wait-quiet", "600", "--require-quiet", "--processes", "2", others=(0.9, 0.4, 0.0))
    assert done.exit_code == 0, done.stderr
    assert "waiting for a quiet machine, 600 s at most\n" in done.stderr


def test_an_interruption_while_it_is_waited_for_has_saved_nothing(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(conditions, "quiet_within", interrupted)
    done = invoke("--wait-quiet", "600", others=(0.9,))
    assert done.exit_code == 130
    assert done.stderr.endswith("\ninterrupted: this command had saved nothing yet\n")


@pytest.mark.parts
def test_emulated_runs_do_not_look(monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> Conditions:
        raise AssertionError("nobody measures here")

    monkeypatch.setattr(conditions, "seen", never)
    done = typed("run", "gemm", "-i", "trn1.2xlarge", "-a", "size=512", "--no-report")
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize(("words", "code"), [((), 0), (("--strict",), 1)])
def test_inconclusive_is_a_gate_where_it_is_asked_for(
    invoke: Invoke, words: tuple[str, ...], code: int
) -> None:
    done = invoke("--format", "json", *words, others=(0.0,), mode="jumps")
    found = json.loads(done.stdout)
    assert (done.exit_code, found["exit_code"]) == (code, code)
    assert found["counts"]["inconclusive"] == 1


@pytest.mark.parametrize("commit", [{}, {"git_commit": "a" * 40}])
def test_a_commit_is_named_to_compare_with_where_there_is_one(
    invoke: Invoke, commit: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trnbench.run.environment.describe_commit", lambda: commit)
    done = invoke(others=(0.0,), mode="jumps")
    assert ("compare --paired HEAD . " in done.stderr) is bool(commit)


def test_how_many_processes_there_are_to_be_is_a_number(invoke: Invoke) -> None:
    assert "--processes" in refusal(invoke("--processes", "0", others=(0.0,)))
