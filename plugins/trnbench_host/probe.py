"""What small compiled kernels reach on this machine: its peaks where no table knows them, and it neither."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from trnbench import (
    Calibration,
    Fact,
    FactBook,
    Provenance,
    Scope,
    Source,
    TrnbenchError,
    Watch,
    disturbed,
    show,
)
from trnbench_host.compiler import lacking, library, multiply_adds
from trnbench_host.cpu import Cpu

REACHED = "this-machine-reached"
PASS_S = 1e-3
"""Of one pass of multiply-adds: shorter than what the system gives a process at a time."""

PASSES, STREAMS = 100, 10
"""The fastest of so many is what is reached."""

OF_CACHE = 4
"""Times the last cache that each array of the stream has, as STREAM's rules want it."""

OF_MEMORY = 0.125
"""Of what is free: the most that the three arrays take together."""


def reached(cpu: Cpu, *, flops: bool, memory: bool) -> Calibration:
    """Peaks of the vector units and of memory, where they are wanted. Without a C compiler, or on a machine
    that is busy, there are none, and the notes say why."""
    if not flops and not memory:
        return Calibration()
    reached_words = " and ".join([*(["FLOP/s"] if flops else []), *(["memory"] if memory else [])])
    if why := lacking():
        return Calibration(notes=(f"no per cent of a peak of {reached_words}: measuring one {why}",))
    watch = Watch()
    try:
        facts = (*(_flops() if flops else ()), *(_memory(cpu) if memory else ()))
    except (TrnbenchError, MemoryError, OSError) as error:
        return Calibration(
            notes=(f"no per cent of a peak of {reached_words}: measuring one failed: {error}",)
        )
    if disturbed(watch.conditions()):
        return Calibration(notes=(f"no per cent of a peak of {reached_words}: measuring one was disturbed",))
    source = Source(
        id=REACHED,
        document="what small compiled kernels reach on this machine: plugins/trnbench_host/fma.c and chase.c",
        version="as measured when the run was made",
    )
    return Calibration(book=FactBook(sources={REACHED: source}, facts=facts))


def _flops() -> Iterator[Fact]:
    from trnbench_host.threads import pinned, processors_for

    native = multiply_adds()
    with pinned(processors_for(1)):
        for dtype in ("fp32", "fp64"):
            call, per_round = getattr(native, f"fma_{dtype}"), getattr(native, f"fma_{dtype}_per_round")()
            # x·a + b with a below one settles at b / (1 - a): neither grows nor becomes subnormal.
            few = 1000
            rounds = max(few, int(few * PASS_S / _fastest(partial(call, few, 0.999, 0.001), 5)))
            rate = 2.0 * per_round * rounds / _fastest(partial(call, rounds, 0.999, 0.001), PASSES)
            yield _fact(
                "host-core",
                "peak_flops",
                rate,
                "FLOP/s",
                Scope.CORE,
                f"fma.c, fma_{dtype}: {per_round} multiply-adds in registers at a time, one core",
                dtypes=(dtype,),
            )


def _memory(cpu: Cpu) -> Iterator[Fact]:
    """STREAM's triad as one loop: 3 arrays of doubles are counted. Of one core, and of all at once."""
    from trnbench_host.threads import processors_for

    count = min(OF_CACHE * max(cpu.last_cache_bytes, 1 << 20), int(OF_MEMORY * _free() / 3)) // 8
    arrays = [np.full(count, 1.0) for _ in range(3)]
    for cores, subject, scope in ((1, "host-core", Scope.CORE), (cpu.cores, "host", Scope.INSTANCE)):
        yield _fact(
            subject,
            "host_memory_bandwidth",
            _triad(processors_for(cores), arrays),
            "B/s",
            scope,
            f"chase.c, triad: 3 arrays of {count * 8 >> 20} MiB, {cores} {'core' if cores == 1 else 'cores'}",
        )


def _triad(processors: Sequence[int], arrays: Sequence[Any]) -> float:
    """Bytes per second, each processor with its share of every array."""
    from trnbench_host.threads import at_once, pinned

    native, share = library(), len(arrays[0]) // len(processors)
    a, b, c = (array.ctypes.data for array in arrays)
    with pinned(processors):

        def part(number: int) -> Callable[[], Any]:
            at = number * share * 8
            return lambda: native.triad(a + at, b + at, c + at, 3.0, share)

        run, _, close = at_once(processors, [part(number) for number in range(len(processors))])
        try:
            run()
            return 3 * 8 * share * len(processors) / _fastest(run, STREAMS)
        finally:
            if close is not None:
                close()


def _fastest(call: Callable[[], Any], times: int) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def _free() -> int:
    import os

    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")


def _fact(
    subject: str,
    metric: str,
    value: float,
    unit: str,
    scope: Scope,
    locator: str,
    dtypes: tuple[str, ...] = (),
) -> Fact:
    printed, _, printed_unit = show(value, unit, digits=4).partition(" ")
    return Fact(
        subject=subject,
        metric=metric,
        printed=printed,
        printed_unit=printed_unit,
        value=value,
        scope=scope,
        source=REACHED,
        locator=locator,
        dtypes=dtypes,
        provenance=Provenance.MEASURED,
        formula="the fastest of several passes: reached, which is no bound",
    )
