"""What was computed is found again, and nothing depends on it."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import zlib
from pathlib import Path

import pytest
from cache_filler import fill
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_run import edited

from trnbench.digest import blake2b, digest_of
from trnbench.store.cache import GROWS, SUFFIX, Cache
from trnbench.store.compression import compressed


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "results.db"


def test_what_was_put_is_found_by_another(store: Path) -> None:
    first = Cache(store)
    first.put(b"key", b"content")
    first.close()
    second = Cache(store)
    assert second.path == store.with_name("results.db" + SUFFIX)
    assert (second.get(b"key"), second.get(b"other")) == (b"content", None)
    second.put(b"key", b"newer")
    assert second.get(b"key") == b"newer"
    second.close()


def test_what_resembles_an_example_takes_little_room(store: Path) -> None:
    example = b" ".join(blake2b(bytes([number])).hexdigest().encode() for number in range(20))
    contents = {bytes([number]): example + bytes([number]) for number in range(50)}
    cache, other = Cache(store), Cache(store)
    assert cache.put_first(b"example", example) == example
    assert other.put_first(b"example", b"later") == example
    cache.put_all(contents, example)
    assert {key: other.get(key, example) for key in contents} == contents
    assert other.info().bytes < 50 * len(example) / 10
    # The example is lost, or another one: what was put with it counts as missing, until it is put again.
    assert (other.get(b"\0"), other.get(b"\0", b"another")) == (None, None)
    other.put(b"\0", b"content")
    assert cache.get(b"\0", example) == b"content"


@given(document=st.binary(max_size=3000), example=st.binary(min_size=1, max_size=70_000))
def test_a_document_comes_back_with_its_example(document: bytes, example: bytes) -> None:
    unpacker = zlib.decompressobj(zdict=example)
    assert unpacker.decompress(compressed(document, example=example)) == document
    assert unpacker.eof


def test_many_that_are_asked_for_see_the_file_as_it_was(store: Path) -> None:
    cache, other = Cache(store), Cache(store)
    with cache.reading():
        assert cache.get(b"one") is None
    assert list(store.parent.iterdir()) == []
    other.put_all({b"one": b"1", b"two": b"2"})
    with cache.reading():
        assert cache.get(b"one") == b"1"
        other.put(b"one", b"newer")
        assert (cache.get(b"one"), cache.get(b"two")) == (b"1", b"2")
    assert cache.get(b"one") == b"newer"
    cache.put(b"one", b"newest")
    assert other.get(b"one") == b"newest"


def test_the_file_is_nobody_elses(store: Path) -> None:
    before = os.umask(0)
    try:
        Cache(store).put(b"key", b"content")
    finally:
        os.umask(before)
    assert store.with_name("results.db" + SUFFIX).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("at", [0, 20, 100, 4096 + 50])
def test_a_damaged_file_is_begun_anew(store: Path, at: int) -> None:
    cache = Cache(store)
    for number in range(200):
        cache.put(bytes([number]), os.urandom(200))
    cache.close()
    with cache.path.open("r+b") as file:
        file.seek(at)
        file.write(os.urandom(3000))
    after = Cache(store)
    for number in range(200):
        after.get(bytes([number]))  # whole or none, and never an error
    after.put(b"new", b"content")
    after.put(b"new", b"content")  # the first found the damage
    again = Cache(store)
    assert again.get(b"new") == b"content"
    again.close()


@pytest.mark.parametrize(
    ("statement", "key"),
    [
        ("UPDATE entries SET content = x'00010203'", b"key"),
        ("UPDATE entries SET mark = x'00010203'", b"key"),
        ("UPDATE entries SET key = x'6f74686572'", b"other"),
        ("PRAGMA user_version = 99", b"key"),  # another layout
    ],
)
def test_a_changed_entry_is_none(store: Path, statement: str, key: bytes) -> None:
    cache = Cache(store)
    cache.put(b"key", b"content")
    cache.close()
    edited(cache.path, statement)
    after = Cache(store)
    assert after.get(key) is None
    after.put(key, b"content")
    assert after.get(key) == b"content"
    after.close()


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "missing" / "results.db")
    cache.put(b"key", b"content")
    assert cache.get(b"key") is None
    assert cache.info().problem == "No such file or directory"


LIMIT = 64_000


def carried_out(store: Path, names: range) -> int:
    """A run of cases that answer with 1,000 bytes each; how many it found."""
    cache = Cache(store, limit_bytes=LIMIT)
    with cache.reading():
        missing = [name for name in names if cache.get(digest_of(str(name))) is None]
    worker = pickle.loads(pickle.dumps(cache))
    for name in missing:
        worker.put(digest_of(str(name)), os.urandom(1000))
    worker.close()
    cache.trim()
    cache.close()
    return len(names) - len(missing)


def test_it_grows_to_the_run_that_fills_it(store: Path) -> None:
    assert [carried_out(store, range(200)) for _ in range(2)] == [0, 200]
    assert Cache(store, limit_bytes=LIMIT).info().bytes > 3 * LIMIT
    assert carried_out(store, range(100, 250)) == 100
    assert [carried_out(store, range(100, 250)) for _ in range(2)] == [150, 150]
    assert carried_out(store, range(10)) < 10  # went for those of the run before


def test_a_run_that_uses_little_brings_it_within_its_limit_and_the_oldest_go(store: Path) -> None:
    carried_out(store, range(200))
    carried_out(store, range(199, 210))
    assert 0 < Cache(store, limit_bytes=LIMIT).info().bytes <= LIMIT
    assert carried_out(store, range(199, 210)) == 11
    assert carried_out(store, range(20)) == 0


def test_of_a_run_that_is_too_large_as_many_are_found_as_fit(store: Path) -> None:
    carried_out(store, range(400))
    found = carried_out(store, range(400))
    assert GROWS * LIMIT / 1100 < found < 400
    assert Cache(store, limit_bytes=LIMIT).info().bytes < (GROWS + 1) * LIMIT
    assert found <= carried_out(store, range(400))


def test_clearing_forgets_everything_and_says_how_much(store: Path) -> None:
    cache = Cache(store)
    cache.put(b"key", b"content")
    held = cache.clear()
    assert held.entries == 1
    assert held.bytes > 0
    assert not cache.path.exists()
    assert cache.get(b"key") is None
    assert list(store.parent.iterdir()) == []


def test_it_is_sent_to_another_process_without_its_file_open(store: Path) -> None:
    cache = Cache(store, limit_bytes=12345)
    cache.put(b"key", b"content")
    other = pickle.loads(pickle.dumps(cache))
    assert (other.path, other.limit_bytes, other.get(b"key")) == (cache.path, 12345, b"content")
    cache.close()
    other.close()


def test_processes_share_it(store: Path) -> None:
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=fill, args=(store, own)) for own in range(2)]
    for other in others:
        other.start()
    for other in others:
        other.join(120)
    assert [other.exitcode for other in others] == [0, 0]
    cache = Cache(store)
    for own in range(2):
        for number in range(100):
            assert cache.get(f"{own}:{number}".encode()) == f"{own}:{number}".encode() * 50
    cache.close()


@settings(max_examples=30)
@given(parts=st.lists(st.binary(max_size=6), max_size=4), others=st.lists(st.binary(max_size=6), max_size=4))
def test_parts_cannot_be_mistaken_for_others(parts: list[bytes], others: list[bytes]) -> None:
    assert (digest_of(*parts) == digest_of(*others)) == (parts == others)
