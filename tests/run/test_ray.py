"""A real Ray cluster on this machine: the same results, and what is lost costs one case."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import measured_machine as machine
import pytest
import tiny_machine as tiny
from parts import part
from stored_run import text_of

from trnbench import Run, Status
from trnbench.errors import UsageError
from trnbench.registry import load_registry
from trnbench.run.api import choose_backend
from trnbench.run.execute import execute
from trnbench.run.executor import Executor, RunCutShort, executor
from trnbench.run.plan import plan
from trnbench.run.selection import RunSettings

pools = part("trnbench_ray.pool")
AT_START = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
"""What these tests were started with: a background job ignores interrupts."""

SUPPORT = str(Path(tiny.__file__).parent)


@pytest.fixture(scope="module", autouse=True)
def _ray_is_there() -> None:
    try:
        import ray  # noqa: F401
    except ImportError:
        if os.environ.get("TESTS_REQUIRE_RAY"):
            pytest.fail("Ray is not installed, and TESTS_REQUIRE_RAY is set")
        pytest.skip("Ray is not installed: pip install 'trnbench[ray]'")


@pytest.fixture(scope="module")
def alone(_ray_is_there: None) -> Iterator[Executor]:
    """A cluster of this machine alone, as --executor ray starts it where RAY_ADDRESS names none."""
    assert "RAY_ADDRESS" not in os.environ
    with executor(load_registry(), "ray", jobs=2) as found:
        yield found


def carried_out(by: Executor, registry: Any, name: str = "", on_progress: Any = None, **settings: Any) -> Run:
    backend = choose_backend(registry, name, by)
    chosen = RunSettings(executor="ray", **settings)
    return execute(plan(registry), backend, registry, chosen, on_progress, executor=by)


def test_emulated_cases_come_out_as_they_do_in_one_process(alone: Executor) -> None:
    modes = ("half", "crash", "low", "unsupported", "above", "memory", "huge", "nan") * 3
    registry = tiny.registry(*modes)
    here = execute(plan(registry), registry.backends["emulated"], registry, RunSettings(jobs=1))
    there = carried_out(alone, registry)
    assert there.measurements == here.measurements
    assert (there.notes, there.settings["executor"]) == (here.notes, "ray")


@pytest.mark.campaign("faults")
def test_a_process_that_dies_or_hangs_costs_one_case(
    alone: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "GRACE_S", 0.5)
    run = carried_out(alone, tiny.registry("half", "die", "hang", "deaf", "low", "half"), timeout_s=3.0)
    failed = ("failed crash", "failed timeout", "failed timeout")
    assert tiny.endings(run) == ["ok", *failed, "document-low", "ok"]
    died, _, deaf = run.measurements[1:4]
    assert died.reason_text == "a machine of the cluster is gone, or its process that ran the case"
    assert deaf.reason_text == (
        "not done after 3 s (--timeout), and a machine of the cluster did not answer: the process there was "
        "ended"
    )


@pytest.mark.campaign("faults")
def test_of_several_cases_that_are_lost_together_one_is_blamed(alone: Executor) -> None:
    run = carried_out(alone, tiny.registry(*["half"] * 40, "die", *["low"] * 23), jobs=2)
    assert tiny.endings(run) == ["ok"] * 40 + ["failed crash"] + ["document-low"] * 23


@pytest.mark.campaign("faults")
def test_a_measured_case_has_a_process_of_its_own_and_fails_in_four_ways(
    alone: Executor, tmp_path: Path
) -> None:
    registry = machine.registry("crash", "memory", "hang", "wrong", "well", "once", folder=tmp_path)
    run = carried_out(alone, registry, "stand-in", timeout_s=10.0, retries=1)
    failed = ("failed crash", "failed out of memory", "failed timeout", "failed wrong result")
    assert tiny.endings(run) == [*failed, "ok", "ok"]
    # Told as it is on one machine: the signal is known, and so are the tries.
    assert run.measurements[0].notes[-1] == "try 1: crash: the process that ran it was killed by SIGSEGV"
    assert run.measurements[5].detail["tries"] == 2
    well = [each for each in run.measurements if each.status is Status.OK]
    assert {each.detail["machine"] for each in well} == {1}
    assert len({each.detail["process"] for each in well}) == 2
    assert run.environment["executor_machines"] == 1
    assert run.environment["executor"].startswith("ray ")


def test_an_interrupted_run_keeps_what_is_done(alone: Executor) -> None:
    def interrupt(step: Any) -> None:
        if step.done == 3:
            os.kill(os.getpid(), signal.SIGINT)

    run = carried_out(alone, tiny.registry(*("nap",) * 100), on_progress=interrupt)
    assert run.interrupted
    assert 3 <= len(run.measurements) < 100
    assert run.notes[-1].startswith("interrupted: ")


def test_sigterm_is_ours_again_once_ray_is_connected(alone: Executor) -> None:
    assert signal.getsignal(signal.SIGTERM) is AT_START[signal.SIGTERM]
    assert signal.getsignal(signal.SIGINT) is AT_START[signal.SIGINT]


def test_a_resource_that_no_machine_offers_is_named(alone: Executor, tmp_path: Path) -> None:
    assert text_of(UsageError, alone.placed, machine.Neuron(tmp_path)) == (
        "no machine of the Ray cluster offers neuron_cores\n"
        "  cause: 1 machines are there; the stand-in backend runs where Ray counts neuron_cores\n"
        "  try:   ray start --address=… --resources='{\"neuron_cores\": 1}', there"
    )


def test_a_machine_that_dies_costs_one_case() -> None:
    done = subprocess.run(
        [sys.executable, str(Path(SUPPORT) / "ray_machines.py")],
        capture_output=True,
        text=True,
        timeout=600,  # more than its waits inside taken together, each of which has a limit of its own
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["machines"] == 2
    assert len(told["cases"]) == 5
    (lost,) = (each for each in told["cases"] if each[0] == "failed")
    measured = [each for each in told["cases"] if each is not lost]
    # A machine that others keep busy makes a time doubtful, and no case lost.
    assert {each[0] for each in measured} <= {"ok", "inconclusive"}
    assert {each[3] for each in measured} == {1, 2}
    assert lost[1] == "crash"
    assert lost[2].endswith(" of the cluster is gone, or its process that ran the case")


def test_a_run_that_no_machine_can_begin_is_kept_and_told(alone: Executor) -> None:
    with pytest.raises(RunCutShort) as caught:
        carried_out(alone, tiny.registry("half", "low", backend=tiny.Unloadable()))
    assert str(caught.value) == (
        "no machine of the cluster is left to carry out cases\n"
        "  cause: a machine of the cluster could not begin: ImportError: no driver on that machine\n"
        "  try:   ray status; then the same command again"
    )
    assert caught.value.exit_code == 3
    assert caught.value.run.measurements == ()
    assert (
        "no machine of the cluster is left to carry out cases: 2 of 2 cases were not run"
        in caught.value.run.notes
    )


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError) as caught, executor(load_registry(), "ray"):
        pass
    assert str(caught.value) == (
        "--executor ray needs Ray, which is not installed here\n"
        "  cause: it is an extra: most runs need one machine only\n"
        "  try:   pip install 'trnbench[ray]', on every machine of the cluster"
    )


def test_an_address_where_nothing_answers_is_a_usage_error(tmp_path: Path) -> None:
    environment = {**os.environ, "RAY_ADDRESS": "127.0.0.1:1", "HOME": str(tmp_path)}
    done = command("run", "--executor", "ray", "-i", "trn1.2xlarge", "gemm", env=environment, at=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "no Ray cluster answers at 127.0.0.1:1\n" in done.stderr
    assert "unset RAY_ADDRESS  starts one on this machine" in done.stderr


def command(
    *words: str, at: Path, env: dict[str, str] | None = None, **more: Any
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trnbench", *words],
        cwd=at,
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        **more,
    )


def test_the_command_measures_there_and_leaves_nothing_behind(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    environment = {**os.environ, "HOME": str(home), "TRNBENCH_STORE": str(tmp_path / "runs.db")}
    words = ("run", "--executor", "ray", "--backend", "host", "stream_copy", "-a", "size=1M")
    with tempfile.TemporaryDirectory(dir="/tmp") as short:  # sockets lie in it
        done = command(
            *words, "--scope", "core", "--sample-time", "0.1", "--no-report", "--format", "json",
            at=tmp_path, env={**environment, "TMPDIR": short},
        )  # fmt: skip
        assert list(Path(short).glob("tb-*")) == []
    told = json.loads(done.stdout)
    assert (told["cases"], told["evidence"]) == (1, "measured"), done.stderr
    assert list(home.iterdir()) == []
    left = {each.name for each in tmp_path.iterdir()}
    assert left - {"runs.db-wal", "runs.db-shm", "runs.db.cache"} == {"home", "runs.db", "runs.db.journals"}
