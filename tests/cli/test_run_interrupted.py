"""Ctrl-C on a run, for real."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tiny_machine as tiny

from trnbench.store.store import Store


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_keeps_what_is_done_and_says_how_to_see_it(tmp_path: Path, jobs: str) -> None:
    program = Path(tiny.__file__)
    store = tmp_path / "results.db"
    environment = {**os.environ, "TINY_MODES": ",".join(["nap"] * 200), "TRNBENCH_STORE": str(store)}
    started = subprocess.Popen(
        [sys.executable, str(program), "run", "--jobs", jobs],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with Store(store) as stored_runs:
            listed = stored_runs.list()
        if listed and listed[0].cases >= 3:
            break
        time.sleep(0.02)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=120)
    assert started.returncode == 130, err
    with Store(store) as stored_runs:
        (stored,) = stored_runs.list()
        run = stored_runs.load()
    kept = len(run.measurements)
    assert 3 <= kept < 200
    assert run.interrupted
    assert stored.state == "interrupted"
    assert f"interrupted: {kept} of 200 cases are kept as run {run.id}" in err
    assert f"  try:   trnbench resume {run.id}, or: trnbench runs show {run.id}" in err
    assert "Traceback" not in err
    assert f"run    {run.id}" in out
    assert not (tmp_path / "trnbench-report.html").exists()
