"""The trace file: its schema, its cap, and what it says of itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trace_rules import complaints

from trnbench.errors import UsageError
from trnbench_emulator.trace import Counter, Flow, Slice, Timeline, write_trace

EVIDENCE = "emulated by trnbench 0.1"


def small() -> Timeline:
    return Timeline(
        processes={0: "core 0", 1: "core 1"},
        tracks=("tensor", "vector"),
        slices=(
            Slice(0, "dma 0", "load", 0, 2_000_000, {"line": "k.py:3"}),
            Slice(0, "dma 0", "load", 500_000, 2_000_000),  # overlaps: a second transfer under way
            Slice(0, "tensor", "matmul", 2_000_000, 1_234_567),
            Slice(1, "vector", "copy", 3_234_567, 1_000),
        ),
        flows=(Flow(0, 2, "read of x"), Flow(2, 3)),
        counters=(Counter(0, "HBM", "B/s", ((0, 1e9), (2_500_000, 0.0))),),
    )


def events(data: bytes) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(data)["traceEvents"]
    return found


def test_schema_tracks_flows_and_counters() -> None:
    made = write_trace(small(), evidence=EVIDENCE, about={"kernel": "k"})
    assert complaints(made.data) == []
    assert (made.kept, made.total, made.said) == (4, 4, "")
    every = events(made.data)
    names = {(e["pid"], e["args"]["name"]) for e in every if e["name"] == "thread_name"}  # type: ignore[index]
    assert names == {(0, "tensor"), (0, "dma 0"), (0, "dma 0 (2)"), (1, "vector")}
    matmul = next(e for e in every if e["name"] == "matmul")
    assert (matmul["ts"], matmul["dur"]) == (2, 1.234567)  # microseconds
    assert [e["ph"] for e in every if e.get("cat") == "dependency"] == ["s", "f", "s", "f"]
    assert [e["name"] for e in every if e["ph"] == "C"] == ["HBM [B/s]"] * 2


def test_evidence_is_everywhere_a_viewer_shows_it() -> None:
    made = write_trace(small(), evidence=EVIDENCE, about={"kernel": "k"})
    whole = json.loads(made.data)
    assert whole["otherData"] == {
        "kernel": "k",
        "evidence": EVIDENCE,
        "slices": 4,
        "slices_in_all": 4,
        "missing": "",
    }
    processes = [e["args"]["name"] for e in whole["traceEvents"] if e["name"] == "process_name"]
    assert processes == [f"core 0 ({EVIDENCE})", f"core 1 ({EVIDENCE})"]
    assert {e["args"]["evidence"] for e in whole["traceEvents"] if e["ph"] == "X"} == {"emulated"}


def many(count: int) -> Timeline:
    return Timeline(
        processes={0: "core 0"},
        slices=[Slice(0, "tensor", f"matmul {i}", 1_000 * i, 900) for i in range(count)],
        flows=[Flow(i, i + 1) for i in range(count - 1)],
    )


def test_the_cap_is_kept_and_said() -> None:
    cap = 100_000
    made = write_trace(many(5_000), evidence=EVIDENCE, about={}, cap=cap)
    assert 0.9 * cap < len(made.data) <= cap
    assert complaints(made.data) == []
    assert made.total == 5_000
    start = made.kept / 1000
    assert made.said == (
        f"the file is capped at 100,000 bytes: it has {made.kept} of 5,000 slices, "
        f"those that start before {start:.3f} µs"
    )
    assert json.loads(made.data)["otherData"]["missing"] == made.said
    note = events(made.data)[-1]
    assert (note["ph"], note["name"]) == ("i", f"not complete: {made.said}")


def test_what_was_not_kept_is_said_as_well() -> None:
    made = write_trace(
        Timeline(processes={0: "c"}, slices=(), missing="core 0 of 8 is shown"), evidence=EVIDENCE, about={}
    )
    assert made.said == "core 0 of 8 is shown"
    assert complaints(made.data) == []


def test_a_cap_that_holds_nothing() -> None:
    with pytest.raises(UsageError) as error:
        write_trace(small(), evidence=EVIDENCE, about={}, cap=100)
    assert str(error.value) == (
        "a trace of at most 100 bytes holds nothing\n"
        "  cause: names and metadata alone may take 65,536\n"
        "  try:   --trace-limit 64K or more"
    )


TIMES = st.integers(0, 3_000_000)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abc"), TIMES, TIMES), max_size=30),
    st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=30),
)
def test_any_timeline_makes_a_file_that_keeps_the_rules(slices: Any, arrows: list[tuple[int, int]]) -> None:
    timeline = Timeline(
        processes={0: "core 0"},
        slices=[Slice(core, track, "x", start, length) for core, track, start, length in slices],
        flows=[Flow(a, b) for a, b in arrows if max(a, b) < len(slices)],
    )
    made = write_trace(timeline, evidence=EVIDENCE, about={})
    assert complaints(made.data) == []
    assert made.kept == len(slices)
