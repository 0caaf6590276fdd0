"""A journal keeps every whole record, whatever is cut off, changed or refused behind it."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
import zlib
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stored_run import text_of

from trnbench.errors import StoreError
from trnbench.store import journal as module
from trnbench.store.journal import (
    DAMAGED,
    LAST_WORDS,
    MAGIC,
    NEW,
    Journal,
    JournalFull,
    JournalInUse,
    is_in_use,
    journal_folder,
    read_chain,
    sweep,
)

Written = tuple[str, dict[str, object], bytes]

RECORDS: list[Written] = [
    ("begin", {"planned": 3}, zlib.compress(b"{}")),
    ("case", {"position": 0}, zlib.compress(b'{"a": "\n\\u0000 7 case"}')),
    ("case", {"position": 2}, b""),
    ("end", {}, zlib.compress(b"x" * 500)),
]


def written(path: Path, records: list[Written] = RECORDS) -> bytes:
    path.unlink(missing_ok=True)
    with Journal.create(path) as journal:
        for record in records:
            journal.append(*record)
    return path.read_bytes()


def filled(journal: Journal, records: list[Written]) -> tuple[list[Written], str]:
    """The records that found room, and what was said of the first that did not."""
    kept: list[Written] = []
    for record in records:
        try:
            journal.append(*record)
        except JournalFull as error:
            return kept, str(error)
        kept.append(record)
    return kept, ""


def told(data: bytes) -> list[Written]:
    return [(each.kind, each.meta, each.document) for each in read_chain(data).records]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return written(tmp_path_factory.mktemp("journals") / "run.journal")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "r.db.journals" / "run.journal"


@pytest.fixture
def kept(path: Path, data: bytes) -> Path:
    path.parent.mkdir()
    path.write_bytes(data)
    return path


def test_what_is_appended_comes_back(path: Path) -> None:
    data = written(path)
    assert told(data) == RECORDS
    chain = read_chain(data)
    assert (chain.end, chain.lost) == (len(data), 0)
    assert chain.records[1].inflated() == b'{"a": "\n\\u0000 7 case"}'


def test_it_is_its_owners_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        written(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_cut_off_at_every_byte_the_whole_records_stay(data: bytes) -> None:
    ends = [each.end for each in read_chain(data).records]
    for length in range(len(data) + 1):
        chain = read_chain(data[:length])
        assert [each.end for each in chain.records] == [end for end in ends if end <= length]
        assert chain.lost == len(data[chain.end : length].rstrip(b"\0"))  # zeros are reserved space


@given(cut=st.integers(0), tail=st.binary(max_size=300))
def test_a_torn_end_is_cut_and_written_over(path: Path, data: bytes, cut: int, tail: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    first = read_chain(data).records[0].end
    length = first + cut % (len(data) - first + 1)
    path.write_bytes(data[:length] + tail)
    kept = told(data[:length] + tail)
    assert kept == RECORDS[: len(kept)]
    journal, chain = Journal.reopen(path)
    with journal:
        assert [each.kind for each in chain.records] == [kind for kind, *_ in kept]
        journal.append("case", {"position": 1}, b"again")
    assert told(path.read_bytes()) == [*kept, ("case", {"position": 1}, b"again")]


@given(at=st.integers(0), bit=st.integers(0, 7))
def test_a_changed_bit_ends_the_chain_before_it(data: bytes, at: int, bit: int) -> None:
    changed = bytearray(data)
    at %= len(changed)
    changed[at] ^= 1 << bit
    chain = read_chain(bytes(changed))
    assert all(each.end <= at for each in chain.records)
    assert told(bytes(changed)) == RECORDS[: len(chain.records)]


def test_records_cannot_change_places(data: bytes) -> None:
    one, two, three, _ = (each.end for each in read_chain(data).records)
    assert told(data[:one] + data[two:three] + data[one:two] + data[three:]) == RECORDS[:1]


def test_damage_in_the_middle_is_put_aside_before_it_is_cut(kept: Path, data: bytes) -> None:
    changed = bytearray(data)
    changed[read_chain(data).records[1].end - 3] ^= 1
    kept.write_bytes(changed)
    journal, chain = Journal.reopen(kept)
    journal.close()
    assert len(chain.records) == 1
    assert kept.with_name(kept.name + DAMAGED).read_bytes() == changed
    assert told(kept.read_bytes()) == RECORDS[:1]


def test_a_torn_end_alone_is_not_put_aside(kept: Path, data: bytes) -> None:
    kept.write_bytes(data[:-4])
    Journal.reopen(kept)[0].close()
    assert [each.name for each in kept.parent.iterdir()] == [kept.name]


@pytest.mark.parametrize("content", [b"", b"dear diary", MAGIC, MAGIC + b"\0" * 5000])
def test_what_holds_no_record_is_left_as_it_is(kept: Path, content: bytes) -> None:
    kept.write_bytes(content)
    assert text_of(StoreError, Journal.reopen, kept) == (
        f"{kept} holds no run\n"
        "  cause: it was cut off before its first record was whole, or it is something else\n"
        "  try:   remove it, if it is not needed"
    )
    assert kept.read_bytes() == content


def test_space_is_reserved_ahead_and_given_back(path: Path) -> None:
    with Journal.create(path) as journal:
        journal.append(*RECORDS[0])
        assert path.stat().st_size > journal.end + LAST_WORDS
        assert told(path.read_bytes()) == RECORDS[:1]  # zeros are no record
        assert read_chain(path.read_bytes()).lost == 0
        end = journal.end
    assert path.stat().st_size == end


def test_without_reservation_it_works_as_well(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unable(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "posix_fallocate", unable)
    assert told(written(path)) == RECORDS


class Disk:
    """Has room up to a byte of the file, as `posix_fallocate` and `pwrite` meet it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int, *, reserves: bool) -> None:
        self.room, self._pwrite = room, os.pwrite
        monkeypatch.setattr(os, "pwrite", self.pwrite)
        monkeypatch.setattr(os, "posix_fallocate", self.fallocate if reserves else self.unable)

    def fallocate(self, descriptor: int, start: int, length: int) -> None:
        if start + length > self.room:
            raise OSError(errno.ENOSPC, "No space left on device")

    def unable(self, *_: object) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    def pwrite(self, descriptor: int, data: bytes, at: int) -> int:
        if at >= self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._pwrite(descriptor, data[: self.room - at], at)


