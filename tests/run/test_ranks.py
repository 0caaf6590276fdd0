"""Several processes that a launcher numbered: all measure, rank 0 records, and nobody waits for ever."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import measured_machine as machine
import msgspec
import pytest
from messages import pairs
from stored_run import text_of

from trnbench.errors import UsageError
from trnbench.results.measurement import Measurement, Reason, Status
from trnbench.run.executor import find_rank
from trnbench.run.ranks.connection import first_host, place_of
from trnbench.run.ranks.executor import spread, together
from trnbench.store.store import Store

PROGRAM = machine.__file__
KEY = {"TRNBENCH_RENDEZVOUS_KEY": "0123456789abcdef" * 4}
LAUNCHED = ("RANK", "WORLD_SIZE", "OMPI_", "PMI", "SLURM_", "MASTER_", "TORCHELASTIC_", "TRNBENCH_")
TWICE = ("--processes", "2")
"""Rounds enough to be some: each is a process of every rank."""


def environment(folder: Path, modes: str, **more: str) -> dict[str, str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(LAUNCHED)}
    return {
        **clean,
        "PYTHONPATH": os.pathsep.join(
            filter(None, (str(Path(PROGRAM).parent), os.environ.get("PYTHONPATH")))
        ),
        "TMPDIR": str(folder),
        "TRNBENCH_STORE": str(folder / "runs.db"),
        "MACHINE_MODES": modes,
        **more,
    }


RUN = (PROGRAM, "run", "--backend", "stand-in")


def launch(
    folder: Path, modes: str, rank: int, size: int, *words: str, program: tuple[str, ...] = RUN, **more: str
) -> subprocess.Popen[str]:
    """One of `size` processes as mpirun starts them."""
    numbered = {"PMI_RANK": str(rank), "PMI_SIZE": str(size), "MPI_LOCALNRANKS": str(size)}
    return subprocess.Popen(
        [sys.executable, *program, *words],
        cwd=folder,
        env=environment(folder, modes, **numbered, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    out, err = process.communicate(timeout=150)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def ranks(
    folder: Path, size: int, modes: str, *words: str, come: int | None = None, **more: str
) -> list[subprocess.CompletedProcess[str]]:
    """What came of `size` processes (`come` of them, where some never do)."""
    started = [launch(folder, modes, rank, size, *words, **more) for rank in range(come or size)]
    done = []
    try:
        for each in started:
            done.append(ended(each))
            if each.returncode == 124:
                # A rank that hangs is its launcher's to end; here that is this test.
                for other in started:
                    if other.poll() is None:
                        other.send_signal(signal.SIGCONT)
    finally:
        for each in started:
            each.kill()
            each.wait()
    return done


def stored(folder: Path) -> Any:
    with Store(folder / "runs.db") as store:
        return store.load("latest")


def test_all_measure_the_first_records_and_the_straggler_is_named(tmp_path: Path) -> None:
    done = ranks(tmp_path, 3, "well,lags", "--format", "json", "--no-report", *TWICE)
    assert [each.returncode for each in done] == [0, 0, 0], [
        *(each.stderr for each in done),
        *(each.reason_text for each in stored(tmp_path).measurements),
    ]
    assert json.loads(done[0].stdout)["cases"] == 2
    assert [each.stdout for each in done[1:]] == ["", ""]
    run = stored(tmp_path)
    _, lags = run.measurements
    told = lags.detail["ranks"]
    assert (told["count"], told["slowest"]) == (3, 2)
    assert set(told["time_s"]) == {"0", "1", "2"}
    # The middle of two processes' times, and the time of one of them: equal but for the last digits.
    assert lags.time_s == pytest.approx(told["time_s"]["2"])
    assert lags.time_s == pytest.approx(0.033, rel=1e-3)
    assert lags.notes[0].startswith("rank 2 is a straggler: ")
    assert lags.notes[0].endswith(" times the median of 3 ranks")
    assert lags.notes[-1] == "ranks 0, 1, 2 ran at once on one machine and shared it"
    assert run.notes[-1] == (
        "3 ranks of mpirun on 1 machine measured every case at once; a result is the slowest rank's, "
        "detail.ranks has all"
    )
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".rendezvous"] == []


def test_a_rank_with_a_wrong_result_fails_the_case_and_is_named(tmp_path: Path) -> None:
    done = ranks(tmp_path, 3, "wrong-there", "--no-report", "-q", *TWICE)
    assert [each.returncode for each in done] == [1, 1, 1]
    (found,) = stored(tmp_path).measurements
    assert (found.status, found.reason) == (Status.FAILED, Reason.WRONG_RESULT)
    assert found.reason_text.startswith("rank 2: the output is wrong: 'stale' is not right")
    assert found.detail["ranks"]["status"] == {"0": "ok", "1": "ok", "2": "failed wrong result"}


def test_a_rank_that_dies_ends_the_run_everywhere_with_a_reason(tmp_path: Path) -> None:
    done = ranks(tmp_path, 3, "well,lost,well", "--no-report", "-q", *TWICE)
    assert [each.returncode for each in done] == [3, -signal.SIGKILL, 3]
    assert done[0].stderr.strip() == (
        "error: rank 1 of 3 was lost\n"
        "  cause: its process ended, or its machine left\n"
        "  try:   its own output, which the launcher has; then the same command again"
    )
    assert done[2].stderr.startswith("error: rank 2: the run has ended: rank 1 of 3 was lost\n")
    run = stored(tmp_path)
    assert [each.status for each in run.measurements] == [Status.OK, Status.FAILED]
    assert run.measurements[1].reason is Reason.CRASH
    assert "rank 1 of 3 was lost: 1 of 3 cases were not run" in run.notes


def test_a_rank_that_hangs_ends_the_run_everywhere_with_124(tmp_path: Path) -> None:
    # Long enough for the rank that is well to answer on a machine that does much else.
    done = ranks(
        tmp_path, 3, "stopped,well", "--no-report", "-q", "--timeout", "2", RANKS_BOOT_S="6"
    )  # fmt: skip
    assert [done[0].returncode, done[2].returncode] == [124, 124]
    assert done[0].stderr.startswith("error: rank 1 of 3 did not answer within 11 s\n")
    assert done[2].stderr.startswith("error: rank 2: the run has ended: rank 1 of 3 did not answer")
    (found,) = stored(tmp_path).measurements
    assert found.reason is Reason.TIMEOUT


def test_a_rank_that_never_comes_is_named_and_nobody_waits_for_it(tmp_path: Path) -> None:
    done = ranks(tmp_path, 3, "well", "--no-report", "-q", come=2, RANKS_WAIT_S="12")
    assert [each.returncode for each in done] == [124, 124]
    assert done[0].stderr.startswith("error: rank 2 of 3 did not come within 12 s\n")
    assert done[1].stderr.startswith("error: rank 1: the run has ended: rank 2 of 3 did not come")


def test_without_rank_0_the_others_say_where_they_looked(tmp_path: Path) -> None:
    done = ended(launch(tmp_path, "well", 1, 2, RANKS_WAIT_S="1", SLURM_JOB_ID="7"))
    assert (done.returncode, done.stdout) == (124, "")
    assert done.stderr == (
        f"error: rank 1 did not find rank 0 at {tmp_path}/trnbench-{os.getuid()}-7.rendezvous within 1 s\n"
        "  cause: it did not start, runs another command, or cannot be reached from here\n"
        "  try:   TRNBENCH_RENDEZVOUS=HOST:PORT of rank 0; TRNBENCH_RENDEZVOUS=off  runs this process by "
        "itself\n"
    )


def test_ranks_with_other_cases_are_refused(tmp_path: Path) -> None:
    words = ("--no-report", "-q")
    started = [launch(tmp_path, modes, rank, 2, *words) for rank, modes in enumerate(("well", "lags"))]
    done = [ended(each) for each in started]
    assert [each.returncode for each in done] == [2, 2]
    told = [each.stderr for each in done]
    assert told[0].startswith("error: rank 1 differs from rank 0 in its cases\n")
    assert told[1].startswith("error: rank 1: the run has ended: rank 1 differs from rank 0 in its cases\n")


@pytest.mark.parts
def test_emulated_cases_are_rank_0_s_alone(tmp_path: Path) -> None:
    emulated = ("-m", "trnbench", "run", "-i", "trn1.2xlarge", "gemm")
    done = ended(launch(tmp_path, "", 1, 2, program=emulated))
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "rank 1: emulated cases need no machine, rank 0 carries them out alone\n"
    assert {each.name for each in tmp_path.iterdir()} <= {"runs.db.cache"}


@pytest.mark.skipif(
    shutil.which("mpirun") is None and not os.environ.get("TESTS_REQUIRE_MPIRUN"),
    reason="mpirun is not installed (Debian: openmpi-bin)",
)
def test_a_real_mpirun(tmp_path: Path) -> None:
    command = ["mpirun", "-n", "2", "--oversubscribe", "--allow-run-as-root", sys.executable, PROGRAM]
    done = subprocess.run(
        [*command, "run", "--backend", "stand-in", "--no-report", "--format", "json"],
        cwd=tmp_path, env=environment(tmp_path, "well"), capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cases"] == 1
    assert stored(tmp_path).measurements[0].detail["ranks"]["count"] == 2


@pytest.mark.parametrize(("variables", "told"), pairs(Path(__file__).parent / "launchers.txt"))
def test_ranks_are_told_by_the_variables_of_launchers(variables: str, told: str) -> None:
    found = find_rank(dict(each.split("=") for each in variables.split()))
    together = " together" if found and found.together else ""
    assert (f"{found.launcher} {found.rank} of {found.size}{together}" if found else "none") == told


@pytest.mark.parametrize("variables", [{"RANK": "x", "WORLD_SIZE": "2"}, {"RANK": "2", "WORLD_SIZE": "2"}])
def test_a_rank_that_is_none_is_a_usage_error(variables: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="is no rank"):
        find_rank(variables)


def test_where_ranks_meet() -> None:
    several = find_rank({"RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1"})
    torch = place_of(several, {"MASTER_ADDR": "trn7", "MASTER_PORT": "29500", **KEY})
    assert (torch.host, torch.port, torch.key) == ("trn7", 29501, KEY["TRNBENCH_RENDEZVOUS_KEY"])
    assert str(place_of(several, {"TRNBENCH_RENDEZVOUS": "10.0.0.4:29400", **KEY})) == "10.0.0.4:29400"
    shared = place_of(several, {"TRNBENCH_RENDEZVOUS": "/shared/x", "SLURM_JOB_ID": "9"})
    assert str(shared) == "/shared/x/trnbench-9.rendezvous"
    slurm = find_rank({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2"})
    told = {"SLURM_STEP_NODELIST": "trn[007-008],head", "SLURM_JOB_ID": "12", "SLURM_STEP_ID": "3", **KEY}
    assert str(place_of(slurm, told)) == f"trn007:{20000 + 12 * 31 + 3}"
    assert place_of(slurm, {**told, "SLURM_JOB_ID": "4000"}).port == 24003
    assert place_of(several, {"MASTER_ADDR": "trn7", "MASTER_PORT": "65535", **KEY}).port == 1
    assert place_of(several, {"TRNBENCH_RENDEZVOUS": "[fd00::1]:29400", **KEY}).host == "fd00::1"
    assert text_of(UsageError, place_of, several, {}) == (
        "2 ranks of torchrun do not know where rank 0 is\n"
        "  cause: they are on several machines, and no variable names the first one\n"
        "  try:   mpirun -x TRNBENCH_RENDEZVOUS=HOST:29400 …, HOST being the machine of rank 0"
    )
    with pytest.raises(UsageError, match="is no place to meet"):
        place_of(several, {"TRNBENCH_RENDEZVOUS": "nowhere"})


def test_on_several_machines_a_key_of_32_characters_is_needed() -> None:
    rank = find_rank({"RANK": "1", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4"})
    told = {"TRNBENCH_RENDEZVOUS": "trn7:29400", "TRNBENCH_RENDEZVOUS_KEY": "x" * 31}
    assert place_of(rank, {**told, "TRNBENCH_RENDEZVOUS_KEY": "x" * 32}).key == "x" * 32
    assert text_of(UsageError, place_of, rank, told) == (
        "8 ranks of torchrun on several machines hold no key\n"
        "  cause: TRNBENCH_RENDEZVOUS_KEY has 31 characters, 32 are needed: whoever reaches rank 0 could "
        "send results\n  try:   export TRNBENCH_RENDEZVOUS_KEY=$(openssl rand -hex 32), the same on every "
        "machine (mpirun -x TRNBENCH_RENDEZVOUS_KEY); or TRNBENCH_RENDEZVOUS=/a/folder/all/ranks/share"
    )


@pytest.mark.parametrize(
    ("nodes", "first"), [("a", "a"), ("a,b", "a"), ("trn[007-009,12],head", "trn007"), ("n[3,5]", "n3")]
)
def test_the_first_machine_of_a_slurm_list(nodes: str, first: str) -> None:
    assert first_host(nodes) == first


def test_the_slowest_rank_and_how_far_it_is() -> None:
    told = spread({0: 1.0, 1: 1.1, 2: 3.0, 3: 1.0})
    assert (told["slowest"], told["median_s"]) == (2, 1.05)
    assert told["slowest_over_median"] == pytest.approx(3.0 / 1.05)
    assert spread({0: 1.0, 1: 3.0, 2: 3.0})["slowest"] == 1  # the first of equals


@pytest.fixture
def skipped(tmp_path: Path) -> Measurement:
    from trnbench.run.plan import plan
    from trnbench.run.preparation import prepared
    from trnbench.run.selection import RunSettings

    registry = machine.registry("well", folder=tmp_path)
    planned = plan(registry)
    attempts = prepared(planned, registry.backends["stand-in"], RunSettings(), registry)
    case = planned.cases[0]
    system = planned.systems[case.key.instance]
    return attempts.judge.skipped(case, system, "no compiler")


def test_a_straggler_is_named_and_of_bad_ranks_the_first_of_the_worst(skipped: Measurement) -> None:
    fine, replace = ended_at(skipped, 1.0), msgspec.structs.replace
    shared = "ranks 0, 2 ran at once on one machine and shared it"
    straggler = "rank 2 is a straggler: 1.06 times the median of 3 ranks"
    for time_s, notes in ((1.05, (shared,)), (1.06, (straggler, shared))):
        found = together({0: fine, 1: fine, 2: ended_at(skipped, time_s)}, [(0, 2)])
        assert (found.time_s, found.notes) == (time_s, notes)
    bad = replace(fine, status=Status.SUSPECT, reason_text="too fast")
    lost = replace(fine, status=Status.FAILED, reason=Reason.CRASH, reason_text="gone", time_s=None)
    assert together({0: fine, 1: bad, 2: bad}).reason_text == "rank 1: too fast"
    found = together({0: fine, 1: bad, 2: lost, 3: lost})
    assert (found.status, found.reason_text) == (Status.FAILED, "rank 2: gone")
    told = {"0": "ok", "1": "suspect", "2": "failed crash", "3": "failed crash"}
    assert found.detail["ranks"] == {"count": 4, "status": told}


def ended_at(skipped: Measurement, time_s: float) -> Measurement:
    return msgspec.structs.replace(skipped, status=Status.OK, reason_text="", time_s=time_s)


def test_a_case_that_one_rank_leaves_out_is_no_result(skipped: Measurement) -> None:
    fine = ended_at(skipped, 1.0)
    found = together({0: fine, 1: skipped})
    assert (found.status, found.reason) == (Status.FAILED, Reason.ERROR)
    assert found.reason_text == "rank 1: left out there, and not elsewhere: no compiler"
    only = together({0: skipped, 1: skipped})
    assert only.status is Status.SKIPPED
