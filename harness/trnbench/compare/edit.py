"""What differs between two texts of a source, and between two tables of costs, in a line each."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

from trnbench.errors import cut, quoted

_SHOWN = 70

_LONGEST = 20_000
"""Lines of a source that are laid side by side; finding pairs takes time by the square of them."""

_NOTHING = "no line"


def lines_changed(name: str, before: str, after: str) -> str:
    """`gemm.py:41 is 'tile = 256', was 'tile = 512', and 3 more lines`; "" where blanks, comments and
    docstrings alone differ."""
    old, new = (_code_lines(name, text) for text in (before, after))
    if max(len(old), len(new)) > _LONGEST:
        return f"{name} was edited"
    matcher = SequenceMatcher(None, [block.strip() for block in old], [block.strip() for block in new], False)
    blocks = [
        block
        for block in matcher.get_opcodes()
        if block[0] != "equal"
        and any(line.strip() for line in (*old[block[1] : block[2]], *new[block[3] : block[4]]))
    ]
    if not blocks:
        return ""
    _, first, end, at, until = blocks[0]
    removed, added = old[first:end], new[at:until]
    shown = f"{name}:{at + 1} is {_line(added)}, was {_line(removed)}"
    more = sum(max(block[2] - block[1], block[4] - block[3]) for block in blocks) - 1
    return f"{shown}, and {more} more {'line' if more == 1 else 'lines'}" if more > 0 else shown


def _code_lines(name: str, text: str) -> list[str]:
    """Lines of a source; of Python those of comments and docstrings are empty, since they do nothing."""
    lines = text.splitlines()
    if not name.endswith(".py") or len(lines) > _LONGEST:
        return lines
    try:
        tree, tokens = ast.parse(text), list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # `tokenize` raises a SyntaxError too
        return lines
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                lines[number - 1] = ""
    for token in tokens:
        if token.type == tokenize.COMMENT and lines[token.start[0] - 1]:
            lines[token.start[0] - 1] = lines[token.start[0] - 1][: token.start[1]].rstrip()
    return lines


def _line(lines: list[str]) -> str:
    text = next((line.strip() for line in lines if line.strip()), "")
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
    if not tables and not (lists and all(isinstance(item, dict) for item in (*before, *after))):
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
