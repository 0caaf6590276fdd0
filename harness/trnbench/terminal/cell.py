"""One cell of a table: what a value looks like to people, and to machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import re

# C0 and C1 controls, bidirectional overrides, line separators, lone surrogates, byte order mark.
_HOSTILE = "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"


SPARE, WANTED, VITAL = -1, 1, 2
"""Of `Column.keep`, which is 0 for most: what leaves a narrow terminal first, later, and last."""


class Column(NamedTuple):
    """`key` of the row, `title` for people, `show` to format a value in tables and Markdown.

    `align` is "left", "right" or "" (right where every value is a number). CSV and JSON ignore
    `show`: machines get the plain value. Where a terminal is too narrow, the columns of the lowest `keep`
    go first, the last of them before the others; the first column of a table always stays.
    """

    key: str
    title: str = ""
    align: str = ""
    show: Callable[[Any], str] | None = None
    keep: int = 0

    @property
    def heading(self) -> str:
        return self.title or self.key.replace("_", " ")


Columns: TypeAlias = Sequence[Column | str]
"""Of a table; a word is the key of a column that has nothing else to say."""


@cache
def hostile() -> re.Pattern[str]:
    """One character that could move the cursor, or turn or break a line, of whoever reads it."""
    import re

    return re.compile(_HOSTILE)


def clean(text: str, *, keep: str = "") -> str:
    """`text` with control characters, other than those in `keep`, written as visible escapes."""
    if text.isprintable():  # as no hostile character is
        return text

    def visible(match: re.Match[str]) -> str:
        char = match.group()
        return char if char in keep else char.encode("unicode_escape").decode("ascii")

    return hostile().sub(visible, text)


def plain(value: object) -> object:
    """`value` as JSON has it: records to objects, enums to their value, NaN and infinities to None."""
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        each_plain = [plain(each) for each in value]
        return sorted(each_plain, key=str) if isinstance(value, set | frozenset) else each_plain
    if fields := getattr(value, "__struct_fields__", None):
        return {name: plain(getattr(value, name)) for name in fields}
    return str(value)


def is_number(value: object) -> bool:
    """Whether it is shown as a number: truth values and enums are words."""
    return isinstance(value, int | float) and not isinstance(value, bool | Enum)


def is_right(rows: Sequence[Mapping[str, object]], column: Column) -> bool:
    """Whether the column is aligned to the right: as it says, else where all values are numbers."""
    if column.align:
        return column.align == "right"
    present = [row[column.key] for row in rows if row.get(column.key) is not None]
    return bool(present) and all(is_number(each) for each in present)


def text_of(value: object, column: Column) -> str:
    """A cell for people."""
    if value is None:
        return "–"
    if column.show is not None:
        return clean(column.show(value))
    if type(value) is str:
        return clean(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, tuple | list):
        return clean(", ".join(str(each) for each in value))
    return clean(str(value))


def width_of(text: str) -> int:
    """Terminal cells: wide East Asian characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


FORMATS = ("table", "wide", "json", "csv", "md")
