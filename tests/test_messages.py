"""The check of messages itself: what it finds. What it leaves alone is every message of the other tests."""

from __future__ import annotations

import pytest
from spoken import empty_part

from trnbench.errors import LONGEST, TrnbenchError, UsageError


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
