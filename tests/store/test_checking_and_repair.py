"""What is wrong with a store is found, and made good out of documents and journals, by Python alone."""

from __future__ import annotations

import os
import stat
import zlib
from pathlib import Path

import msgspec
import pytest
from stored_run import edited, make_run, recorded, text_of

from trnbench import Run
from trnbench.errors import StoreError, UsageError
from trnbench.results.digest import content_digest
from trnbench.store.history import histories
from trnbench.store.recording import reopened as taken_up
from trnbench.store.repair import Problem, backup, check, repair
from trnbench.store.store import Store


@pytest.fixture
def kept(store: Store, run: Run) -> Store:
    """A store with a recorded run and, before it, a saved one (without a journal)."""
    store.save(make_run(), tags=["old"])
    recorded(store, run, tags=["new"]).finish(run)
    return store


def saved(store: Store) -> str:
    with reopened(store) as opened:
        return opened.resolve("old")


def edit(store: Store, statement: str, *values: object) -> None:
    store.close()
    edited(store.path, statement, values=values)


def reopened(store: Store) -> Store:
    store.close()
    return Store(store.path)


def found(store: Store) -> tuple[Problem, ...]:
    with reopened(store) as opened:
        return check(opened)


def repaired(store: Store) -> list[str]:
    with reopened(store) as opened:
        return repair(opened)


def check_mended(store: Store, run: Run) -> None:
    """A repair leaves nothing wrong, and the run is in the store as it was recorded."""
    repaired(store)
    assert found(store) == ()
    with reopened(store) as opened:
        assert opened.load(run.id) == run


def test_nothing_is_wrong_with_a_good_store(kept: Store) -> None:
    assert found(kept) == ()
    assert repaired(kept) == []
    assert found(kept) == ()


@pytest.mark.parametrize(
    ("column", "value"),
    [("status", "'failed'"), ("value", "1.0"), ("fraction", "0.99"), ("kernel", "'other'"), ("unit", "'W'")],
)
def test_a_column_that_its_document_contradicts(kept: Store, run: Run, column: str, value: str) -> None:
    edit(
        kept,
        f"UPDATE measurements SET {column} = {value} WHERE position = 1 AND"
        " run = (SELECT number FROM runs WHERE id = ?)",
        run.id,
    )
    (problem,) = found(kept)
    case = run.measurements[1].id
    assert (problem.run, problem.repair) == (run.id, True)
    assert problem.what.startswith(f"column {column} of {case} is {value}, its document says ")
    assert repaired(kept) == [f"run {run.id}: wrote 1 column again from its documents"]
    assert found(kept) == ()


def test_a_column_of_a_run_that_its_document_contradicts(kept: Store, run: Run) -> None:
    edit(kept, "UPDATE runs SET backend = 'another' WHERE id = ?", run.id)
    assert found(kept) == (
        Problem(run.id, "column runs.backend is 'another', its document says 'emulated'", True),
    )
    assert repaired(kept) == [f"run {run.id}: wrote 1 column again from its documents"]
    assert found(kept) == ()


def doctored(run: Run) -> bytes:
    one = msgspec.structs.replace(run.measurements[0], time_s=1e-9)
    return zlib.compress(msgspec.json.encode(one))


def test_an_edited_figure_shows_and_the_journal_has_the_true_one(kept: Store, run: Run) -> None:
    statement = (
        "UPDATE measurements SET document = ?, time_s = 1e-9 WHERE position = 0 AND"
        " run = (SELECT number FROM runs WHERE id = ?)"
    )
    edit(kept, statement, doctored(run), run.id)
    what = "its digest belongs to another content: it was edited after it had ended"
    assert found(kept) == (Problem(run.id, what, True),)
    assert repaired(kept) == [
        f"run {run.id} was written again from its journal: its digest belongs to another content"
    ]
    assert found(kept) == ()
    assert Store(kept.path).load(run.id) == run
    other = saved(kept)
    edit(kept, statement, doctored(run), other)
    assert found(kept) == (Problem(other, what, False),)
    assert repaired(kept) == [
        f"run {other} stays as it is, without a journal to renew it from: "
        "its digest belongs to another content"
    ]


def test_a_document_that_cannot_be_read(kept: Store, run: Run) -> None:
    other = saved(kept)
    edit(kept, "UPDATE documents SET content = x'00'")
    assert [(each.run, each.repair) for each in found(kept)] == [(other, False), (run.id, True)]
    assert all(each.what.startswith("a document cannot be read: ") for each in found(kept))
    repaired(kept)  # both runs share their documents: the journal of one has them
    assert found(kept) == ()


