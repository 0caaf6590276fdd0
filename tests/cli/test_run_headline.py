"""The headline at the end of `trnbench run`: the report's words, wrapped for a terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
import tiny_machine as tiny
from click.testing import Result
from command import typed
from headline_parts import changed, judged_by, near
from synthetic_run import make_run, with_verdicts

from trnbench import Run, headline
from trnbench.cli.main import cli
from trnbench.results.measurement import Nearness
from trnbench.store.store import Store
from trnbench.terminal import outcome as printed


def invoke(*arguments: str, **options: Any) -> Result:
    return typed(*arguments, registry=tiny.registry("half", "low"), **options)


def joined(text: str) -> list[str]:
    """The items of a wrapped list, each in one line."""
    return [re.sub(r"\s+", " ", each).strip() for each in text.split("\n- ")]


@pytest.fixture(scope="module")
def run() -> Run:
    """Of trn1 with a band, of all else without."""
    made = with_verdicts(make_run(sizes=3, extra_kernels=0))
    bare = changed(made, judged_by(near(Nearness.NONE)))
    return changed(bare, judged_by(near(Nearness.SAME)), lambda each: each.case.generation == "trn1")


def test_golden_words() -> None:
    done = invoke("run", "--explain")
    assert done.stdout.partition("\n\n")[2].splitlines() == [
        "- tiny.2, one core, bf16 act: model 195 GFLOPS of 190 promised (tiny-page 2026: 102.6 %, the figure",
        "  is low: the clocks allow more) at low, best of mode half, low from 95. No interval: no plugin",
        "  that is installed knows published measurements.",
        "- Emulated: computed by a model (actor 1), not run on the device.",
    ]


def test_the_terminal_says_what_the_report_says(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    printed.show_headline(run, "table")
    shown = joined("\n" + capsys.readouterr().out.strip())
    found = headline(run)
    assert shown[1 : len(found.lines) + 1] == [words.text for _, words in found.said]
    assert shown[len(found.lines) + 1 :] == ["trn1.2xlarge: 1 suspect, 1 failed", found.footnote, found.means]


def test_lines_keep_within_the_width_and_units_with_their_numbers(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    printed.show_headline(run, "table")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) < printed.WIDTH
    assert not any(re.match(r"\s+(%|[kMGTP]?(FLOPS|B/s))", line) for line in lines)
    assert not any(printed.NBSP in line for line in lines)


@pytest.mark.parametrize(("color", "grey"), [(True, True), (False, False)])
def test_what_has_no_band_is_grey_where_colours_suit(
    run: Run, capsys: pytest.CaptureFixture[str], color: bool, grey: bool
) -> None:
    with click.Context(cli, color=color):
        printed.show_headline(run, "table")
    out = capsys.readouterr().out
    muted = [line for line, _ in headline(run).said if line.muted]
    assert 0 < len(muted) < len(headline(run).lines)
    assert out.count("\x1b[90m- ") == (len(muted) if grey else 0)
    assert ("\x1b" in out) == grey


def test_data_stays_data(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    for format in ("csv", "json"):
        printed.show_headline(run, format)
    assert capsys.readouterr().out == ""


def test_json_has_values_and_words(tmp_path: Path) -> None:
    found = json.loads(invoke("run", "--format", "json", "--no-report").stdout)["headline"]
    with Store(tmp_path / "results.db") as store:
        made = headline(store.load())
    assert [each["text"] for each in found["lines"]] == [words.text for _, words in made.said]
    assert found["lines"][0]["sweep"]["best"] == made.lines[0].sweep.best
    assert found["lines"][0]["muted"] is True


def test_markdown_is_a_list_without_markup_of_the_data(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    printed.show_headline(run, "md")
    lines = capsys.readouterr().out.strip().splitlines()
    assert len(lines) == len(headline(run).lines) + 3
    assert all(line.startswith("- ") for line in lines)
    assert "gemm\\_" not in lines[0]


def test_hostile_words_stay_words(capsys: pytest.CaptureFixture[str]) -> None:
    from hostile_run import make_hostile

    printed.show_headline(make_hostile(make_run(sizes=3, extra_kernels=0)), "table")
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
