"""The store: what goes in comes out, under which names, where it stands, and how small."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import textwrap
import zlib
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stored_run import text_of

from trnbench import Run, StoreError
from trnbench.errors import UnknownName, UsageError
from trnbench.store import layout
from trnbench.store.compression import QUICK, SMALL, compressed
from trnbench.store.path import check_named, default_path, store_path
from trnbench.store.store import Store
from trnbench.store.tag import checked_tags


def test_a_run_comes_out_as_it_went_in(store: Store, run: Run) -> None:
    store.save(run, tags=["nightly"])
    assert store.load(run.id) == run
    with Store(store.path) as again:
        assert again.load() == run


def test_order_of_everything_is_kept(store: Store, run: Run) -> None:
    shuffled = msgspec.structs.replace(
        run, measurements=run.measurements[::-1], books={"z": run.books["tiny"], "a": run.books["tiny"]}
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


# Runs are found by id, the beginning of one, tag and latest; what cannot be a tag is said.


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
        "  cause: known: 20270101-000000-cccc, 20260101-000000-bbbb, 20260101-000000-aaaa, weekly\n"
        "  try:   trnbench runs list"
    )


def test_a_glob_in_a_name_is_no_glob(store: Store, run: Run) -> None:
    store.save(run)
    for ref in ("%", "*", "_" * len(run.id)):
        with pytest.raises(UnknownName):
            store.load(ref)


def test_one_tag_is_one_word() -> None:
    assert checked_tags("nightly") == ("nightly",)


@pytest.mark.parametrize("tag", ["", " x", "x ", "a\nb", "\x1b", "latest", "x" * 101])
def test_tags_must_be_typeable(tag: str) -> None:
    assert text_of(UsageError, checked_tags, [tag]) == (
        f"{tag!r} cannot be a tag\n"
        "  cause: a tag is 1 to 100 printable characters, without blanks around it, and not "
        "'latest' or 'latest~1'\n"
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


# Where the store is, and what its tables hold.


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


def test_a_user_that_nobody_knows_is_a_folder_that_is_missing() -> None:
    given = store_path("~nobody-of-this-name/r.db")
    assert given == Path("~nobody-of-this-name/r.db")
    with pytest.raises(StoreError, match="the folder ~nobody-of-this-name does not exist"):
        check_named(given)


def test_without_a_home_it_says_where_to_keep_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("TRNBENCH_STORE", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert text_of(StoreError, store_path) == (
        "there is no place of one's own to keep results in\n"
        "  cause: neither XDG_DATA_HOME nor HOME names a folder, and the system does not know this user\n"
        "  try:   --store ./results.db  keeps them in the working folder"
    )


def test_only_the_default_folder_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "fresh"))
    with Store() as store:
        store.save(run)
    assert (tmp_path / "fresh" / "trnbench" / "results.db").is_file()


def test_the_tables_have_a_history() -> None:
    text = Path(layout.__file__).read_text()
    assert f"{layout.STORE_VERSION} " in text.split("# History: ")[1].splitlines()[0]


# Documents of every length come back, and a small window costs none of what zlib would find.


@pytest.mark.parametrize("level", [QUICK, SMALL])
@pytest.mark.parametrize("length", [0, 1, 249, 250, 3_834, 3_835, 40_000, 120_000])
def test_a_small_window_loses_nothing(length: int, level: int) -> None:
    drawn = random.Random(length)
    words = [bytes(drawn.choices(b"abcdef0123456789", k=9)) for _ in range(60)]
    document = b"".join(drawn.choice(words) for _ in range(length // 9 + 1))[:length]
    packed = compressed(document, level)
    assert zlib.decompress(packed) == document
    assert len(packed) <= 1.02 * len(zlib.compress(document, level)) + 16
