"""The timeline of one emulation as a file that trace viewers open."""

from __future__ import annotations

from trnbench_emulator.trace.perfetto import DEFAULT_CAP, TraceFile, write_trace
from trnbench_emulator.trace.timeline import Counter, Flow, Slice, Timeline

__all__ = ["DEFAULT_CAP", "Counter", "Flow", "Slice", "Timeline", "TraceFile", "write_trace"]
