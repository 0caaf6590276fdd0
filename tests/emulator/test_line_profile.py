"""What a case keeps of its source lines: those that take longest, and which one an engine was at when."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import trnbench
from trnbench import Measurement
from trnbench.cli.main import cli


@pytest.fixture(scope="module")
def cases() -> dict[str, Measurement]:
    run = trnbench.bench(
        ["attention", "hbm_copy", "tensor_throughput"],
        instances=["trn2-16.48xlarge"],
        scopes=["core"],
        axes=["attention.seq=1K", "attention.head_dim=64", "attention.mask=full", "hbm_copy.size=1M"],
    )
    return {each.case.kernel: each for each in run.measurements if each.time_s}


def test_the_lines_are_those_that_the_command_prints(cases: dict[str, Measurement]) -> None:
    case = cases["attention"]
    words = case.detail["command"].split()[1:]
    done = CliRunner().invoke(
        cli, [*words[: words.index("--trace")], "--lines", "--format", "json"], prog_name="trnbench"
    )
    assert done.exit_code == 0, done.stderr
    printed = sorted(json.loads(done.stdout)["lines"], key=lambda row: -row["seconds"])
    assert case.time_s
    wanted = [row for row in printed[:6] if row["seconds"] >= 0.005 * case.time_s]
    places = [f"{Path(row['file']).name}:{row['line']}" for row in wanted]
    assert [place for place, _, _ in case.detail["lines"]] == places
    for (_, _, seconds), row in zip(case.detail["lines"], wanted, strict=True):
        assert seconds == pytest.approx(row["seconds"], rel=0.05)  # some heads stand for all


def test_each_span_in_which_an_engine_is_busy_names_a_line_of_it(cases: dict[str, Measurement]) -> None:
    for case in cases.values():
        strips, lines = case.detail["strip"], case.detail["line_strip"]
        assert strips.keys() <= lines.keys()
        for name, digits in strips.items():
            assert len(lines[name]) == len(digits)
            assert set(lines[name]) <= set("-0123456789"[: len(case.detail["lines"]) + 1])
    tensor = cases["tensor_throughput"].detail
    place = tensor["line_strip"]["tensor"][20]
    assert "nc_matmul" in tensor["lines"][int(place)][1]


def test_a_copy_is_at_the_line_that_starts_the_transfers(cases: dict[str, Measurement]) -> None:
    case = cases["hbm_copy"]
    ((_, text, seconds), *_) = case.detail["lines"]
    assert text.startswith("nisa.dma_copy(")
    assert case.time_s
    assert 0.2 * case.time_s < seconds < case.time_s
