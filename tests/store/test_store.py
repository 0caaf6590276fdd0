"""The store: runs come out as they went in, and whatever goes wrong has a name and loses nothing."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tiny_machine as tiny
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trnbench import Run, Status
from trnbench.errors import BadInput, StoreError, TrnbenchError, UnknownName, UsageError
from trnbench.results.run import SCHEMA_VERSION
from trnbench.run.execute import execute
from trnbench.run.plan import plan
from trnbench.store import layout
from trnbench.store.path import default_path, store_path
from trnbench.store.store import Store
from trnbench.store.tag import checked_tags


def make_run(**changes: Any) -> Run:
    registry = tiny.registry("half", "low", "above", "crash", "unsupported")
    run = execute(plan(registry), registry.backends["emulated"], registry)
    return msgspec.structs.replace(run, **changes)


@pytest.fixture(scope="module")
def run() -> Run:
    return make_run()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "results.db") as opened:
        yield opened


def text_of(kind: type[TrnbenchError], call: Any, *arguments: Any) -> str:
    with pytest.raises(kind) as caught:
        call(*arguments)
    return str(caught.value)


# ---- what goes in comes out


def test_a_run_comes_out_as_it_went_in(store: Store, run: Run) -> None:
    store.save(run, tags=["nightly"])
    assert store.load(run.id) == run
    with Store(store.path) as again:
        assert again.load() == run


def test_order_of_everything_is_kept(store: Store, run: Run) -> None:
    shuffled = msgspec.structs.replace(
        run,
        measurements=run.measurements[::-1],
        books={"z": run.books["tiny"], "a": run.books["tiny"]},
    )
    store.save(shuffled)
    loaded = store.load()
    assert loaded == shuffled
    assert list(loaded.books) == ["z", "a"]


def test_it_opens_without_the_plugin_that_made_it(store: Store, run: Run) -> None:
    store.save(run)
    script = textwrap.dedent(
        f"""
        import sys
        from trnbench.store.store import Store
        run = Store({str(store.path)!r}).load()
        assert "tiny_machine" not in sys.modules
        assert "pluggy" not in sys.modules
        print(run.books["tiny"].sources["tiny-page"].document, len(run.measurements))
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("The Tiny Machine 5\n", "")


def test_facts_shared_by_runs_are_kept_once(store: Store, run: Run) -> None:
    def documents() -> int:
        with closing(sqlite3.connect(store.path)) as connection:
            return int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])

    store.save(run)
    once = documents()
    store.save(msgspec.structs.replace(run, id="second"))
    assert documents() == once
    store.delete([run.id])
    assert documents() == once
    assert store.load("second").books == run.books
    store.delete(["second"])
    assert documents() == 0


def test_deleting_gives_the_space_back(store: Store, run: Run) -> None:
    many = msgspec.structs.replace(run, measurements=run.measurements * 100)
    for name in ("a", "b", "c"):
        store.save(msgspec.structs.replace(many, id=name))
    store.close()
    full = store.path.stat().st_size
    store.delete(["a", "b", "c"])
    store.close()
    assert store.path.stat().st_size < full / 4
    assert [path.name for path in store.path.parent.iterdir()] == [store.path.name]


def test_columns_can_be_queried_by_other_tools(store: Store, run: Run) -> None:
    store.save(run)
    with closing(sqlite3.connect(store.path)) as connection:
        rows = connection.execute(
            "SELECT case_id, kernel, dtype, status, reason, grade, metric, unit, round(fraction, 3)"
            " FROM measurements WHERE status IN ('suspect', 'failed') ORDER BY position"
        ).fetchall()
    assert rows == [
        ("tiny.2::act[dtype=bf16,mode=above]@core", "act", "bf16", "suspect", "", "emulated",
         "flops_per_s", "FLOP/s", 2.105),
        ("tiny.2::act[dtype=bf16,mode=crash]@core", "act", "bf16", "failed", "crash", "emulated",
         "flops_per_s", "", None),
    ]  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(alphabet=st.characters(exclude_categories=("Cs",))), min_size=4, max_size=4))