def test_a_full_disk_takes_whole_records_and_the_last_words(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal.create(path) as journal:
        disk = Disk(monkeypatch, LAST_WORDS + 4000, reserves=True)
        journal._reserved = 0
        kept, refusal = filled(journal, [("case", {"position": 7}, b"x" * 100)] * 1000)
        assert refusal == (
            f"the journal {path} cannot grow: No space left on device\n"
            "  cause: the disk is full, or a limit on the size of files or on this user's share is reached\n"
            "  try:   make room there, or name a store on another disk with --store"
        )
        assert len(kept) > 10
        journal.append("end", {}, b"y" * 4000, last=True)
        assert journal.end < disk.room
    assert [each.kind for each in read_chain(path.read_bytes()).records] == ["case"] * len(kept) + ["end"]


@given(room=st.integers(len(MAGIC) + 1, 2000))
def test_nothing_of_a_record_that_does_not_fit_stays(path: Path, room: int) -> None:
    path.unlink(missing_ok=True)
    with pytest.MonkeyPatch.context() as monkeypatch, Journal.create(path) as journal:
        Disk(monkeypatch, room, reserves=False)
        kept, refusal = filled(journal, RECORDS * 9)
        assert "No space left on device" in refusal
        assert told(path.read_bytes()) == kept
        monkeypatch.undo()
        journal.append(*RECORDS[3])
    assert told(path.read_bytes()) == [*kept, RECORDS[3]]


def test_an_interrupted_record_is_written_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.pwrite

    def interrupted(descriptor: int, data: bytes, at: int) -> int:
        write(descriptor, data[:40], at)
        raise KeyboardInterrupt

    with Journal.create(path) as journal:
        journal.append(*RECORDS[0])
        monkeypatch.setattr(os, "pwrite", interrupted)
        with pytest.raises(KeyboardInterrupt):
            journal.append(*RECORDS[1])
        monkeypatch.setattr(os, "pwrite", write)
        journal.append(*RECORDS[2])
    assert told(path.read_bytes()) == [RECORDS[0], RECORDS[2]]


def test_one_process_writes_at_a_time(path: Path) -> None:
    with Journal.create(path) as journal:
        journal.append(*RECORDS[0])
        assert is_in_use(path)
        assert text_of(JournalInUse, Journal.reopen, path) == (
            f"{path} is being written\n"
            "  cause: another trnbench is carrying out this run\n"
            "  try:   wait for it to end"
        )
    assert not is_in_use(path)
    Journal.reopen(path)[0].close()


def test_where_files_cannot_be_locked_a_journal_is_not_in_use(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(path)
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError(errno.ENOLCK, "no locks available")))
    assert not is_in_use(path)


def test_a_folder_that_takes_no_journal_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    path = tmp_path / "taken" / "run.journal"
    assert text_of(StoreError, Journal.create, path) == (
        f"cannot keep a journal at {path}: File exists\n"
        "  cause: the folder beside the store is full, missing or closed to this user\n"
        "  try:   name a store in another folder with --store"
    )


def test_a_full_disk_is_met_when_it_is_created(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Disk(monkeypatch, 10, reserves=True)
    with pytest.raises(StoreError, match="No space left on device"):
        Journal.create(path)
    assert not path.exists()


def test_the_format_is_told_where_it_is_read() -> None:
    assert MAGIC.decode().strip() in module.__doc__


def test_what_never_came_to_a_case_is_swept_up_after_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    store = tmp_path / "r.db"
    folder = journal_folder(store)
    folder.mkdir()
    for name, age in (("young", 59.0), ("old", 61.0), ("held", 3600.0)):
        left = folder / (name + NEW)
        left.touch()
        os.utime(left, (now - age, now - age))
    (folder / "old.journal").touch()
    os.utime(folder / "old.journal", (0, 0))
    with Journal.create(folder / "writing"):
        (folder / "writing").rename(folder / ("held" + NEW))
        os.utime(folder / ("held" + NEW), (now - 3600, now - 3600))
        sweep(store)
    assert sorted(each.name for each in folder.iterdir()) == ["held.new", "old.journal", "young.new"]
