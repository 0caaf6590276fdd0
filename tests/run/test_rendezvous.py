"""Who may speak to rank 0: nobody is heard without the key, nothing is kept before its length is known."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stored_run import text_of

from trnbench.errors import UsageError
from trnbench.run.executor import CutShort, Rank
from trnbench.run.ranks import connection, rendezvous
from trnbench.run.ranks.connection import (
    MAGIC,
    MOST,
    NONCE,
    PROOF,
    Gone,
    Late,
    Line,
    Place,
    admit,
    find,
    place_of,
    present,
    publish,
)
from trnbench.run.ranks.rendezvous import Door

KEY = "0123456789abcdef" * 4
SEVERAL = Rank(launcher="torchrun", rank=1, size=2, together=False)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = _tcp_pair()
    with one, other:
        yield one, other


def _tcp_pair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        return one, server.accept()[0]


def greeted(
    ends: tuple[socket.socket, socket.socket], first: str, other: str, rank: int = 1
) -> tuple[Any, Any]:
    """What both sides make of it: the answer, or the exception's type."""
    found: list[Any] = [None, None]

    def of(place: int, greet: Any, *words: Any) -> None:
        try:
            found[place] = greet(ends[place], *words)
        except (Gone, Late) as error:
            found[place] = type(error)
            ends[place].close()

    threads = [
        threading.Thread(target=of, args=(0, admit, first)),
        threading.Thread(target=of, args=(1, present, other, rank)),
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return found[0], found[1]


def test_two_that_hold_the_key_agree_on_a_key_of_their_own(ends: Any) -> None:
    (rank, ours), theirs = greeted(ends, KEY, KEY, rank=3)
    assert (rank, len(ours)) == (3, 32)
    assert ours == theirs != KEY.encode()


def test_another_key_is_a_stranger_on_both_sides(ends: Any) -> None:
    assert greeted(ends, KEY, KEY[:-1] + "0") == (Gone, Gone)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n" * 10,
        MAGIC + bytes(4 + NONCE + PROOF),
        b"\x80\x04cos\nsystem\n(S'touch pwned'\ntR." + bytes(200),
        b"[" * 500,
    ],
    ids=("nothing", "a browser", "the form without the key", "a pickle", "brackets"),
)
def test_what_a_stranger_says_is_never_parsed(
    ends: Any, said: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("trnbench.run.ranks.connection.parse_json", lambda *_, **__: pytest.fail("parsed"))
    ends[1].sendall(said)
    ends[1].shutdown(socket.SHUT_WR)
    with pytest.raises(Gone):
        admit(ends[0], KEY)
    assert list(tmp_path.iterdir()) == []


def test_an_answer_heard_before_opens_no_other_door(ends: Any) -> None:
    greeted(ends, KEY, KEY)
    kept = MAGIC + struct.pack("!I", 1) + bytes(NONCE) + bytes(PROOF)
    again = _tcp_pair()
    with again[0], again[1]:
        again[1].sendall(kept)
        with pytest.raises(Gone):
            admit(again[0], KEY)


def test_who_says_nothing_is_not_waited_for(ends: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "GREETING_S", 0.05)
    with pytest.raises(Late):
        admit(ends[0], KEY)
    with pytest.raises(Late):
        present(ends[1], KEY, 1)


def test_messages_go_both_ways_and_only_as_they_were_sent(ends: Any) -> None:
    first, other = Line(ends[0], b"k" * 32, first=True), Line(ends[1], b"k" * 32, first=False)
    first.send(case=3)
    other.send(text="é" * 70_000)
    assert other.hear(time.monotonic() + 5) == {"case": 3}
    assert first.hear(time.monotonic() + 5) == {"text": "é" * 70_000}


@pytest.mark.parametrize("change", ["text", "proof", "again", "mine", "no object", "deep"])
def test_a_message_that_is_not_as_it_was_sent_ends_the_line(ends: Any, change: str) -> None:
    first, other = Line(ends[0], b"k" * 32, first=True), Line(ends[1], b"k" * 32, first=False)
    text = {"no object": b"[1]", "deep": b'{"a":' + b"[" * 100 + b"]" * 100 + b"}"}.get(
        change, b'{"case": 3}'
    )
    proof = first._proof(b"up" if change == "mine" else b"down", 0, text)
    sent = bytearray(struct.pack("!Q", len(text)) + proof + text)
    if change in ("text", "proof"):
        sent[-1 if change == "text" else 12] ^= 1
    ends[0].sendall(bytes(sent) * (2 if change == "again" else 1))
    if change == "again":
        assert other.hear(time.monotonic() + 5) == {"case": 3}
    with pytest.raises(Gone):
        other.hear(time.monotonic() + 5)


@pytest.mark.parametrize("length", [MOST + 1, 2**63, 2**64 - 1])
def test_a_length_is_looked_at_before_anything_is_kept(ends: Any, length: int) -> None:
    line = Line(ends[0], b"k" * 32, first=True)
    ends[1].sendall(struct.pack("!Q", length) + bytes(32) + b"x" * 1000)
    with pytest.raises(Gone):
        line.hear(time.monotonic() + 5)
    assert len(line._rest) == 40


def test_ranks_of_one_machine_are_listened_for_on_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    door = Door(Place(file=tmp_path / "a.rendezvous"))
    try:
        assert door._server.getsockname()[0] == "127.0.0.1"
    finally:
        door.close()


@pytest.mark.parametrize(
    ("resolved", "host", "address"),
    [
        (["127.0.0.1"], "127.0.0.1", "127.0.0.1"),
        (["127.0.0.1"], "localhost", "127.0.0.1"),
        (["127.0.1.1"], "trn7", "0.0.0.0"),  # Debian's own name of a machine, which no other can use
        (["127.0.0.2"], "127.0.0.2", "127.0.0.2"),
        (["203.0.113.9"], "trn7", "0.0.0.0"),  # a machine behind another address
        ([], "trn7", "0.0.0.0"),
    ],
)
def test_an_address_of_this_machine_is_listened_on_alone(
    resolved: list[str], host: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolve(name: str, *_: Any, **__: Any) -> list[Any]:
        if not resolved:
            raise socket.gaierror
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 0)) for each in resolved]

    monkeypatch.setattr(rendezvous.socket, "getaddrinfo", resolve)
    door = Door(Place(host=host, port=0, key=KEY))
    try:
        assert door._server.getsockname()[0] == address
    finally:
        door.close()


