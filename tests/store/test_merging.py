"""Stores put together: all of the others or nothing, and the same again changes nothing."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from click.testing import Result
from command import refusal, typed
from stored_run import make_run, recorded

from trnbench import Run
from trnbench.results.digest import content_digest
from trnbench.store.compression import PAGE_BYTES
from trnbench.store.repair import check
from trnbench.store.store import Store


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRNBENCH_STORE", str(tmp_path / "all.db"))
    return tmp_path


def invoke(*arguments: str) -> Result:
    done = typed("store", *arguments)
    # What stands before the name of the store is this test's folder.
    done.stderr_bytes = done.stderr.replace(f"{Path.cwd()}/", "").encode()
    return done


def keep(path: str, *runs: Run, tags: tuple[str, ...] = ()) -> None:
    with Store(path) as store:
        store.save(*runs, tags=tags)


def held(path: str = "all.db") -> dict[str, tuple[Run, tuple[str, ...]]]:
    with Store(path) as store:
        assert check(store) == ()
        return {each.id: (store.load(each.id), each.tags) for each in store.list()}


def test_runs_come_over_whole_and_again_changes_nothing(folder: Path) -> None:
    first, second, third = make_run(), make_run(), make_run()
    keep("a.db", first, second, tags=("night",))
    keep("b.db", third)
    done = invoke("merge", "a.db", "b.db")
    assert (done.exit_code, done.stdout.split()) == (0, [first.id, second.id, third.id]), done.stderr
    assert done.stderr == "all.db: 3 added\n"
    assert held() == {first.id: (first, ("night",)), second.id: (second, ("night",)), third.id: (third, ())}
    before = (folder / "a.db").read_bytes()
    again = invoke("merge", "a.db", "b.db", "a.db")
    assert (again.exit_code, again.stdout, again.stderr) == (0, "", "all.db: 3 here already\n")
    assert len(held()) == 3
    assert (folder / "a.db").read_bytes() == before


def test_a_new_tag_comes_over_with_the_next_merge(folder: Path) -> None:
    run = make_run()
    keep("a.db", run)
    assert invoke("merge", "a.db").exit_code == 0
    with Store("a.db") as store:
        store.tag(run.id, ["gold"])
    assert invoke("merge", "a.db").exit_code == 0
    assert held()[run.id][1] == ("gold",)


def test_more_of_the_same_run_takes_the_place_of_less(folder: Path) -> None:
    whole = make_run()
    less = msgspec.structs.replace(
        whole, finished="", interrupted=True, digest="", measurements=whole.measurements[:2]
    )
    keep("less.db", less)
    keep("whole.db", whole)
    assert invoke("merge", "less.db").exit_code == 0
    assert len(held()[whole.id][0].measurements) == 2
    done = invoke("merge", "whole.db")
    assert (done.exit_code, done.stderr) == (0, "all.db: 1 renewed\n")
    assert held()[whole.id][0] == whole
    done = invoke("merge", "less.db")
    assert (done.exit_code, done.stderr) == (0, "all.db: 1 here already\n")
    assert held()[whole.id][0] == whole


def test_what_is_here_of_a_run_that_is_renewed_stays(folder: Path) -> None:
    first, second = make_run(created="2026-01-01T00:00:00+00:00"), make_run()
    later = msgspec.structs.replace(first, finished=f"{first.finished}+", digest="")
    keep("all.db", first, tags=("mine",))
    keep("all.db", second)
    keep("later.db", later, tags=("theirs",))
    assert invoke("merge", "later.db").stderr == "all.db: 1 renewed\n"
    assert held() == {first.id: (later, ("mine", "theirs")), second.id: (second, ())}
    with Store("all.db") as store, store.reading() as connection:
        assert connection.execute("SELECT id FROM runs ORDER BY number").fetchall()[0] == (first.id,)


@pytest.mark.parametrize(("notes", "code"), [((), 0), (("another",), 2)])
def test_another_digest_is_another_content_unless_fields_of_today_gave_it(
    folder: Path, notes: tuple[str, ...], code: int
) -> None:
    run = make_run()
    other = msgspec.structs.replace(run, notes=notes, digest="")
    keep("all.db", run, tags=("mine",))
    keep("a.db", other if not notes else resealed(other))
    done = invoke("merge", "a.db")
    assert (done.exit_code, done.stdout) == (code, ""), done.stderr
    assert held() == {run.id: (run, ("mine",))}


def resealed(run: Run) -> Run:
    return msgspec.structs.replace(run, digest=content_digest(msgspec.to_builtins(run)))


def test_a_damaged_store_is_said_and_nothing_is_merged(folder: Path) -> None:
    good, bad = make_run(), make_run()
    keep("good.db", good)
    keep("bad.db", bad)
    with Store("bad.db") as store, store.writing() as connection:
        connection.execute("UPDATE measurements SET document = x'0102' WHERE position = 3")
    assert refusal(invoke("merge", "good.db", "bad.db")) == (
        f"error: bad.db cannot be merged: run {bad.id}: a document cannot be read: "
        "Error -3 while decompressing data: incorrect header check\n"
        "  cause: it was damaged or edited, or a run in it was cut off; nothing was merged\n"
        "  try:   trnbench --store bad.db store repair\n"
    )
    assert not (folder / "all.db").exists()


def test_a_journal_that_is_damaged_is_put_aside_first(folder: Path) -> None:
    run = make_run()
    with Store("a.db") as store:
        recorded(store, run).finish(run)
        store.journal(run.id).write_bytes(b"")
    name = f"{run.id}.journal"
    assert f"a.db cannot be merged: run {run.id}: its journal {name} holds no run\n" in refusal(
        invoke("merge", "a.db")
    )
    assert typed("--store", "a.db", "store", "repair").exit_code == 0
    assert [each.name for each in (folder / "a.db.journals").iterdir()] == [f"{name}.damaged"]
    assert invoke("merge", "a.db").exit_code == 0
    assert held() == {run.id: (run, ())}


def test_a_page_that_is_gone_and_a_file_that_is_no_store(folder: Path) -> None:
    keep("good.db", make_run())
    keep("torn.db", make_run())
    data = (folder / "torn.db").read_bytes()
    (folder / "torn.db").write_bytes(data[:PAGE_BYTES] + b"\xff" * PAGE_BYTES + data[2 * PAGE_BYTES :])
    (folder / "notes.db").write_text("these are notes, and no database at all, only some words\n" * 9)
    for name in ("torn.db", "notes.db", "none.db"):
        done = invoke("merge", "good.db", name)
        assert (done.exit_code, done.stdout) == (2, ""), name
        assert done.stderr.count("error: ") == 1, done.stderr
        assert name in done.stderr
        assert ("try:   trnbench --store torn.db store repair" in done.stderr) == (name == "torn.db")
        assert ("cause: OTHER is to be the file of another store" in done.stderr) == (name != "torn.db")
        assert not (folder / "all.db").exists()


def test_an_edited_run_is_refused(folder: Path) -> None:
    run = make_run()
    keep("a.db", msgspec.structs.replace(run, notes=("edited",)))
    assert (f"a.db cannot be merged: run {run.id}: its digest belongs to another content") in refusal(
        invoke("merge", "a.db")
    )


def test_the_same_run_with_another_content_is_refused(folder: Path) -> None:
    run = make_run()
    keep("all.db", run)
    with Store("all.db") as store:  # as if it had been carried out here
        store.journal(run.id).parent.mkdir()
        store.journal(run.id).write_bytes(b"")
    keep("a.db", msgspec.structs.replace(run, digest="", finished=f"{run.finished}+"))
    assert refusal(invoke("merge", "a.db")) == (
        f"error: run {run.id} of a.db is in all.db with another content\n"
        "  cause: it was gone on with in both stores, or one of them was edited; nothing was merged\n"
        f"  try:   trnbench runs delete {run.id}  in one of them\n"
    )


def test_the_store_itself_is_refused(folder: Path) -> None:
    keep("all.db", make_run())
    done = invoke("merge", "all.db")
    assert (done.exit_code, done.stderr.splitlines()[0]) == (2, "error: all.db is the store itself")


def test_a_run_under_way_is_left_for_later(folder: Path) -> None:
    begun = msgspec.structs.replace(make_run(), finished="", digest="", measurements=())
    with Store("a.db") as store, closing(store.record(begun, planned=5).journal):
        done = invoke("merge", "a.db")
    assert (done.exit_code, done.stderr) == (0, "all.db: 1 under way and left out\n")
    assert held() == {}
