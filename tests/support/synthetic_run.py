"""Runs that look like the default run, made from arithmetic alone: no plugin, no backend, no store."""

from __future__ import annotations

from itertools import pairwise

import msgspec
from synthetic_cases import collective, gemm, latency, memory
from synthetic_systems import SYSTEMS, book, record

from trnbench import Measurement, PluginRecord, Reason, Run, Scope, Status


def make_run(*, sizes: int = 6, extra_kernels: int = 8, id: str = "20261120T201500Z-a1b2c3") -> Run:
    """About 1,600 cases over 7 systems with the defaults."""
    gemm_sizes = tuple(512 * 2**i for i in range(sizes))
    byte_sizes = tuple(2 ** (16 + 2 * i) for i in range(sizes))
    found: list[Measurement] = []
    for system in SYSTEMS:
        for scope in dict.fromkeys((Scope.CORE, Scope.DEVICE, system.scope)):
            found += gemm(system, scope, gemm_sizes)
            for kernel in ("hbm_read", "hbm_write", "hbm_copy", "softmax", "layernorm", "attention"):
                found += memory(system, kernel, scope, byte_sizes)
        for index in range(extra_kernels):
            found += memory(system, f"hbm_stride_{index}", Scope.CORE, byte_sizes)
        for kernel in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all"):
            found += collective(system, kernel, byte_sizes)
        found.append(latency(system))
    return Run(
        id=id,
        created="2026-11-20T20:15:00Z",
        finished="2026-11-20T20:15:09Z",
        tool_version="0.1.0",
        argv=("trnbench", "run"),
        settings={"seed": 20261120, "jobs": 2, "policy": "seed", "axes": {"size": [1, 2, 3]}},
        environment={"python": "3.11.2", "os": "Linux", "cpu_count": 2, "emulator": "1"},
        backend="emulator",
        systems={system.name: record(system) for system in SYSTEMS},
        books={generation: book(generation) for generation in ("trn1", "trn2", "trn3")},
        plugins=(
            PluginRecord(name="trn1", distribution="trnbench", version="0.1.0"),
            PluginRecord(name="broken", distribution="other", version="9", error="ImportError: no module x"),
        ),
        measurements=tuple(found),
    )


def with_verdicts(run: Run) -> Run:
    """The same run with one suspect, one failed and one document-low case put in."""
    cases = list(run.measurements)
    ok = [
        index for index, each in enumerate(cases) if each.status is Status.OK and each.judgement is not None
    ]
    assert all(a < b for a, b in pairwise(ok))
    first, second, third = ok[3], ok[40], ok[80]
    cases[first] = msgspec.structs.replace(
        cases[first], status=Status.SUSPECT, reason_text="1.2 times the engine bound; likely no barrier"
    )
    cases[second] = msgspec.structs.replace(
        cases[second],
        status=Status.FAILED,
        reason=Reason.CRASH,
        reason_text="the worker ended with signal 11",
        metrics={},
        judgement=None,
        time_s=None,
    )
    cases[third] = msgspec.structs.replace(cases[third], status=Status.DOCUMENT_LOW)
    return msgspec.structs.replace(run, measurements=tuple(cases))
