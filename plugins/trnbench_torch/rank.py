"""One of the other ranks, in a process of its own: does what rank 0 says, says when it is done.

`python -m trnbench_torch.rank RANK TASK`; TASK is JSON. Its stdout is for answers alone.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from enum import Enum
from functools import cache
from typing import IO

import msgspec

from trnbench_torch.collective_data import Task

ORDER = struct.Struct("<cQ")
ANSWER = struct.Struct("<cdI")


class Order(bytes, Enum):
    """What the process that measures asks of a rank's process."""

    RUN = b"r"  # so many calls
    NEXT_TO_NOTHING = b"n"  # so many calls on as little as there can be
    NOTHING = b"0"  # answer
    READY = b"f"  # fill the buffers
    CHECK = b"c"  # say what is wrong with the result
    SIZE = b"s"  # take buffers of this size
    END = b"q"


class Answer(bytes, Enum):
    """What a rank's process says of an order."""

    DONE = b"k"
    FAILED = b"e"


def send_order(pipe: IO[bytes], order: Order, count: int = 1) -> None:
    """`count` is how many calls, or the bytes of a SIZE."""
    pipe.write(ORDER.pack(order.value, count))
    pipe.flush()


def read_order(pipe: IO[bytes]) -> tuple[Order, int]:
    """END where the other side is gone."""
    raw = pipe.read(ORDER.size)
    if len(raw) < ORDER.size:
        return Order.END, 0
    word, count = ORDER.unpack(raw)
    return Order(word), count


def send_answer(pipe: IO[bytes], answer: Answer, seconds: float = 0.0, text: str = "") -> None:
    """`seconds` the order took; `text` is what went wrong."""
    body = text.encode()
    pipe.write(ANSWER.pack(answer.value, seconds, len(body)) + body)
    pipe.flush()


def read_answer(pipe: IO[bytes]) -> tuple[Answer, float, str] | None:
    """None where the other side is gone."""
    raw = pipe.read(ANSWER.size)
    if len(raw) < ANSWER.size:
        return None
    word, seconds, length = ANSWER.unpack(raw)
    return Answer(word), seconds, pipe.read(length).decode(errors="replace")


LEAST = 256
"""Bytes that count as next to nothing: every rank still has an element of its own."""


def main() -> None:
    rank, task = int(sys.argv[1]), msgspec.json.decode(sys.argv[2].encode(), type=Task)
    _end_with_parent()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not end up between the answers
    from trnbench_torch.collective_part import Part, join

    join(task, rank)
    part = cache(lambda size: Part(task, rank, size))
    current = part(task.size)
    send_answer(answers, Answer.DONE)
    while True:
        order, count = read_order(sys.stdin.buffer)
        if order is Order.END:
            answers.close()
            os._exit(0)  # torch takes its time to tidy up, and nothing of it is needed any more
        start, text = time.perf_counter(), ""
        try:
            if order is Order.SIZE:
                current = part(count)
            elif order is Order.NEXT_TO_NOTHING:
                tiny = part(LEAST)
                for _ in range(count):
                    tiny.call()
            elif order is Order.RUN:
                for _ in range(count):
                    current.call()
            elif order is Order.READY:
                current.ready()
            elif order is Order.CHECK:
                text = current.check()
        except Exception as error:
            send_answer(answers, Answer.FAILED, 0.0, f"{type(error).__name__}: {error}")
            return
        send_answer(answers, Answer.DONE, time.perf_counter() - start, text)


def _end_with_parent() -> None:
    """The kernel ends this process when the one that started it is gone, even inside a collective."""
    import contextlib
    import ctypes
    import signal

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


if __name__ == "__main__":
    main()
