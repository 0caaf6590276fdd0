"""The timeline of one emulation as a file that trace viewers open."""

from __future__ import annotations

from trnbench_emulator.trace.perfetto import (
    DEFAULT_CAP,
    Counter,
    Flow,
    Slice,
    Timeline,
    TraceFile,
    write_trace,
)

__all__ = ["DEFAULT_CAP", "Counter", "Flow", "Slice", "Timeline", "TraceFile", "write_trace"]
