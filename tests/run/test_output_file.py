"""Files for people: written whole, or into pipes and devices; what a killed process left is swept up."""

from __future__ import annotations

import fcntl
import os
import stat
import threading
from pathlib import Path

import pytest
from stored_run import text_of

from trnbench.errors import UsageError
from trnbench.run.output_file import PART, check_writable, write_whole


def test_a_pipe_gets_all_of_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    check_writable(pipe)
    write_whole(pipe, b"x" * 300_000)
    reader.join(60)
    assert read == [b"x" * 300_000]
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]


def test_a_reader_that_goes_away_is_named(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def leave() -> None:
        with pipe.open("rb") as stream:
            stream.read(10)

    reader = threading.Thread(target=leave)
    reader.start()
    try:
        assert text_of(UsageError, write_whole, pipe, b"x" * 30_000_000) == (
            f"cannot write {pipe}: its reader went away\n"
            "  cause: the program at the other end of the pipe ended before it had read everything\n"
            "  try:   name a file with -o"
        )
    finally:
        reader.join(60)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_device_that_takes_no_more_says_so() -> None:
    path = Path("/dev/full")
    check_writable(path)
    assert text_of(UsageError, write_whole, path, b"x") == (
        "cannot write /dev/full: No space left on device\n"
        "  cause: it is no file, and what is behind it takes no more\n"
        "  try:   name a file with -o"
    )


def test_a_device_is_written_to() -> None:
    check_writable(Path("/dev/null"))
    write_whole(Path("/dev/null"), b"x")
    assert Path("/dev/null").is_char_device()


def test_an_open_file_by_its_number_is_added_to(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("ab") as stream:
        stream.write(b"before ")
        stream.flush()
        write_whole(Path(f"/dev/fd/{stream.fileno()}"), b"page")
    assert path.read_bytes() == b"before page"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_pipe_that_is_closed_to_this_user_is_refused_before_the_work(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o400)
    assert text_of(UsageError, check_writable, pipe).startswith(f"cannot write {pipe}: permission denied")


def left(tmp_path: Path, name: str, *, age_s: float = 100.0) -> Path:
    path = tmp_path / f".{name}.abcdefgh{PART}"
    path.write_bytes(b"half")
    then = path.stat().st_mtime - age_s
    os.utime(path, (then, then))
    return path


def test_what_a_killed_process_left_is_swept_up(tmp_path: Path) -> None:
    ours, others = left(tmp_path, "r.html"), left(tmp_path, "other.html")
    check_writable(tmp_path / "r.html")
    assert not ours.exists()
    assert others.exists()


def test_what_is_being_written_is_left_alone(tmp_path: Path) -> None:
    young, locked = left(tmp_path, "r.html", age_s=0.0), tmp_path / f".r.html.locked{PART}"
    locked.write_bytes(b"half")
    os.utime(locked, (0, 0))
    os.utime(young, (young.stat().st_mtime + 3600, young.stat().st_mtime + 3600))
    with locked.open("rb") as stream:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX)
        check_writable(tmp_path / "r.html")
    assert young.exists()
    assert locked.exists()


def test_an_interruption_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "r.html"
    write_whole(path, b"old")
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"new")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("r.html", b"old")]


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.html"
    write_whole(path, b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert text_of(UsageError, write_whole, path, b"new") == (
        f"cannot write {path}: No space left on device\n"
        "  cause: the disk is full, or the folder went away or became read-only\n"
        "  try:   name a file elsewhere with -o"
    )
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    path, plain = tmp_path / "r.html", tmp_path / "plain"
    plain.touch()
    write_whole(path, b"x")
    assert path.stat().st_mode == plain.stat().st_mode
    path.chmod(0o600)
    write_whole(path, b"y")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_links_that_lead_back_and_folders_with_spaces_are_named(tmp_path: Path) -> None:
    loop, missing = tmp_path / "loop", tmp_path / "no folder" / "r.html"
    loop.symlink_to(loop)
    assert text_of(UsageError, check_writable, loop) == (
        f"cannot write {loop}: it is a link that leads back to itself\n"
        "  cause: links that name each other lead to no file\n"
        f"  try:   rm {loop}, or name another file with -o"
    )
    assert text_of(UsageError, check_writable, missing).endswith(f"  try:   mkdir -p '{missing.parent}'")


def test_links_stay_links(tmp_path: Path) -> None:
    target, link = tmp_path / "target.html", tmp_path / "link.html"
    target.write_bytes(b"")
    link.symlink_to(target)
    write_whole(link, b"x")
    assert link.is_symlink()
    assert target.read_bytes() == b"x"


@pytest.mark.parametrize(
    ("content", "replaceable"),
    [
        (b"", True),
        (b"<!DOCTYPE html><meta name=generator content=trnbench>", True),
        (b"\n<!doctype html><p>somebody else's page", False),
        (b"trnbench is mentioned in my notes", False),
        (b"<!doctype html>" + b" " * 5000 + b"trnbench", False),
    ],
)
def test_only_our_own_reports_are_replaced(content: bytes, replaceable: bool, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    path.write_bytes(content)
    if replaceable:
        check_writable(path)
    else:
        with pytest.raises(UsageError, match=r"exists and is no report of trnbench"):
            check_writable(path)
        check_writable(path, force=True)
