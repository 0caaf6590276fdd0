"""Recording a run case by case, and a store that falls behind its journals."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import pytest
import tiny_machine as tiny
from campaigns import sweep
from stored_run import make_run, recorded, text_of

from trnbench import Run, Status
from trnbench.errors import BadInput, StoreError, UnknownName
from trnbench.isolation.interrupt import Interrupted
from trnbench.store import recording as module
from trnbench.store.entry import Entry
from trnbench.store.journal import JournalInUse, journal_folder
from trnbench.store.store import Store


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store takes each case when the journal has it, unless a test says otherwise."""
    monkeypatch.setattr(module, "FOLLOWS_S", 0.0)


def test_a_recording_is_readable_at_every_moment(store: Store, run: Run) -> None:
    recording = recorded(store, run, 0)
    with Store(store.path) as reader:
        assert reader.load().measurements == ()
        for position, each in enumerate(run.measurements):
            recording.add(position, Entry(each))
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
    monkeypatch.setattr(module, "FOLLOWS_S", 60.0)
    recording = recorded(store, run, 0)
    with Store(store.path) as reader:
        for position, each in enumerate(run.measurements):
            recording.add(position, Entry(each))
            assert len(reader.load().measurements) == (position + 1) // 2 * 2
        recording.finish(run)
        assert reader.load() == run