def test_hostile_strings_are_only_strings(tmp_path: Path, run: Run, texts: list[str]) -> None:
    one, two, three, four = (f"'); DROP TABLE runs; --\x00{text}" for text in texts)
    first = run.measurements[0]
    hostile = msgspec.structs.replace(
        run,
        id=f"{run.id}{one}",
        backend=two,
        notes=tuple(texts),
        measurements=(
            msgspec.structs.replace(
                first, reason_text=three, case=msgspec.structs.replace(first.case, kernel=four)
            ),
        ),
    )
    path = tmp_path / "hostile.db"
    path.unlink(missing_ok=True)
    with Store(path) as store:
        store.save(hostile)
        assert store.load(hostile.id) == hostile
        assert store.list()[0].backend == two
        store.delete([hostile.id])
        assert store.list() == ()


# ---- names of runs


def test_a_run_is_found_by_id_beginning_tag_and_latest(store: Store, run: Run) -> None:
    for run_id in ("20260101-000000-aaaa", "20260101-000000-bbbb", "20270101-000000-cccc"):
        store.save(msgspec.structs.replace(run, id=run_id), tags=["weekly"] if "a" in run_id[-4:] else [])
    assert store.resolve("20260101-000000-bbbb") == "20260101-000000-bbbb"
    assert store.resolve("2027") == "20270101-000000-cccc"
    assert store.resolve("latest") == "20270101-000000-cccc"
    assert store.resolve("weekly") == "20260101-000000-aaaa"
    store.tag("20260101-000000-bbbb", add=["weekly"])
    assert store.resolve("weekly") == "20260101-000000-bbbb"
    assert text_of(UsageError, store.resolve, "2026") == (
        "'2026' is the beginning of 2 runs\n"
        "  cause: 20260101-000000-aaaa, 20260101-000000-bbbb\n"
        "  try:   write more of the id"
    )
    assert text_of(UnknownName, store.resolve, "20270101-000000-ccdc") == (
        "unknown run '20270101-000000-ccdc'\n"
        "  cause: did you mean 20270101-000000-cccc, 20260101-000000-bbbb, 20260101-000000-aaaa?\n"
        "  try:   trnbench runs list"
    )
    assert text_of(UnknownName, store.load, "") == (
        "unknown run ''\n"
        "  cause: known: 20260101-000000-aaaa, 20260101-000000-bbbb, 20270101-000000-cccc, weekly\n"
        "  try:   trnbench runs list"
    )


def test_a_glob_in_a_name_is_no_glob(store: Store, run: Run) -> None:
    store.save(run)
    for ref in ("%", "*", "_" * len(run.id)):
        with pytest.raises(UnknownName):
            store.load(ref)


@pytest.mark.parametrize("tag", ["", " x", "x ", "a\nb", "\x1b", "latest", "x" * 101])
def test_tags_must_be_typeable(tag: str) -> None:
    assert text_of(UsageError, checked_tags, [tag]) == (
        f"{tag!r} cannot be a tag\n"
        "  cause: a tag is 1 to 100 printable characters, without blanks around it, and not 'latest'\n"
        "  try:   nightly"
    )


def test_tags_are_added_and_removed(store: Store, run: Run) -> None:
    store.save(run, tags=["b"])
    assert store.tag(run.id, add=["a", "a", "c"], remove=["b", "unknown"]) == ("a", "c")
    assert store.list()[0].tags == ("a", "c")
    with pytest.raises(UnknownName):
        store.tag("nobody", add=["x"])


def test_the_list_counts_by_status(store: Store, run: Run) -> None:
    store.save(run, tags=["t"])
    (one,) = store.list()
    assert one.counts == run.counts()
    assert (one.cases, one.planned, one.instances, one.tags) == (5, 5, ("tiny.2",), ("t",))
    assert one.state == "done"


