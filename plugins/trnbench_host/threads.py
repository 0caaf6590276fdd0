"""Threads: how many a library may use, which processor each one runs on, and a crew that works at once."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from trnbench import Record
from trnbench_host.cpu import SYS, text_of

VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS")

# (set, get) as the libraries export them: the ones inside NumPy's wheels first.
_FUNCTIONS = (
    ("scipy_openblas_set_num_threads64_", "scipy_openblas_get_num_threads64_"),
    ("scipy_openblas_set_num_threads", "scipy_openblas_get_num_threads"),
    ("openblas_set_num_threads64_", "openblas_get_num_threads64_"),
    ("openblas_set_num_threads", "openblas_get_num_threads"),
    ("MKL_Set_Num_Threads", "MKL_Get_Max_Threads"),
    ("bli_thread_set_num_threads", "bli_thread_get_num_threads"),
)


class Blas(Record, kw_only=True):
    """`threads` is what the library itself answers after it was told; 0 where it cannot be asked."""

    library: str
    asked: int
    threads: int

    @property
    def pinned(self) -> bool:
        return self.threads == self.asked


def limit_blas(count: int) -> Blas:
    """Tell the BLAS of NumPy to use `count` threads, and ask it what it does.

    The variables are set too: a library that is loaded later reads them.
    """
    for name in VARIABLES:
        os.environ[name] = str(count)
    import numpy as np

    np.dot(np.ones((2, 2)), np.ones((2, 2)))  # some libraries are loaded with their first use
    for path in loaded_libraries():
        library = ctypes.CDLL(path)
        for put, get in _FUNCTIONS:
            if hasattr(library, put) and hasattr(library, get):
                getattr(library, put)(ctypes.c_int(count))
                return Blas(library=Path(path).name, asked=count, threads=int(getattr(library, get)()))
    return Blas(library="unknown", asked=count, threads=0)


def loaded_libraries() -> tuple[str, ...]:
    """Shared libraries of this process that may be a BLAS."""
    lines = text_of(Path("/proc/self/maps")).splitlines()
    words = ("blas", "mkl_rt", "blis")
    paths = (line.partition("/")[2] for line in lines if "/" in line)
    named = ("/" + path for path in paths if any(word in path.rpartition("/")[2].lower() for word in words))
    return tuple(dict.fromkeys(named))


@contextmanager
def pinned(processors: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Keeps this thread, and those it starts, on `processors`; what it was allowed before is restored."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield tuple(sorted(os.sched_getaffinity(0)))
    finally:
        os.sched_setaffinity(0, before)


def processors_for(cores: int) -> tuple[int, ...]:
    """One logical processor of each of `cores` cores, the last ones first: the system prefers the first."""
    usable = sorted(os.sched_getaffinity(0), reverse=True)
    taken: dict[str, int] = {}
    for processor in usable:
        siblings = text_of(SYS / f"cpu{processor}" / "topology" / "thread_siblings_list")
        taken.setdefault(siblings or str(processor), processor)
    chosen = list(taken.values())[:cores]
    return tuple(sorted(chosen)) or tuple(usable[:1])


class Crew:
    """One thread per processor, each kept on its own; `run` has all of them work and waits for all."""

    def __init__(self, processors: Sequence[int]) -> None:
        self._done: SimpleQueue[BaseException | None] = SimpleQueue()
        self._orders: list[SimpleQueue[Callable[[], Any] | None]] = []
        self._threads: list[threading.Thread] = []
        for processor in processors:
            orders: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
            thread = threading.Thread(target=self._work, args=(processor, orders), daemon=True)
            self._orders.append(orders)
            self._threads.append(thread)
            thread.start()

    def _work(self, processor: int, orders: SimpleQueue[Callable[[], Any] | None]) -> None:
        os.sched_setaffinity(0, (processor,))  # 0 is the calling thread
        while (order := orders.get()) is not None:
            try:
                order()
            except BaseException as error:
                self._done.put(error)
            else:
                self._done.put(None)

    def run(self, orders: Sequence[Callable[[], Any]]) -> None:
        """One order for each thread; raises what the first one that failed raised."""
        for queue, order in zip(self._orders, orders, strict=True):
            queue.put(order)
        errors = [self._done.get() for _ in orders]
        for error in errors:
            if error is not None:
                raise error

    def close(self) -> None:
        for queue in self._orders:
            queue.put(None)
        for thread in self._threads:
            thread.join()


class Place(Record, kw_only=True):
    """The processors a case is kept on, and what the BLAS was told."""

    processors: tuple[int, ...]
    blas: Blas

    def describe(self) -> dict[str, str | int | float | bool]:
        return {
            "processors": ",".join(map(str, self.processors)),
            "threads": len(self.processors),
            "blas": self.blas.library,
            "blas_threads_asked": self.blas.asked,
            "blas_threads": self.blas.threads,
            "blas_pinned": self.blas.pinned,
        }


def at_once(
    processors: Sequence[int], calls: Sequence[Callable[[], Any]]
) -> tuple[Callable[[], None], Callable[[], None], Callable[[], None] | None]:
    """(all calls at once, as many empty ones, what ends the threads); one call needs no thread."""
    if len(calls) == 1:
        return calls[0], _nothing, None
    crew = Crew(processors)
    orders, none = tuple(calls), (_nothing,) * len(calls)
    return (lambda: crew.run(orders)), (lambda: crew.run(none)), crew.close


def _nothing() -> None:
    return None