def overwritten(store: Store, bytes_at: dict[int, bytes]) -> None:
    """Bytes of the database file by their place, behind the store's back."""
    store.close()
    data = bytearray(store.path.read_bytes())
    for place, new in bytes_at.items():
        data[place : place + len(new)] = new
    store.path.write_bytes(data)


def test_a_database_with_damaged_pages_is_made_anew(kept: Store, run: Run) -> None:
    kept.close()
    pages = range(3, kept.path.stat().st_size // 4096)
    overwritten(kept, {page * 4096: os.urandom(2048) for page in pages})
    data = kept.path.read_bytes()
    aside = kept.path.with_name("results.db.damaged-1")
    done = repaired(kept)
    assert done[-2:] == [f"the damaged database is now {aside}", f"{kept.path} was made anew"]
    assert aside.read_bytes() == data
    check_mended(kept, run)
    assert Store(kept.path).resolve("new") == run.id


def test_a_database_that_is_no_more_is_made_anew_from_the_journals(kept: Store, run: Run) -> None:
    kept.close()
    kept.path.write_bytes(os.urandom(9000))
    assert text_of(StoreError, Store(kept.path).load) == (
        f"{kept.path} is not a store of trnbench: it is no SQLite database\n"
        "  cause: --store or TRNBENCH_STORE names some other file; it was left as it is\n"
        "  try:   name another file with --store; journals are beside it: trnbench store repair"
    )
    repaired(kept)
    with reopened(kept) as store:
        assert [each.id for each in store.list()] == [run.id]
        assert store.load() == run
        assert store.list()[0].tags == ("new",)


def test_a_database_whose_header_names_no_format_is_made_anew(kept: Store, run: Run) -> None:
    overwritten(kept, {44: b"\x00\x00\x00\x63"})
    told = text_of(StoreError, Store(kept.path).load)
    assert told.startswith(f"the store {kept.path} is damaged: unsupported file format\n")
    check_mended(kept, run)


@pytest.mark.parametrize("column", ["schema_version", "indexed", "number"])
def test_a_database_that_has_lost_the_name_of_a_column_is_made_anew(
    kept: Store, run: Run, column: str
) -> None:
    """SQLite takes a damaged name in its schema for another name, and calls the database sound."""
    kept.close()
    name = column.encode()
    kept.path.write_bytes(kept.path.read_bytes().replace(name, name[:-1] + b"A"))
    assert f"the database is damaged: it has no column runs.{column}" in [each.what for each in found(kept)]
    assert found(kept)[0].repair
    check_mended(kept, run)


def test_a_store_that_has_lost_its_mark_has_it_again(kept: Store, run: Run) -> None:
    overwritten(kept, {68: b"trn\x80"})
    assert text_of(StoreError, Store(kept.path).load).startswith(
        f"{kept.path} is an SQLite database, but not a store of trnbench\n"
    )
    assert repaired(kept)[0] == f"{kept.path} has the mark of a store of trnbench again"
    assert found(kept) == ()
    with reopened(kept) as store:
        assert store.load(run.id) == run


@pytest.mark.parametrize("version", [b"\x00\x00\x00\x00", b"\xff\xff\xff\xf0", b"\x00\x00\x01\x03"])
@pytest.mark.parametrize("mark", [b"trnb", b"\x00\x00\x00\x00"])
def test_a_store_without_a_version_is_damaged_and_has_one_again(
    kept: Store, run: Run, version: bytes, mark: bytes
) -> None:
    overwritten(kept, {60: version, 68: mark})
    told = text_of(StoreError, Store(kept.path).load)
    assert ("its version is " in told) == (mark == b"trnb" and version[2] != 1)
    check_mended(kept, run)


def test_a_head_that_has_lost_a_part_is_damaged_and_comes_from_the_journal(kept: Store, run: Run) -> None:
    with kept.writing() as connection:
        damage = "UPDATE runs SET head = replace(head, '\"books\"', '\"bAoks\"') WHERE id = ?"
        connection.execute(damage, (run.id,))
    assert text_of(StoreError, lambda: kept.load(run.id)).startswith(
        f"the store {kept.path} is damaged: the head of run {run.id} does not name its books\n"
    )
    check_mended(kept, run)


@pytest.mark.parametrize("damage", ["kind = 'bo9ks'", "name = CAST(X'74C36E79' AS TEXT)", "name = 'other'"])
def test_what_is_attached_by_a_damaged_word_comes_from_the_journal(
    kept: Store, run: Run, damage: str
) -> None:
    with kept.writing() as connection:
        row = "run = (SELECT number FROM runs WHERE id = ?) AND position = 0"
        connection.execute(f"UPDATE attachments SET {damage} WHERE {row}", (run.id,))
    assert found(kept)[0].run == run.id
    check_mended(kept, run)


@pytest.mark.parametrize("place", [18, 19])
def test_a_header_that_lets_nobody_write_is_damage(kept: Store, run: Run, place: int) -> None:
    with kept.writing() as connection:
        connection.execute("DELETE FROM runs WHERE id = ?", (run.id,))
    overwritten(kept, {place: b"\x9b"})
    check_mended(kept, run)
    assert Store(kept.path).resolve("new") == run.id


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE TABLE runs (number INTEGER, id TEXT)", "but not a store of trnbench"),
        ("", "it is no SQLite database"),
    ],
)
def test_another_programs_file_is_left_as_it_is(statement: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "diary.db"
    path.write_text("" if statement else "dear diary\n" * 100)
    if statement:
        edited(path, statement)
    data = path.read_bytes()
    with pytest.raises(StoreError, match=said):
        repair(Store(path))
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"diary.db": data}