# ---- while running


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
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_store_locked_for_a_while_costs_nothing(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "r.db"
    with Store(path, busy_s=0.05) as store:
        recording = store.record(msgspec.structs.replace(run, measurements=()), planned=5)
        recording.add(0, run.measurements[0])
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        recording.add(1, run.measurements[1])
        assert text_of(StoreError, recording.finish, run) == (
            f"the store {path} is locked\n"
            "  cause: another trnbench, or a database browser, is writing to it\n"
            "  try:   wait for it to end, or name another file with --store"
        )
        other.execute("ROLLBACK")
        other.close()
        for position in (2, 3, 4):
            recording.add(position, run.measurements[position])
        recording.finish(run)
        assert store.load() == run


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


# ---- what can be wrong with the file


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


def test_a_file_that_is_no_database(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "diary.db"
    path.write_text("dear diary\n" * 200)
    expected = (
        f"{path} is not a store of trnbench: it is no SQLite database\n"
        "  cause: --store or TRNBENCH_STORE names some other file; it was left as it is\n"
        "  try:   name another file with --store"
    )
    assert text_of(StoreError, Store(path).load) == expected
    assert text_of(StoreError, Store(path).save, run) == expected
    assert path.read_text() == "dear diary\n" * 200


def test_a_database_of_another_program(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "mail.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE letters (body TEXT)")
        connection.execute("INSERT INTO letters VALUES ('dear')")
        connection.commit()
    before = path.read_bytes()
    expected = (
        f"{path} is an SQLite database, but not a store of trnbench\n"
        "  cause: --store or TRNBENCH_STORE names the file of another program; it was left as it is\n"
        "  try:   name another file with --store"
    )
    assert text_of(StoreError, Store(path).load) == expected
    assert text_of(StoreError, Store(path).save, run) == expected
    assert path.read_bytes() == before


def test_a_store_of_a_newer_trnbench(store: Store, run: Run) -> None:
    store.save(run)
    store.close()
    connection = sqlite3.connect(store.path)
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    expected = (
        f"{store.path} has store version 9; this trnbench reads up to 1\n"
        "  cause: a newer trnbench has used it; it was left as it is\n"
        "  try:   pip install --upgrade trnbench, or name another file with --store"
    )
    assert text_of(StoreError, store.load) == expected
    assert text_of(StoreError, store.save, run) == expected


def test_a_run_of_a_newer_result_schema(store: Store, run: Run) -> None:
    store.save(run)
    store.close()
    connection = sqlite3.connect(store.path)
    now = f'"schema_version":{SCHEMA_VERSION}'
    connection.execute("UPDATE runs SET head = replace(head, ?, '\"schema_version\":8')", (now,))
    connection.commit()
    connection.close()
    assert text_of(BadInput, store.load) == (
        f"run {run.id} in {store.path} is written in result schema 8; "
        f"this trnbench reads up to {SCHEMA_VERSION}\n"
        "  cause: a newer trnbench wrote it\n"
        "  try:   pip install --upgrade trnbench"
    )
    assert store.list()[0].id == run.id


def test_an_older_store_is_brought_up_to_date(
    store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(run)
    store.close()
    monkeypatch.setattr(layout, "STORE_VERSION", 2)
    assert text_of(StoreError, store.load) == (
        f"{store.path} has store version 1; it has to be brought to 2 first\n"
        "  cause: an older trnbench wrote it, and this command only reads\n"
        "  try:   trnbench run, or any command that writes, brings it up to date"
    )
    second = msgspec.structs.replace(run, id="second")
    assert text_of(StoreError, store.save, second) == (
        f"{store.path} has store version 1, which this trnbench no longer reads\n"
        "  cause: there is no step from version 1 to 2; it was left as it is\n"
        "  try:   export its runs with the trnbench that wrote it"
    )

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE runs ADD COLUMN colour TEXT")
        raise RuntimeError("power cut")

    monkeypatch.setitem(layout.MIGRATIONS, 1, fail)
    with pytest.raises(RuntimeError):
        store.save(second)

    def step(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE runs ADD COLUMN colour TEXT NOT NULL DEFAULT 'green'")

    monkeypatch.setitem(layout.MIGRATIONS, 1, step)
    store.save(second)
    assert store.load(run.id) == run
    assert store.load("second") == second
    with closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
        assert connection.execute("SELECT DISTINCT colour FROM runs").fetchall() == [("green",)]


def test_damage_is_reported_and_nothing_replaced(store: Store, run: Run) -> None:
    store.save(run)
    store.close()
    data = bytearray(store.path.read_bytes())
    for page in range(1, len(data) // 4096):
        data[page * 4096 : page * 4096 + 2048] = os.urandom(2048)
    store.path.write_bytes(data)
    with pytest.raises(StoreError) as caught:
        store.load()
    assert caught.value.what.startswith(f"the store {store.path} is damaged: ")
    assert ".recover" in caught.value.try_
    assert store.path.read_bytes() == bytes(data)


def test_a_damaged_document_is_reported(store: Store, run: Run) -> None:
    store.save(run)
    store.close()
    connection = sqlite3.connect(store.path)
    connection.execute("UPDATE documents SET content = x'00'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError) as caught:
        store.load()
    assert caught.value.what.startswith(f"the store {store.path} is damaged: ")


def test_a_cut_short_file(store: Store, run: Run) -> None:
    store.save(run)
    store.close()
    store.path.write_bytes(store.path.read_bytes()[:5000])
    with pytest.raises(StoreError):
        store.load()


def test_a_folder_and_a_missing_folder(tmp_path: Path, run: Run) -> None:
    assert text_of(StoreError, Store(tmp_path).save, run) == (
        f"cannot keep results at {tmp_path}: it is a folder\n"
        "  cause: --store or TRNBENCH_STORE names a folder, not a file\n"
        f"  try:   --store {tmp_path / 'results.db'}"
    )
    path = tmp_path / "no" / "where" / "r.db"
    assert text_of(StoreError, Store(path).save, run) == (
        f"cannot keep results at {path}: the folder {path.parent} does not exist\n"
        "  cause: --store or TRNBENCH_STORE names a folder that is missing or misspelt\n"
        f"  try:   mkdir -p {path.parent}"
    )
    assert not path.parent.exists()


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
def test_a_read_only_store_is_read_and_not_written(store: Store, run: Run) -> None:
    store.save(run)
    store.close()
    store.path.chmod(stat.S_IRUSR)
    store.path.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert store.load() == run
        with pytest.raises(StoreError, match=r"cannot be written to|cannot open"):
            store.save(msgspec.structs.replace(run, id="second"))
    finally:
        store.path.parent.chmod(stat.S_IRWXU)


def test_a_store_on_a_read_only_database(store: Store, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
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
    script = textwrap.dedent(
        """
        import sys
        import tiny_machine as tiny
        from trnbench.run.execute import execute
        from trnbench.run.plan import plan
        from trnbench.store.store import Store
        registry = tiny.registry(*("half",) * 30)
        execute(plan(registry), registry.backends["emulated"], registry, store=Store(sys.argv[1]))
        """
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


# ---- where it is


def test_the_place_is_named_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert store_path() == tmp_path / "data" / "trnbench" / "results.db"
    monkeypatch.setenv("TRNBENCH_STORE", str(tmp_path / "env.db"))
    assert store_path() == tmp_path / "env.db"
    assert store_path("given.db") == Path("given.db")
    monkeypatch.delenv("TRNBENCH_STORE")
    monkeypatch.setenv("XDG_DATA_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_path() == tmp_path / ".local" / "share" / "trnbench" / "results.db"


def test_only_the_default_folder_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "fresh"))
    with Store() as store:
        store.save(run)
    assert (tmp_path / "fresh" / "trnbench" / "results.db").is_file()


def test_the_tables_have_a_history() -> None:
    text = Path(layout.__file__).read_text()
    assert f"{layout.STORE_VERSION} " in text.split("# History: ")[1].splitlines()[0]


def test_every_status_is_counted(store: Store, run: Run) -> None:
    store.save(run)
    assert set(store.list()[0].counts) == set(Status)
