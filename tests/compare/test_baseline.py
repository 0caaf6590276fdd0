"""What a baseline holds, and which files are none."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from stored_run import text_of

import trnbench
from trnbench import (
    BadInput,
    Outcome,
    UsageError,
)
from trnbench.compare.api import run_of_file
from trnbench.compare.gate.baseline import accepted, baseline_in, written
from trnbench.compare.gate.judgement import judged

STEADY = (1.000, 1.002, 0.998)
NOW = datetime(2026, 12, 22, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def real() -> trnbench.Run:
    return trnbench.bench(["hbm_copy"], instances=["trn1.2xlarge"], axes=["size=1M"], scopes=["core"])


@pytest.mark.parts
def test_a_baseline_holds_the_run_and_who_accepted_it(real: trnbench.Run, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_bytes(written(accepted(real, path, why="first", by="the team")))
    path.write_bytes(written(accepted(real, path, why="again")))
    found = baseline_in(path.read_bytes(), "it")
    assert [(each.why, each.by, each.run) for each in found.accepted] == [
        ("first", "the team", real.id),
        ("again", "", real.id),
    ]
    assert run_of_file(path) == found.run
    assert path.read_text().splitlines()[2] == ' "accepted": ['
    assert "{}" not in path.read_text()  # what is as it is where nothing is said is left out
    kept, whole = found.run.measurements[0], real.measurements[0]
    for name in ("id", "status", "time_s", "primary", "implementation"):
        assert getattr(kept, name) == getattr(whole, name)
    assert {name: each.value for name, each in kept.metrics.items()} == {
        name: each.value for name, each in whole.metrics.items()
    }
    assert judged(real, found.run, strict=True, keyword="bandwidth").passed  # a tag of the kernel


@pytest.mark.parts
def test_a_baseline_of_two_cases_has_at_most_20_kb_and_names_causes(tmp_path: Path) -> None:
    run = trnbench.bench(
        ["gemm"], instances=["trn2-16.48xlarge"], axes=["size=512,1K"], dtypes=["bf16"], scopes=["core"]
    )
    data = written(accepted(run, tmp_path / "x", why="first"))
    assert len(run.measurements) == 2
    assert len(data) <= 20_000
    kept = baseline_in(data, "it")
    slower = tuple(
        msgspec.structs.replace(each, time_s=(each.time_s or 0.0) * 2) for each in run.measurements
    )
    fact, *others = run.books["trn2"].facts
    book = msgspec.structs.replace(
        run.books["trn2"], facts=(msgspec.structs.replace(fact, printed="other", value=None), *others)
    )
    source = "trnbench_kernels/nki/gemm_best.py"
    edits: dict[str, dict[str, Any]] = {
        "nothing": {},
        "facts of trn2 differ": {"books": {"trn2": book}},
        f"{source}:": {
            "inputs": {**run.inputs, source: f"A = 1\n{run.inputs[source]}"},
            "books": {"trn2": book},
        },
        "trnbench_kernels/kernels.toml was edited": {
            "inputs": {**run.inputs, "trnbench_kernels/kernels.toml": "a = 1\n"}
        },
    }
    for begin, changes in edits.items():
        after = msgspec.structs.replace(run, id="after", measurements=slower, **changes)
        (causes,) = {each.causes for each in judged(after, kept.run).of(Outcome.FAILED)}
        said = "sources, costs, the facts that it reads and the model" if begin == "nothing" else begin
        assert len(causes) == 1
        assert causes[0].startswith(said)


@pytest.mark.parts
def test_a_baseline_that_holds_a_whole_run_is_read(real: trnbench.Run, tmp_path: Path) -> None:
    """As they were written before they were cut down to what gates need."""
    document = {"run": real.id, "digest": real.digest, "when": "2026-11-22T12:00:00+00:00", "why": "first"}
    path = tmp_path / "baseline.json"
    path.write_text(
        json.dumps({"trnbench_baseline": 1, "accepted": [document], "run": json.loads(trnbench.dumps(real))})
    )
    assert run_of_file(path) == real


@pytest.mark.parts
def test_an_edited_baseline_is_refused(real: trnbench.Run, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    data = written(accepted(real, path, why="first"))
    time = str(real.measurements[0].time_s).encode()
    assert text_of(BadInput, baseline_in, data.replace(time, b"1" + time), "it") == (
        "the run in it was edited: its digest belongs to another content\n"
        "  cause: a figure in it was changed without being accepted\n"
        "  try:   take it back from your version control, or: trnbench gate accept"
    )


@pytest.mark.parts
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'"trnbench_baseline": 1', b'"trnbench_baseline": 2', "it is a baseline of version 2"),
        (b'"why": "first"', b'"why": 7', "it: accepted is not as `trnbench gate accept` writes it"),
        (b'"accepted"', b'"rejected"', "it: accepted is not as `trnbench gate accept` writes it"),
    ],
)
def test_a_baseline_that_cannot_be_read(
    old: bytes, new: bytes, said: str, real: trnbench.Run, tmp_path: Path
) -> None:
    data = written(accepted(real, tmp_path / "x", why="first"))
    with pytest.raises(BadInput, match=said):
        baseline_in(data.replace(old, new), "it")


@pytest.mark.parts
def test_an_unfinished_run_is_no_baseline(real: trnbench.Run, tmp_path: Path) -> None:
    short = msgspec.structs.replace(real, interrupted=True)
    assert text_of(UsageError, lambda: accepted(short, tmp_path / "x", why="first")) == (
        f"run {real.id} cannot be a baseline: it was cut short: interrupted\n"
        "  cause: cases are missing from it\n"
        f"  try:   trnbench resume {real.id}"
    )


@pytest.mark.parts
def test_another_file_is_not_overwritten(real: trnbench.Run, tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_text("{}")
    assert text_of(UsageError, lambda: accepted(real, path, why="first")) == (
        f"{path} exists and is no baseline\n"
        "  cause: it is not overwritten, in case it is needed\n"
        "  try:   --force  overwrites it; or name another file with -o"
    )
    assert len(accepted(real, path, why="first", force=True).accepted) == 1
