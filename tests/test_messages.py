"""The check of messages itself: what it finds. What it leaves alone is every message of the other tests."""

from __future__ import annotations

import pytest
from spoken import empty_part

from trnbench.errors import (
    DEBUG,
    LONGEST,
    PRECEDENCE,
    ExitCode,
    TrnbenchError,
    UnknownName,
    UsageError,
    brief,
    counted,
    cut,
    debugging,
    listed,
    quoted,
    visible,
    worst,
)


@pytest.mark.unwhole
@pytest.mark.parametrize(
    ("what", "cause", "try_"),
    [
        ("", "", ""),
        (" ", "", ""),
        ("x", "missing: ", ""),
        ("x", "missing: ; known: a", ""),
        ("x", "", " "),
        ("x", "it has none ()", ""),
        ("x", "", "one of a, , b"),
        ("x", "", "--arg a="),
        (": no such file", "", ""),
        ("<trnbench.errors.UsageError object at 0x7f> failed", "", ""),
    ],
)
def test_a_message_with_an_empty_part(what: str, cause: str, try_: str) -> None:
    assert empty_part(TrnbenchError(what, cause=cause, try_=try_)) != ""


def test_no_part_of_a_message_is_longer_than_a_screen() -> None:
    error = UsageError("x" * 5000, cause="y" * 5000, try_="z" * LONGEST)
    assert error.what.startswith("x" * 600)
    assert error.what.endswith(" (5,000 characters)")
    assert len(str(error)) < 3 * LONGEST
    assert error.try_ == "z" * LONGEST


LONG = "a" * 40 + "b" * 11 + "c" * 10


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (cut(LONG[1:]), LONG[1:]),
        (cut(LONG), f"{'a' * 40}…{'c' * 10} (61 characters)"),
        (cut("x" * 1201, 1200), f"{'x' * 800}…{'x' * 200} (1,201 characters)"),
        (quoted(LONG[1:]), repr(LONG[1:])),
        (quoted(LONG), f"'{'a' * 40}…{'c' * 10}' (61 characters)"),
        (visible("a\n\u202eé"), "a\\n\\u202eé"),
        (brief(1, "x" * 200), f"<int {'x' * 200}>"),
        (brief(1, "\n" + "x" * 199), f"<int \\n{'x' * 197}…>"),
        (counted(1, "case"), "1 case"),
        (counted(1904, "case"), "1,904 cases"),
        (listed(iter("abc"), "name"), "a, b, c"),
        (listed("abcd", "name"), "4 names"),
        (TrnbenchError("a", cause="b", try_="c").sentence, "a: b"),
        (TrnbenchError("a", try_="c").sentence, "a"),
        (str(TrnbenchError("a", cause="b", try_="c")), "a\n  cause: b\n  try:   c"),
        (UnknownName("axis", "siez", ["size", "dtype"]).cause, "did you mean size?"),
        (UnknownName("axis", "q", map(str, range(12))).cause, "known: 0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9"),
        (
            UnknownName("axis", "q", map(str, range(13))).cause,
            "known: 0, 1, 10, 11, 12, 2, 3, 4, 5, 6, 7, 8, … (13 in all)",
        ),
        (UnknownName("axis", "q", []).cause, "no axis is installed"),
        (UnknownName("axis", "a, b", "ab").cause, "a comma makes one name of several"),
        (UnknownName("axis", "a,b", "ab").try_, "each by itself, an option once for each: a and b"),
        (UnknownName("axis", "a,q", "ab").cause, "did you mean a?"),
        (UnknownName("axis", "size", ["size"], cause="it is none of gemm").cause, "it is none of gemm"),
    ],
)
def test_words_of_messages(said: str, text: str) -> None:
    assert said == text


def test_the_first_of_the_codes_that_apply_ends_the_command() -> None:
    order = [ExitCode(code) for code in (130, 2, 5, 3, 124, 1, 0)]
    assert sorted(order) == sorted(ExitCode)
    assert [worst(order[::-1][: len(order) - first]) for first in range(len(order))] == order == [*PRECEDENCE]
    assert worst([]) is ExitCode.OK


def test_zero_asks_for_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = []
    for value in ("1", "yes", "0", ""):
        monkeypatch.setenv(DEBUG, value)
        answers.append(debugging())
    monkeypatch.delenv(DEBUG)
    assert [*answers, debugging()] == [True, True, False, False, False]
