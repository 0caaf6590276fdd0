"""One of the other ranks, in a process of its own: does what rank 0 says, says when it is done.

`python -m trnbench_torch.rank RANK TASK`; TASK is JSON. Its stdout is for answers alone.
"""

from __future__ import annotations

import os
import sys
import time
from functools import cache

import msgspec

from trnbench_torch.collective_data import Task
from trnbench_torch.orders import Answer, Order, read_order, send_answer

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
        begun, text = time.perf_counter(), ""
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
        send_answer(answers, Answer.DONE, time.perf_counter() - begun, text)


def _end_with_parent() -> None:
    """The kernel ends this process when the one that started it is gone, even inside a collective."""
    import contextlib
    import ctypes
    import signal

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


if __name__ == "__main__":
    main()
