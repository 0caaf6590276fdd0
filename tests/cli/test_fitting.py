"""Tables at terminals of all widths: what is broken, what is left out, and what never is."""

from __future__ import annotations

import sys

import pytest
from at_terminal import STYLE
from command import typed
from hypothesis import given
from hypothesis import strategies as st

from trnbench.terminal import table as tables
from trnbench.terminal.cell import Column, width_of
from trnbench.terminal.table import INDENT, Extent, broken, extent, fit

ID = "trn2-16.48xlarge::gemm[dtype=bf16,size=4096]@core"
WHY = "above what the clocks allow, by 12 %"
ROWS = [
    {"case": ID, "status": "ok", "result": "91.7 TFLOPS", "reason": None},
    {"case": ID, "status": "suspect", "result": "1.2 PFLOPS", "reason": WHY},
]
RESULT = Column("result", align="right", keep=1)
COLUMNS = [Column("case"), Column("status", keep=1), RESULT, Column("reason")]


def table(width: int | None, columns: list[Column] = COLUMNS) -> tuple[list[str], list[str]]:
    text, left_out = tables.text(ROWS, columns, "", width=width)
    return text.splitlines(), left_out


def test_with_room_for_all_every_row_is_a_line() -> None:
    lines, left_out = table(None)
    assert (len(lines), left_out) == (4, [])
    assert table(max(map(len, lines))) == (lines, [])


def test_sentences_are_broken_before_a_column_goes() -> None:
    lines, left_out = table(len(ID) + 2 + 7 + 2 + 11 + 2 + 24)
    assert left_out == []
    assert lines[3:] == [f"{ID}  suspect   1.2 PFLOPS  above what the clocks", " " * 73 + "allow, by 12 %"]


def test_the_least_wanted_column_goes_first() -> None:
    lines, left_out = table(80)
    assert left_out == ["reason"]
    assert lines[2] == f"{ID}  ok       91.7 TFLOPS"


def test_a_long_id_has_a_line_of_its_own_where_wanted_columns_would_go() -> None:
    lines, left_out = table(60)
    assert left_out == []
    assert lines == [
        "case",
        "    status        result  reason",
        "    -------  -----------  ----------------------------------",
        ID,
        "    ok       91.7 TFLOPS  –",
        ID,
        "    suspect   1.2 PFLOPS  above what the clocks allow, by 12",
        "                          %",
    ]


def test_of_columns_equally_wanted_the_last_goes_first() -> None:
    extents = [Extent(10, 10)] * 4
    assert fit(extents, 46).shown == (0, 1, 2, 3)
    assert fit(extents, 45).shown == (0, 1, 2)
    assert fit([Extent(10, 10, 0), Extent(10, 10, -1), Extent(10, 10), Extent(10, 10)], 45).shown == (0, 2, 3)


def test_one_column_beside_the_first_stays_though_it_has_no_room() -> None:
    path = "/home/somebody/with/a/very/long/name/.local/share/trnbench/results.db"
    text, left_out = tables.text(
        [{"what": "store", "where": path}], [Column("what"), Column("where")], "", width=40
    )
    assert left_out == []
    assert f"\n{' ' * INDENT}{path}\n" in text


def test_a_heading_is_broken_at_its_blanks_and_a_number_is_not() -> None:
    assert extent("from half to half (GB/s)", ["12.5", "3.1"], number=True) == Extent(24, 6)
    assert extent("rate", ["12.5 GB/s"], number=True) == Extent(9, 9)
    assert extent("why", ["because of the clocks, which are low"], number=False) == Extent(36, 20)


def test_a_word_that_is_too_long_is_not_broken() -> None:
    assert broken("one averyveryverylongword two", 8) == ["one", "averyveryverylongword", "two"]


WORD = st.text(alphabet="ab1=,[]@日", min_size=1, max_size=30)
TEXT = st.lists(WORD, min_size=1, max_size=12).map(" ".join)
CELLS = st.lists(
    st.fixed_dictionaries({"a": WORD, "b": TEXT, "c": st.integers(), "d": TEXT, "e": WORD}), max_size=5
)


@given(CELLS, st.integers(40, 200), st.lists(st.integers(-1, 1), min_size=5, max_size=5))
def test_no_line_is_wider_and_no_word_is_broken(
    rows: list[dict[str, object]], width: int, keeps: list[int]
) -> None:
    columns = [Column(key, keep=keep) for key, keep in zip("abcde", keeps, strict=True)]
    text, left_out = tables.text(rows, columns, "A title of words that take more than forty", width=width)
    assert all(width_of(line) <= width or len(line.split()) == 1 for line in text.splitlines())
    shown = [key for key in "abcde" if key not in left_out]
    assert shown[0] == "a"
    assert len(shown) > 1
    words = text.split()
    for row in rows:
        for key in shown:
            assert all(word in words for word in str(row[key]).split())


def test_colours_change_no_layout() -> None:
    text, _ = tables.text(ROWS, COLUMNS, "Title", width=80, styled=True)
    bare, _ = tables.text(ROWS, COLUMNS, "Title", width=80)
    assert text.replace("\x1b[1m", "").replace("\x1b[0m", "").replace("─", "-") == bare


@pytest.mark.parametrize(
    ("environment", "words", "widest"),
    [
        ({}, (), 80),
        ({"COLUMNS": "60"}, (), 60),
        ({"COLUMNS": "3"}, (), 40),
        ({"COLUMNS": "0"}, (), 80),
        ({"COLUMNS": "9" * 5000}, (), 80),
        ({"COLUMNS": "60"}, ("--format", "wide"), 999),
    ],
)
def test_a_pipe_with_colours_is_a_pager(
    environment: dict[str, str], words: tuple[str, ...], widest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(
        "trnbench.terminal.screen.columns_of", lambda stream: 80 if stream is sys.stderr else None
    )
    done = typed("--color", "list", "kernels", "--family", "gemm", *words)
    lines = [width_of(STYLE.sub("", line)) for line in done.stdout.splitlines()]
    assert max(lines) <= widest
    assert max(lines) > 40 or widest == 40
    assert max(lines) > 100 or not words
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(width_of, typed("list", "kernels").stdout.splitlines())) > 100