def test_strangers_hold_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    place = Place(file=tmp_path / "a.rendezvous")
    two = Rank(launcher="mpirun", rank=0, size=2, together=True)
    own = {"trnbench": "1", "backend": "b", "instance": "i", "cases": "c", "settings": "s"}
    met: dict[int, Any] = {}

    def first() -> None:
        met.update(rendezvous.gather(two, place, own, contextlib.nullcontext))

    thread = threading.Thread(target=first)
    thread.start()
    told = find(place, time.monotonic() + 10)
    assert len(told.key) == 64
    assert place.file.stat().st_mode & 0o777 == 0o600
    with contextlib.ExitStack() as stack:
        for number in range(20):
            silent = stack.enter_context(socket.create_connection((told.host, told.port)))
            if number % 2:
                silent.sendall(os.urandom(10_000))
        other = Rank(launcher="mpirun", rank=1, size=2, together=True)
        line = rendezvous.join(other, place, own)
        thread.join(30)
    assert met[1][1] == own
    met[1][0].send(end=0)
    assert line.hear(time.monotonic() + 5) == {"end": 0}
    met[1][0].close()
    line.close()
    assert not place.file.exists()


@pytest.mark.parametrize(
    ("variables", "lacks"),
    [({}, "is not set"), ({"TRNBENCH_RENDEZVOUS_KEY": "secret"}, "has 6 characters, 32 are needed")],
)
@pytest.mark.parametrize(
    "where", [{"MASTER_ADDR": "trn7", "MASTER_PORT": "29500"}, {"TRNBENCH_RENDEZVOUS": "10.0.0.4:29400"}]
)
def test_an_address_that_others_can_reach_takes_a_key(
    where: dict[str, str], variables: dict[str, str], lacks: str
) -> None:
    assert text_of(UsageError, place_of, SEVERAL, {**where, **variables}) == (
        "2 ranks of torchrun on several machines hold no key\n"
        f"  cause: TRNBENCH_RENDEZVOUS_KEY {lacks}: whoever reaches rank 0 could send results\n"
        "  try:   export TRNBENCH_RENDEZVOUS_KEY=$(openssl rand -hex 32), the same on every machine "
        "(mpirun -x TRNBENCH_RENDEZVOUS_KEY); or TRNBENCH_RENDEZVOUS=/a/folder/all/ranks/share"
    )


@pytest.mark.parametrize(
    "content", ["", "[]", '{"host": "h"}', '{"host": "h", "port": 0, "key": "k"}', "[" * 999]
)
def test_a_file_that_says_nothing_is_no_place(tmp_path: Path, content: str) -> None:
    place = Place(file=tmp_path / "a.rendezvous")
    place.file.write_text(content)
    assert find(place, time.monotonic() + 0.06) is None


def test_a_link_or_a_pipe_in_the_folder_of_everybody_is_no_place(tmp_path: Path) -> None:
    told = tmp_path / "told"
    told.write_text(json.dumps({"host": "h", "port": 1, "key": "k"}))
    assert find(Place(file=told), time.monotonic() + 5) == Place(file=told, host="h", port=1, key="k")
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(told)
    os.mkfifo(pipe)
    for each in (link, pipe):
        assert find(Place(file=each), time.monotonic() + 0.06) is None


def test_a_published_key_is_drawn_anew_each_time(tmp_path: Path) -> None:
    place = Place(file=tmp_path / "a.rendezvous")
    assert publish(place, 1).key != publish(place, 1).key


def test_all_ranks_that_did_not_come_are_named() -> None:
    first = Rank(launcher="torchrun", rank=0, size=4, together=True)
    told = text_of(CutShort, rendezvous._complete, first, {2: None})
    assert told.startswith("ranks 1, 3 of 4 did not come within ")
