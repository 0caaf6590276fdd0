"""What can be wrong with the store's file: each has a name, and nothing is replaced."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tiny_machine as tiny
from stored_run import edited, text_of

from trnbench import Run
from trnbench.errors import BadInput, StoreError
from trnbench.results.run import SCHEMA_VERSION
from trnbench.store import layout
from trnbench.store.path import StoreBusy, explained
from trnbench.store.repair import check, repair
from trnbench.store.store import Store


def test_no_store_yet(tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    assert text_of(StoreError, Store(path).load) == (
        f"there are no stored runs yet: {path} does not exist\n"
        "  cause: nothing was run with this store, or --store or TRNBENCH_STORE points elsewhere\n"
        "  try:   trnbench run"
    )
    assert Store(path).list() == ()
    assert not path.exists()


def test_an_empty_store(store: Store, run: Run) -> None:
    store.save(run)
    store.delete([run.id])
    assert text_of(StoreError, store.load) == (
        f"there are no stored runs yet: {store.path} is empty\n"
        "  cause: nothing was run with this store, or every run was deleted\n"
        "  try:   trnbench run"
    )


@pytest.mark.parametrize(
    ("tables", "what", "whose"),
    [
        ((), "not a store of trnbench: it is no SQLite database", "some other file"),
        (
            ("letters", "bills"),
            "an SQLite database, but not a store of trnbench",
            "the file of another program",
        ),
    ],
)
def test_a_file_of_something_else(
    tables: tuple[str, ...], what: str, whose: str, tmp_path: Path, run: Run
) -> None:
    path = tmp_path / "other.db"
    edited(path, *(f"CREATE TABLE {name} AS SELECT 'dear'" for name in tables))
    if not tables:
        path.write_text("dear diary\n" * 200)
    before = path.read_bytes()
    expected = (
        f"{path} is {what}\n"
        f"  cause: --store or TRNBENCH_STORE names {whose}; it was left as it is\n"
        "  try:   name another file with --store"
    )
    assert text_of(StoreError, Store(path).load) == expected
    assert text_of(StoreError, Store(path).save, run) == expected
    assert path.read_bytes() == before


def test_a_store_of_a_newer_trnbench(closed: Store, run: Run) -> None:
    edited(closed.path, "PRAGMA user_version = 9")
    expected = (
        f"{closed.path} has store version 9; this trnbench reads up to {layout.STORE_VERSION}\n"
        "  cause: a newer trnbench has used it; it was left as it is\n"
        "  try:   pip install --upgrade trnbench, or name another file with --store"
    )
    assert text_of(StoreError, closed.load) == expected
    assert text_of(StoreError, closed.save, run) == expected


def test_a_run_of_a_newer_result_schema(closed: Store, run: Run) -> None:
    now = f'"schema_version":{SCHEMA_VERSION}'
    newer = "UPDATE runs SET head = replace(head, ?, '\"schema_version\":8')"
    edited(closed.path, newer, values=(now,))
    assert text_of(BadInput, closed.load) == (
        f"run {run.id} in {closed.path} is written in result schema 8; "
        f"this trnbench reads up to {SCHEMA_VERSION}\n"
        "  cause: a newer trnbench wrote it\n"
        "  try:   pip install --upgrade trnbench"
    )
    assert closed.list()[0].id == run.id


def test_an_older_store_is_brought_up_to_date(
    closed: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = layout.STORE_VERSION, layout.STORE_VERSION + 1
    monkeypatch.setattr(layout, "STORE_VERSION", after)
    second = msgspec.structs.replace(run, id="second")

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE runs ADD COLUMN colour TEXT")
        raise RuntimeError("power cut")

    monkeypatch.setitem(layout.MIGRATIONS, before, fail)
    with pytest.raises(RuntimeError):
        closed.save(second)

    def step(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE runs ADD COLUMN colour TEXT NOT NULL DEFAULT 'green'")

    monkeypatch.setitem(layout.MIGRATIONS, before, step)
    closed.save(second)
    assert closed.load(run.id) == run
    assert closed.load("second") == second
    with closing(sqlite3.connect(closed.path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (after,)
        assert connection.execute("SELECT DISTINCT colour FROM runs").fetchall() == [("green",)]


def test_a_new_store_is_its_owners_alone(store: Store, run: Run) -> None:
    before = os.umask(0)
    try:
        store.save(run)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in store.path.parent.iterdir()}
    assert set(modes.values()) == {0o600}
    assert modes.keys() > {store.path.name}


def pages(data: bytes) -> bytes:
    """Every page but the first with a damaged half."""
    damaged = bytearray(data)
    for page in range(1, len(data) // 4096):
        damaged[page * 4096 : page * 4096 + 2048] = os.urandom(2048)
    return bytes(damaged)


@pytest.mark.parametrize(
    "damage",
    [
        pages,
        lambda data: data[:5000],
        lambda data: data.replace(b"CREATE TABLE tags", b"CREATE TABLE \xff\xfe\xff\xfe"),
    ],
    ids=["pages", "a cut", "bytes that are no text"],
)
def test_damage_is_reported_and_nothing_replaced(closed: Store, damage: Callable[[bytes], bytes]) -> None:
    whole = closed.path.read_bytes()
    data = damage(whole)
    assert data != whole
    closed.path.write_bytes(data)
    for read in (closed.list, closed.load):
        said = text_of(StoreError, read)
        assert said.startswith(f"the store {closed.path} is damaged: ")
        assert said.endswith("  try:   trnbench store repair")
    assert closed.path.read_bytes() == data


def test_a_damaged_document_is_reported(closed: Store) -> None:
    edited(closed.path, "UPDATE documents SET content = x'00'")
    assert text_of(StoreError, closed.load).startswith(f"the store {closed.path} is damaged: ")


def test_a_folder_and_a_missing_folder(tmp_path: Path, run: Run) -> None:
    assert text_of(StoreError, Store(tmp_path).save, run) == (
        f"cannot keep results at {tmp_path}: it is a folder\n"
        "  cause: --store or TRNBENCH_STORE names a folder, not a file\n"
        f"  try:   --store {tmp_path / 'results.db'}"
    )
    path = tmp_path / "no where" / "r.db"
    assert text_of(StoreError, Store(path).save, run) == (
        f"cannot keep results at {path}: the folder {path.parent} does not exist\n"
        "  cause: --store or TRNBENCH_STORE names a folder that is missing or misspelt\n"
        f"  try:   mkdir -p '{path.parent}'"
    )
    assert not path.parent.exists()


@pytest.mark.parametrize("failure", ["disk I/O error", "database or disk is full"])
def test_a_full_disk_has_an_advice_that_needs_no_room(tmp_path: Path, failure: str) -> None:
    path, cache = tmp_path / "r.db", tmp_path / "r.db.cache"
    for spare in ("", f": rm {cache} costs no run"):
        with pytest.raises(StoreBusy) as caught, explained(path):
            raise sqlite3.OperationalError(failure)
        assert caught.value.try_ == (
            f"make room in {tmp_path}{spare}, or name a file on another disk with --store"
        )
        cache.touch()


HERE = "--store ./results.db  keeps results in the working folder"


@pytest.mark.parametrize(
    ("error", "kind", "what", "try_"),
    [
        (
            "database is busy",
            StoreBusy,
            "the store {} is locked",
            "wait for it to end, or name another file with",
        ),
        (
            "file is not a database",
            StoreError,
            "{} is not a store of trnbench: it is no",
            "name another file with",
        ),
        ("attempt to write a readonly database", StoreError, "the store {} cannot be written to", HERE),
        ("unable to open database file", StoreError, "cannot open the store {}", HERE),
        (
            "no such table: runs",
            StoreError,
            "the store {} failed: no such table: runs",
            "trnbench store check",
        ),
        *(
            (damage, StoreError, f"the store {{}} is damaged: {damage}", "trnbench store repair")
            for damage in ("malformed", "corrupt", "unsupported file format", "could not decode")
        ),
    ],
)
def test_errors_of_sqlite_in_words(tmp_path: Path, error: str, kind: Any, what: str, try_: str) -> None:
    path = tmp_path / "r.db"
    with pytest.raises(StoreError) as caught, explained(path):
        raise sqlite3.DatabaseError(error)
    assert type(caught.value) is kind
    assert (
        caught.value.what.removesuffix(" SQLite database"),
        caught.value.try_.removesuffix(" --store"),
    ) == (
        what.format(path),
        try_,
    )


def test_an_empty_file_becomes_a_store(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "r.db"
    path.touch()
    with Store(path) as store:
        assert text_of(StoreError, store.load) == (
            f"there are no stored runs yet: {path} is empty\n"
            "  cause: nothing was run with this store, or every run was deleted\n"
            "  try:   trnbench run"
        )
        store.save(run)
        assert store.load() == run


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_store_is_read_and_not_written(closed: Store, run: Run) -> None:
    closed.path.chmod(stat.S_IRUSR)
    closed.path.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert closed.load() == run
        with pytest.raises(StoreError, match=r"cannot be written to|cannot open"):
            closed.save(msgspec.structs.replace(run, id="second"))
    finally:
        closed.path.parent.chmod(stat.S_IRWXU)


def test_a_store_on_a_read_only_database(store: Store, run: Run) -> None:
    """What SQLite itself says of a read-only file, told in words."""
    store.save(run)

    def write() -> None:
        with store.writing() as connection:
            connection.execute("COMMIT")
            connection.execute("PRAGMA query_only = ON")
            connection.execute("DELETE FROM runs")

    assert text_of(StoreError, write) == (
        f"the store {store.path} cannot be written to\n"
        "  cause: the file or its folder is read-only for this user\n"
        "  try:   --store ./results.db  keeps results in the working folder"
    )


def test_two_processes_may_create_it_at_once(tmp_path: Path) -> None:
    script = (
        "import sys; from tiny_machine import carried_out; from trnbench.store.store import Store\n"
        'carried_out(*("half",) * 30, store=Store(sys.argv[1]))\n'
    )
    path = tmp_path / "r.db"
    environment = {**os.environ, "PYTHONPATH": str(Path(tiny.__file__).parent)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(path)], env=environment, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for each in started:
        _, said = each.communicate(timeout=60)
        assert (each.returncode, [line for line in said.splitlines() if "printed by" not in line]) == (0, [])
    with Store(path) as store:
        assert [one.cases for one in store.list()] == [30, 30, 30]


def test_an_environment_that_was_changed_is_found_and_written_again(store: Store, run: Run) -> None:
    store.save(run)
    for change in ("UPDATE environments SET content = '{\"cpu_count\": 99}'", "DELETE FROM environments"):
        with store.writing() as connection:
            connection.execute(change)
        (problem,) = check(store)
        assert problem == (run.id, "its row of environments says something else than its document", True)
        assert repair(store) == [f"run {run.id}: wrote 1 column again from its documents"]
        assert check(store) == ()


def test_a_run_that_an_index_alone_knows_is_damage(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(run)
    monkeypatch.setattr(store, "resolve", lambda _: "ghost")
    assert text_of(StoreError, store.load).startswith(
        f"the store {store.path} is damaged: run ghost has no row"
    )