def test_a_kill_loses_nothing_that_was_done(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import os, signal, sys
        from tiny_machine import carried_out
        from trnbench.store.store import Store

        def kill(step):
            if step.done == 7:
                os.kill(os.getpid(), signal.SIGKILL)

        carried_out(*("half",) * 20, on_progress=kill, store=Store(sys.argv[1]))
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


def test_an_interruption_while_the_store_takes_cases_loses_none(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FOLLOWS_S", 60.0)
    recording = recorded(store, run)
    with monkeypatch.context() as patch:
        patch.setattr(module, "insert_measurements", interrupt)
        with pytest.raises(Interrupted):
            recording.follow()
    recording.finish(run)
    with Store(store.path) as again:
        assert again.load() == run


def interrupt(*_: object) -> None:
    raise Interrupted


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


# A store that takes nothing for a while costs no case and no time: the journal has all of it.


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@pytest.fixture
def hurried(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "r.db", busy_s=0.01) as store:
        yield store


@pytest.mark.parametrize("row", sweep(range(6), (3).__eq__))
def test_a_lock_from_any_row_on_costs_nothing(
    hurried: Store, run: Run, row: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BACK_OFF_S", (0.0, 0.0))
    recording = recorded(hurried, run, row)
    with locked(hurried.path):
        for position, each in list(enumerate(run.measurements))[row:]:
            recording.add(position, Entry(each))
        recording.finish(run)
        assert recording.behind.what == f"the store {hurried.path} is locked"
        with Store(hurried.path) as reader:  # what it could not take is shown from the journal
            assert reader.load() == run
    with Store(hurried.path) as reader:
        assert reader.load() == run
        assert reader.list()[0].state == "done"


def test_a_lock_that_ends_is_made_up_for_by_the_next_case(
    hurried: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BACK_OFF_S", (0.0, 0.0))
    recording = recorded(hurried, run, 0)
    with locked(hurried.path):
        for position in (0, 1, 2):
            recording.add(position, Entry(run.measurements[position]))
    recording.add(3, Entry(run.measurements[3]))
    with Store(hurried.path) as reader:
        assert reader.load().measurements == run.measurements[:4]
    recording.add(4, Entry(run.measurements[4]))
    recording.finish(run)
    assert recording.behind is None
    with Store(hurried.path) as reader:
        assert reader.load() == run


def test_a_lock_costs_one_attempt_until_the_pause_is_over(
    hurried: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BACK_OFF_S", (3600.0, 3600.0))
    recording = recorded(hurried, run, 0)
    attempts = []
    write = Store.writing

    def counted(self: Store, *, busy_s: float | None = None) -> object:
        attempts.append(busy_s)
        return write(self, busy_s=busy_s)

    monkeypatch.setattr(Store, "writing", counted)
    with locked(hurried.path):
        for position, each in enumerate(run.measurements):
            recording.add(position, Entry(each))
    assert attempts == [module.HURRY_S]
    recording.finish(run)
    assert attempts == [module.HURRY_S, None]
    assert hurried.load() == run


def test_a_store_that_is_locked_when_the_run_begins(hurried: Store, run: Run) -> None:
    with Store(hurried.path) as other:
        other.save(make_run(id="earlier", created="2026-01-01T00:00:00+00:00"))
    with locked(hurried.path):
        recording = recorded(hurried, run, 1)
    recording.add(1, Entry(run.measurements[1]))
    recording.journal.close()  # as if killed
    with Store(hurried.path) as reader:
        assert [each.id for each in reader.list()] == ["earlier", run.id]
        found = reader.load()
        assert (found.measurements, found.interrupted) == (run.measurements[:2], True)


def test_a_deleted_run_does_not_come_back(store: Store, run: Run) -> None:
    recorded(store, run).finish(run)
    store.delete([run.id])
    assert list(journal_folder(store.path).iterdir()) == []
    with Store(store.path) as again:
        assert again.list() == ()


def test_a_run_under_way_is_not_deleted(store: Store, run: Run) -> None:
    recording = recorded(store, run, 0)
    assert text_of(JournalInUse, store.delete, [run.id]) == (
        f"run {run.id} is under way\n"
        "  cause: another trnbench is carrying it out\n"
        "  try:   end it first: Ctrl-C there"
    )
    recording.add(0, Entry(run.measurements[0]))
    assert len(store.load().measurements) == 1


def test_delete_is_all_or_nothing(store: Store, run: Run) -> None:
    recorded(store, run).finish(run)
    with pytest.raises(UnknownName):
        store.delete([run.id, "nobody"])
    assert store.load() == run
    assert store.journal(run.id).exists()


def test_nothing_is_left_where_a_store_refuses(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "diary.db"
    path.write_text("dear diary\n" * 200)
    with pytest.raises(StoreError, match="no SQLite database"):
        recorded(Store(path), run)
    assert [each.name for each in tmp_path.iterdir()] == ["diary.db"]


def test_a_journal_that_says_nothing_does_not_stop_others(store: Store, run: Run) -> None:
    recorded(store, run).finish(run)
    store.journal("other").write_text("dear diary")
    with Store(store.path) as again:
        assert again.list()[0].id == run.id
    assert store.journal("other").read_text() == "dear diary"


def test_a_case_that_was_tried_again_takes_the_place_of_the_first(store: Store, run: Run) -> None:
    failed = next(each for each in run.measurements if each.status is Status.FAILED)
    recording = recorded(store, run, 0)
    recording.add(0, Entry(failed))
    recording.add(0, Entry(run.measurements[0]))
    assert store.load().measurements == run.measurements[:1]
    recording.journal.close()
    store.close()
    store.path.unlink()
    with Store(store.path) as again:
        assert again.load().measurements == run.measurements[:1]


def test_a_long_journal_goes_when_the_store_has_its_run(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONG", 1)
    whole = make_run(id="whole", measurements=tuple(e for e in run.measurements if e.status is Status.OK))
    for each, kept in ((run, True), (whole, False), (make_run(id="short", measurements=()), True)):
        recorded(store, each).finish(each, fold=True)
        assert store.journal(each.id).exists() is kept  # a failed case may be tried again
        assert store.load(each.id) == each
    copy = store.path.with_name("copy.db")
    copy.write_bytes(store.path.read_bytes())  # without its WAL
    with Store(copy) as again:
        assert again.load("whole") == whole


def test_a_journal_stays_where_the_store_lacks_its_run(
    hurried: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONG", 0)
    whole = make_run(id="whole", measurements=tuple(e for e in run.measurements if e.status is Status.OK))
    recording = recorded(hurried, whole, 0, planned=1)
    with locked(hurried.path):
        for position, measurement in enumerate(whole.measurements):
            recording.add(position, Entry(measurement))
        recording.finish(whole, fold=True)
    assert hurried.journal("whole").exists()
    with Store(hurried.path) as again:
        assert again.load("whole") == whole
