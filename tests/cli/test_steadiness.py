"""A busy machine is said, waited for, or refused; `--strict` makes a gate of what is not known."""

from __future__ import annotations

import json
from pathlib import Path

import measured_machine as machine
import pytest
from click.testing import CliRunner, Result

from trnbench.cli.context import Session
from trnbench.cli.main import cli
from trnbench.measure import conditions
from trnbench.results.measurement import Conditions


def told(others: float) -> Conditions:
    return Conditions(wall_s=0.5, others=others, stolen=0.0)


def invoke(folder: Path, mode: str, *arguments: str) -> Result:
    shared = Session()
    shared.registry = machine.registry(mode, folder=folder)
    command = ["--store", str(folder / "r.db"), "run", "--backend", "stand-in", "--no-report", *arguments]
    return CliRunner().invoke(cli, command, obj=shared, prog_name="trnbench")


def test_a_busy_machine_is_said_and_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "seen", lambda: told(0.4))
    done = invoke(tmp_path, "well", "--processes", "2")
    assert done.exit_code == 0, done.stderr
    assert (
        "warning: the machine is busy: other processes had 40% of the processors; cases that suffer from it "
        "will be inconclusive\n  try:   end other processes, or wait for them: --wait-quiet 600\n"
    ) in done.stderr


def test_a_quiet_machine_is_not_talked_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "seen", lambda: told(0.0))
    done = invoke(tmp_path, "well", "--require-quiet", "--processes", "2")
    assert done.exit_code == 0, done.stderr
    assert "busy" not in done.stderr


def test_a_quiet_machine_can_be_required(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "seen", lambda: told(0.4))
    done = invoke(tmp_path, "well", "--require-quiet")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.endswith(
        "error: the machine is too busy to measure: nothing was run (--require-quiet)\n"
        "  cause: other processes had 40% of the processors\n"
        "  try:   end other processes, or wait for them: --wait-quiet 600\n"
    )
    assert not list(tmp_path.glob("*.journals/*"))


def test_it_can_be_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([told(0.9), told(0.4), told(0.0)])
    monkeypatch.setattr(conditions, "seen", lambda: next(looks))
    done = invoke(tmp_path, "well", "--wait-quiet", "600", "--require-quiet", "--processes", "2")
    assert done.exit_code == 0, done.stderr
    assert "waiting for a quiet machine, 600 s at most\n" in done.stderr
    assert next(looks, None) is None


@pytest.mark.parts
def test_emulated_runs_do_not_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> Conditions:
        raise AssertionError("nobody measures here")

    monkeypatch.setattr(conditions, "seen", never)
    store = str(tmp_path / "r.db")
    command = ["--store", store, "run", "gemm", "-i", "trn1.2xlarge", "-a", "size=512", "--no-report"]
    done = CliRunner().invoke(cli, command, prog_name="trnbench")
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize(("words", "code"), [((), 0), (("--strict",), 1)])
def test_inconclusive_is_a_gate_where_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int
) -> None:
    monkeypatch.setattr(conditions, "seen", lambda: told(0.0))
    done = invoke(tmp_path, "jumps", "--format", "json", *words)
    found = json.loads(done.stdout)
    assert (done.exit_code, found["exit_code"]) == (code, code)
    assert found["counts"]["inconclusive"] == 1


def test_how_many_processes_there_are_to_be_is_a_number(tmp_path: Path) -> None:
    done = invoke(tmp_path, "well", "--processes", "0")
    assert done.exit_code == 2
    assert "--processes" in done.stderr
