"""A warm process: each piece of work in a process of its own, and what one does harms no other."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from killed import alive

from trnbench.isolation.warm import Ending, Warm

MEMORY = 1 << 30
LOADED: list[int] = []


def _work(question: bytes) -> bytes:
    word, _, rest = question.decode().partition(" ")
    return WORK[word](rest)


def _leave(_: str) -> bytes:
    pid = os.fork()
    if pid == 0:
        os.setsid()
        time.sleep(1000)
    return str(pid).encode()


def _deaf(_: str) -> bytes:
    while True:
        with suppress(BaseException):
            time.sleep(1000)


WORK: dict[str, Callable[[str], bytes]] = {
    "echo": str.encode,
    "group": lambda _: f"{os.getpid()} {os.getpgid(0)} {os.getsid(0)} {len(LOADED)}".encode(),
    "exit": lambda code: os._exit(int(code)),
    "kill": lambda number: os.kill(os.getpid(), int(number)) or b"",  # type: ignore[func-returns-value]
    "parent": lambda number: os.kill(os.getppid(), int(number)) or bytes(time.sleep(60) or 0),  # type: ignore[func-returns-value]
    "raise": lambda _: bytes(1 // 0),
    "memory": lambda size: bytes(bytearray(int(size))[:1]),
    "leave": _leave,
    "deaf": _deaf,
    "mark": lambda _: LOADED.append(2) or b"marked",  # type: ignore[func-returns-value]
    "large": lambda size: b"x" * int(size),
    "descriptors": lambda _: " ".join(sorted(os.listdir("/proc/self/fd"))).encode(),
}


@pytest.fixture
def warm() -> Iterator[Warm]:
    process = Warm(_work, lambda: LOADED.append(1))
    yield process
    process.close()


def test_a_piece_has_a_process_group_and_what_was_prepared(warm: Warm) -> None:
    assert warm.ask(b"echo hello", 30.0, MEMORY) == Ending(b"hello")
    pid, group, session, loaded = map(int, warm.ask(b"group", 30.0, MEMORY).result.split())
    assert pid == group == session != os.getpid()
    assert loaded == 1
    assert LOADED == []
    assert warm.starts == 1


def test_a_piece_sees_nothing_of_another(warm: Warm) -> None:
    assert warm.ask(b"mark", 30.0, MEMORY).result == b"marked"
    assert warm.ask(b"group", 30.0, MEMORY).result.split()[-1] == b"1"
    # Its own result, and the folder that is read; standard streams lead nowhere.
    assert len(warm.ask(b"descriptors", 30.0, MEMORY).result.split()) == 5


@pytest.mark.parametrize(
    ("question", "how"),
    [
        (b"exit 0", "ended itself with exit code 0"),
        (b"exit 7", "ended itself with exit code 7"),
        (b"raise", "ended itself with exit code 1"),
        (b"kill 9", "was killed by SIGKILL"),
        (b"kill 15", "was killed by SIGTERM"),
        (b"parent 9", "ended the process that started it"),
    ],
)
def test_an_end_without_a_result_is_told(warm: Warm, question: bytes, how: str) -> None:
    assert warm.ask(question, 30.0, MEMORY) == Ending(lost=how)
    assert warm.ask(b"echo next", 30.0, MEMORY).result == b"next"


def test_a_start_is_no_time_of_the_first_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trnbench.isolation.warm.GRACE_S", 0.0)
    slow = Warm(_work, lambda: time.sleep(4.0))
    try:
        assert slow.ask(b"echo a", 3.5, MEMORY).result == b"a"
    finally:
        slow.close()


def test_limits_of_time_and_memory(warm: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trnbench.isolation.warm.GRACE_S", 60.0)
    assert warm.ask(b"deaf", 0.5, MEMORY) == Ending(late=True)
    assert warm.ask(b"kill 19", 0.5, MEMORY) == Ending(late=True)  # SIGSTOP
    monkeypatch.setattr("trnbench.isolation.warm.GRACE_S", 1.0)
    assert warm.ask(b"parent 19", 0.5, MEMORY) == Ending(late=True)
    assert warm.starts == 1
    assert warm.ask(f"memory {1 << 28}".encode(), 30.0, 1 << 29).result == b"\0"
    assert warm.ask(f"memory {1 << 28}".encode(), 30.0, 1 << 26).lost
    assert warm.starts == 2


def test_a_large_result_comes_whole(warm: Warm) -> None:
    assert len(warm.ask(b"large 5000000", 30.0, MEMORY).result) == 5_000_000


def test_what_a_piece_leaves_behind_ends_with_it(warm: Warm) -> None:
    pid = int(warm.ask(b"leave", 30.0, MEMORY).result)
    assert warm.ask(b"echo a", 30.0, MEMORY).result == b"a"
    assert not alive(pid)


def test_closing_ends_the_warm_process(warm: Warm) -> None:
    warm.ask(b"echo a", 30.0, MEMORY)
    process = warm._server[0]
    warm.close()
    assert not alive(process)
    assert warm.ask(b"echo b", 30.0, MEMORY).result == b"b"
    assert warm.starts == 2
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
