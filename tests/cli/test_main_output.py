"""Rows as table, JSON, CSV and Markdown; what is hostile in them stays text."""

from __future__ import annotations

import csv
import io
import json
import re
from enum import Enum
from pathlib import Path

import click
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench.terminal import output
from trnbench.terminal.cell import Column, clean, plain
from trnbench.terminal.output import emit, say
from trnbench.terminal.screen import suits_colours

ROWS = [
    {"name": "plain", "count": 3, "rate": 1.5e12, "note": None},
    {"name": "日本", "count": 4096, "rate": float("nan"), "note": True},
]
COLUMNS = ["name", "count", Column("rate", "rate [B/s]", show=lambda rate: f"{rate / 1e12:.1f} T"), "note"]


def test_plain_table(capsys: pytest.CaptureFixture[str]) -> None:
    emit(ROWS, COLUMNS, title="Two rows")
    assert capsys.readouterr().out == (
        "Two rows\n"
        "name   count  rate [B/s]  note\n"
        "-----  -----  ----------  ----\n"
        "plain      3       1.5 T  –\n"
        "日本    4096       nan T  yes\n"
    )


def test_json_has_whole_rows_and_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    emit([{**ROWS[1], "extra": ("a", Path("/x"))}], ["name"], "json")
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == [
        {"name": "日本", "count": 4096, "rate": None, "note": True, "extra": ["a", "/x"]}
    ]


def test_csv_has_plain_values_under_the_keys(capsys: pytest.CaptureFixture[str]) -> None:
    emit(
        [{"rate": 1.5e12, "name": "a,b"}, {"name": None, "rate": [1, 2]}],
        ["name", Column("rate", "R")],
        "csv",
    )
    assert capsys.readouterr().out == 'name,rate\n"a,b",1500000000000.0\n,1; 2\n'


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+2", "@SUM(A1)"])
def test_csv_holds_no_spreadsheet_formula(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    emit([{"a": text, "b": -1}], ["a", "b"], "csv")
    assert capsys.readouterr().out.splitlines()[1] == f"'{text},-1"


def test_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    emit([{"name": "a|b <img> [x](y) `c`", "n": 1}], ["name", "n"], "md", title="T")
    assert capsys.readouterr().out == (
        "**T**\n\n| name | n |\n| --- | ---: |\n| a\\|b \\<img\\> \\[x\\](y) \\`c\\` | 1 |\n"
    )


HOSTILE = st.text(
    alphabet=st.characters() | st.sampled_from("\x1b\x07\n\r\t\x9b\u202e\u2066[]|<>`=@\ud800"), max_size=20
)
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@given(HOSTILE, st.sampled_from(["table", "json", "md"]))
def test_no_control_character_reaches_the_terminal(text: str, format: str) -> None:
    written: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output, "write", written.append)
        emit([{"a": text}], ["a"], format, title=text)
    assert not CONTROL.search("".join(written))
    if format == "json":
        assert json.loads("".join(written)) == [{"a": text}]
    if format == "md":
        assert "".join(written).count("\n") == (5 if text else 3)


@given(HOSTILE)
def test_csv_reads_back_as_one_row(text: str) -> None:
    written: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output, "write", written.append)
        emit([{"a": text, "b": 1}], ["a", "b"], "csv")
    rows = list(csv.reader(io.StringIO("".join(written), newline="")))
    assert len(rows) == 2
    assert rows[1][1] == "1"


def test_markup_is_text(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    emit([{"a": "[red]x[/red] :smile: \x1b[2J", "n": 1}], ["a", "n"], title="[bold]t")
    shown = capsys.readouterr().out
    assert "[red]x[/red] :smile: \\x1b[2J" in shown
    assert "[bold]t" in shown
    assert shown.startswith("\x1b[1m[bold]t\x1b[0m\n")


@pytest.mark.parametrize(
    ("tty", "env", "chosen", "coloured"),
    [
        (True, {}, None, True),
        (False, {}, None, False),
        (True, {"NO_COLOR": "1"}, None, False),
        (True, {"TERM": "dumb"}, None, False),
        (False, {"FORCE_COLOR": "1"}, None, True),
        (True, {"FORCE_COLOR": "0"}, None, True),
        (True, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, None, False),
        (True, {}, False, False),
        (False, {"NO_COLOR": "1"}, True, True),
    ],
)
def test_who_gets_colours(
    tty: bool, env: dict[str, str], chosen: bool | None, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return tty

    monkeypatch.setenv("TERM", "xterm")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    with click.Context(click.Command("x"), color=chosen):
        assert suits_colours(Stream()) is coloured


def test_records_and_enums_become_plain() -> None:
    class Kind(str, Enum):
        A = "a"

    class Record(msgspec.Struct):
        kind: Kind
        inner: tuple[float, ...]

    assert plain({Kind.A: Record(Kind.A, (1.0, float("inf")))}) == {"a": {"kind": "a", "inner": [1.0, None]}}
    assert plain({"s": frozenset({2, 1})}) == {"s": [1, 2]}


def test_messages_are_clean_and_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    say("two\nlines\x1b[2J")
    assert capsys.readouterr() == ("", "two\nlines\\x1b[2J\n")


def test_levels_of_messages(capsys: pytest.CaptureFixture[str]) -> None:
    with click.Context(click.Command("x")) as context:
        context.meta["trnbench.verbosity"] = 0
        say("detail", level=1)
        say("warning", level=0)
        context.meta["trnbench.verbosity"] = -1
        say("warning again", level=0)
        say("error")
    assert capsys.readouterr().err == "warning\nerror\n"


def test_stream_that_cannot_say_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    emit([{"a": "µs"}], ["a"])
    emit([{"a": "µs"}], ["a"], "json")
    assert raw.getvalue().decode("ascii") == 'a\n--\n?s\n[\n  {\n    "a": "\\u00b5s"\n  }\n]\n'


def test_clean_keeps_what_is_asked_for() -> None:
    assert clean("a\tb\nc\r", keep="\n") == "a\\tb\nc\\r"
