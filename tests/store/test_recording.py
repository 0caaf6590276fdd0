"""While a run is kept: readable at every moment, and a kill, a lock or an interruption loses nothing."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import tiny_machine as tiny
from stored_run import text_of

from trnbench import Run
from trnbench.errors import BadInput, StoreError, UnknownName
from trnbench.store import recording as module
from trnbench.store.store import Store


def test_a_recording_is_readable_at_every_moment(store: Store, run: Run) -> None:
    begun = msgspec.structs.replace(run, measurements=(), finished="")
    recording = store.record(begun, planned=5)
    with Store(store.path) as reader:
        assert reader.load().measurements == ()
        for position, each in enumerate(run.measurements):
            recording.add(position, each)
            assert reader.load().measurements == run.measurements[: position + 1]
            assert reader.load().interrupted
            assert reader.list()[0].state == "unfinished"
        recording.finish(run)
        assert reader.load() == run
        assert reader.list()[0].state == "done"


def test_batches_reach_the_store_when_they_are_full_and_when_they_end(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    recording = store.record(msgspec.structs.replace(run, measurements=(), finished=""), planned=5)
    with Store(store.path) as reader:
        with recording.in_batches():
            for position, each in enumerate(run.measurements):
                recording.add(position, each)
                assert len(reader.load().measurements) == (position + 1) // 2 * 2
        assert reader.load().measurements == run.measurements
        recording.finish(run)
        assert reader.load() == run


def test_a_kill_in_a_batch_loses_nothing(store: Store, run: Run) -> None:
    recording = store.record(msgspec.structs.replace(run, measurements=(), finished=""), planned=5)
    batch = recording.in_batches()
    batch.__enter__()
    for position, each in enumerate(run.measurements):
        recording.add(position, each)
    recording.journal.close()  # as if killed
    with Store(store.path) as again:
        assert again.load().measurements == run.measurements


def test_a_kill_loses_nothing_that_was_done(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import os, signal, sys
        import tiny_machine as tiny
        from trnbench.run.execute import execute
        from trnbench.run.plan import plan
        from trnbench.store.store import Store

        def kill(step):
            if step.done == 7:
                os.kill(os.getpid(), signal.SIGKILL)

        registry = tiny.registry(*("half",) * 20)
        execute(plan(registry), registry.backends["emulated"], registry, None, kill, store=Store(sys.argv[1]))
        """
    )
    path = tmp_path / "r.db"
    environment = {**os.environ, "PYTHONPATH": str(Path(tiny.__file__).parent)}
    done = subprocess.run([sys.executable, "-c", script, str(path)], env=environment, timeout=60)
    assert done.returncode == -signal.SIGKILL
    with Store(path) as store:
        found = store.load()
        assert len(found.measurements) == 7
        assert found.interrupted
        (one,) = store.list()
        assert (one.cases, one.planned, one.state) == (7, 20, "unfinished")
        assert store.journal(one.id).stat().st_size == store.indexed()[one.id]
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_an_interrupted_write_leaves_the_store_as_it_was(store: Store, run: Run) -> None:
    store.save(run)

    def interrupted() -> None:
        with store.writing() as connection:
            connection.execute("DELETE FROM runs")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert store.load() == run


def test_a_run_is_never_overwritten(store: Store, run: Run) -> None:
    store.save(run)
    assert text_of(StoreError, store.save, run) == (
        f"run {run.id} is in {store.path} already\n"
        "  cause: it was saved or imported before; a stored run is never overwritten\n"
        f"  try:   trnbench runs delete {run.id}"
    )
    assert store.load() == run


def test_a_run_that_cannot_be_written_leaves_nothing_behind(store: Store, run: Run) -> None:
    bad = msgspec.structs.replace(run, settings={"x": float("nan")})
    with pytest.raises(BadInput):
        store.save(bad)
    assert store.list() == ()


def test_delete_is_all_or_nothing(store: Store, run: Run) -> None:
    store.save(run)
    with pytest.raises(UnknownName):
        store.delete([run.id, "nobody"])
    assert store.load() == run