@pytest.mark.parametrize(("place", "length"), [(0, -1), (0, -100), (0, 0), (30, None), (5000, None)], ids=str)
def test_a_damaged_journal_is_told_and_put_aside_and_the_store_keeps_its_run(
    kept: Store, run: Run, place: int, length: int | None
) -> None:
    """With a byte changed, or cut to a length, counted from its end where it is below 0."""
    path = kept.journal(run.id)
    data = bytearray(path.read_bytes()[:length])
    if place:
        data[place] ^= 1
    path.write_bytes(data)
    for _ in range(2):  # the first look may cut it off
        with reopened(kept) as store:
            assert (store.load(run.id), store.list()[-1].state) == (run, "done")
        (problem,) = found(kept)
        assert (problem.run, problem.repair, path.name in problem.what) == (run.id, True, True)
    (told,) = repaired(kept)
    assert told.startswith(f"run {run.id} is whole in the store; its damaged journal is now {path}.damaged")
    assert not path.exists()
    check_mended(kept, run)


def test_a_torn_end_of_a_journal_is_cut_off_where_the_store_has_no_more(store: Store, run: Run) -> None:
    journal = recorded(store, run).journal
    journal.close()
    with Store(store.path) as reader:  # now it has all of it
        assert len(reader.load().measurements) == len(run.measurements)
    data = bytearray(journal.path.read_bytes())
    data[-9] ^= 1
    journal.path.write_bytes(data)
    assert [each.repair for each in found(store)] == [True]
    assert repaired(store) == [f"run {run.id}: the damaged end of its journal was cut off"]
    assert found(store) == ()
    assert len(Store(store.path).load().measurements) == len(run.measurements)


def test_a_backup_is_a_store_of_its_own(kept: Store, run: Run, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    before = os.umask(0)
    try:
        backup(kept, target)
    finally:
        os.umask(before)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with Store(target) as copy:
        assert copy.load(run.id) == run
        assert check(copy) == ()
    assert text_of(UsageError, backup, kept, target) == (
        f"cannot write {target}: File exists\n"
        "  cause: a backup goes into a new file, in a folder that can be written to\n"
        "  try:   trnbench store backup NEW.db"
    )


def test_a_backup_of_no_store_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there are no stored runs yet"):
        backup(Store(tmp_path / "none.db"), tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_was_interrupted_taken_up_and_killed_is_not_called_edited(store: Store, run: Run) -> None:
    recording = recorded(store, run, 3)
    short = msgspec.structs.replace(run, measurements=run.measurements[:3], interrupted=True, digest="")
    digest = content_digest(msgspec.to_builtins(short))
    recording.finish(msgspec.structs.replace(short, digest=digest))
    assert found(store) == ()
    journal = taken_up(store, run.id).recording.journal
    journal.append("resumed", {"at": run.created, "changed": []})
    journal.close()
    with reopened(store) as opened:
        assert [(each.state, each.cases) for each in opened.list()] == [("unfinished", 3)]
    assert found(store) == ()


def test_a_word_that_is_no_status_is_damage_and_repaired(kept: Store, run: Run) -> None:
    edit(kept, "UPDATE measurements SET status = 'lo' WHERE position = 0")
    with reopened(kept) as store:
        for read in (store.list, lambda: histories(store)):
            told = text_of(StoreError, read)
            assert told.startswith(f"the store {kept.path} is damaged: 'lo' is not a valid Status\n")
            assert told.endswith("  try:   trnbench store repair")
    check_mended(kept, run)
    with Store(kept.path) as store:
        assert len(store.list()) == 2
        assert histories(store)
