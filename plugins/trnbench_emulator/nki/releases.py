"""What newer releases of NKI took away, and what to write instead."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import msgspec

from trnbench.record import Record


class Gone(Record, kw_only=True):
    """A name, or a parameter of it, that releases from `since` on do not have; what to write instead."""

    name: str = ""
    keyword: str = ""
    since: str = "0.2"
    write: str = "the calls that trnbench nki list has"

    def __str__(self) -> str:
        return f"{self.name}({self.keyword}=)" if self.keyword else self.name


@cache
def changes() -> tuple[Gone, ...]:
    """What newer releases took away, from releases.toml beside this file."""
    text = Path(__file__).with_name("releases.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text)["gone"], tuple[Gone, ...])


def change(name: str, keyword: str = "") -> Gone | None:
    """What became of a name such as `nki.language.mgrid`, or of its parameter; None if nothing is listed."""
    names = (name, "") if keyword else (name,)
    return next((each for each in changes() if each.keyword == keyword and each.name in names), None)
