"""What every message to a person has to be: no part of it empty, none that ends where a list should be."""

from __future__ import annotations

import re
from typing import Any

import pytest

from trnbench.errors import TrnbenchError

EMPTY = re.compile(
    r"""
      [:;,(\[=—–]\s*$        # "missing: "
    | (?<!\[):\s*[;,)]       # "missing: ; known: x", but [:, None] is an index
    | (?<=\s)\(\)(?!\s\()     # "it has none ()", but what a kernel gave has a place behind it
    | [;,]\s*[;,]            # two separators with nothing between
    | ^\s*[:;,]              # nothing before the first one
    | <[\w.]+\sobject\sat\s0x # an address instead of a name
    """,
    re.VERBOSE,
)

QUOTED = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\"""")
"""As `repr` writes a text, between either kind of quotes."""


def empty_part(error: TrnbenchError) -> str:
    """The part of `error` in which something is missing; "" for a whole message."""
    if not error.what.strip():
        return repr(error.what)
    for part in (error.what, error.cause, error.try_):
        # What was typed is quoted, and may be anything.
        said = QUOTED.sub("'…'", part.strip())
        if part and (not said or EMPTY.search(said)):
            return repr(part)
    return ""


@pytest.fixture(autouse=True)
def messages_are_whole(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Any:
    """Every message that the code under test makes is looked at; one with an empty part fails the test."""
    plain, found = TrnbenchError.__init__, []

    def made(self: TrnbenchError, what: str, *, cause: str = "", try_: str = "") -> None:
        plain(self, what, cause=cause, try_=try_)
        if part := empty_part(self):
            found.append(f"{type(self).__name__}: {part}")

    monkeypatch.setattr(TrnbenchError, "__init__", made)
    yield
    if found and not request.node.get_closest_marker("unwhole"):
        pytest.fail("a message with an empty part: " + "; ".join(found))
