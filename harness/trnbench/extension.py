"""Records by which a plugin extends the core: evidence, executors and traces of runs, checks of plugins."""

from __future__ import annotations

import msgspec

from trnbench.lazy import Ref


class ExecutorEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An executor, by the `name` that --executor takes.

    `open` references `(jobs) -> context manager of an Executor`; it raises `UsageError` where there is none
    here. `detect` references `() -> Detection` for `trnbench doctor`, quick and without an import of the
    stack: its `why` says what was found, or what is missing."""

    name: str
    title: str
    open: Ref
    detect: Ref = ""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A check of plugins, by the name that `trnbench plugin check --only` takes.

    `check` references `(subject) -> iterator of str and Finding` (`trnbench.testing`): the name of each thing
    that it looks at, and a finding for each that is wrong. `order` places it; the core's checks have 10, 20,
    …."""

    name: str
    check: Ref
    order: int


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """A source of evidence, as a plugin yields it.

    `beside` references `(registry, systems, cases, cache) -> Expectations`: systems by name, the cases of a
    run (none for a single question), and the cache of its store or None. `fidelity` references `(registry,
    backend, generations, notes, *, linked, multiplied, cache) -> Fidelity | None`: the model's error on
    published points, which a run keeps; "" where there is none."""

    name: str
    beside: Ref
    fidelity: Ref = ""


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is that of the backend whose cases it draws, as a plugin yields it.

    `timeline` references `(measurement, registry, about, limit) -> TraceFile`: `about` are words for the
    file's head, `limit` the most bytes. `assumptions` references `(measurement, registry) -> (seconds,
    ends)`: the time as it is now, and an `AssumptionEnd` for each end of each range. Both raise `UsageError`
    for a case that they cannot draw, `UnknownName` for a kernel or system that is not here any more."""

    name: str
    timeline: Ref = ""
    assumptions: Ref = ""
