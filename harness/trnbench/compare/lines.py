"""What differs between two texts, in a line for people."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

from trnbench.quoting import cut, quoted

_SHOWN = 70
_LONGEST = 20_000
"""Lines of a source that are laid side by side; finding pairs takes time by the square of them."""
_NOTHING = "no line"


def lines_changed(name: str, before: str, after: str) -> str:
    """`gemm.py:41 is 'tile = 256', was 'tile = 512', and 3 more lines`; "" where but blanks differ."""
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > _LONGEST:
        return f"{name} was edited"
    matcher = SequenceMatcher(None, [each.strip() for each in old], [each.strip() for each in new], False)
    blocks = [each for each in matcher.get_opcodes() if each[0] != "equal"]
    blocks = [
        each
        for each in blocks
        if any(line.strip() for line in (*old[each[1] : each[2]], *new[each[3] : each[4]]))
    ]
    if not blocks:
        return ""
    _, first, end, at, until = blocks[0]
    removed, added = old[first:end], new[at:until]
    shown = f"{name}:{at + 1} is {_line(added)}, was {_line(removed)}"
    more = sum(max(each[2] - each[1], each[4] - each[3]) for each in blocks) - 1
    return f"{shown}, and {more} more {'line' if more == 1 else 'lines'}" if more > 0 else shown


def _line(lines: list[str]) -> str:
    text = next((each.strip() for each in lines if each.strip()), "")
    return quoted(text, _SHOWN) if text else _NOTHING


def rows_changed(before: Any, after: Any) -> Iterator[str]:
    """`engine.tensor.cycles is 70, was 64`: the entries of two tables that differ, each under its name."""
    for name, (old, new) in sorted(_rows(before, after, "").items()):
        yield f"{name} is {_value(new)}, was {_value(old)}"


_MISSING = object()


def _rows(before: Any, after: Any, name: str) -> dict[str, tuple[Any, Any]]:
    if before == after:
        return {}
    tables = isinstance(before, dict) and isinstance(after, dict)
    lists = isinstance(before, list) and isinstance(after, list) and len(before) == len(after)
    if not tables and not (lists and all(isinstance(each, dict) for each in (*before, *after))):
        return {name: (before, after)}
    found: dict[str, tuple[Any, Any]] = {}
    if tables:
        for key in {**before, **after}:
            inner = f"{name}.{key}" if name else str(key)
            found |= _rows(before.get(key, _MISSING), after.get(key, _MISSING), inner)
    else:
        for number, (old, new) in enumerate(zip(before, after, strict=True), start=1):
            found |= _rows(old, new, f"{name}[{number}]")
    return found


def _value(value: Any) -> str:
    if value is _MISSING:
        return "absent"
    return quoted(value, _SHOWN) if isinstance(value, str) else cut(str(value), _SHOWN)
