"""What rank 0 tells the other ranks, and what they answer: bytes over pipes."""

from __future__ import annotations

import struct
from enum import Enum
from typing import IO

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
