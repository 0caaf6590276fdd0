"""Digests of what files say: TOML as it is parsed, Python without comments and docstrings.

They are the same on every Python that trnbench runs on: a file shipped with one holds on another.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from itertools import groupby

from trnbench.digest import short_digest

_UNSAID = frozenset({"ctx", "type_comment", "kind", "type_ignores"})
"""Fields of syntax trees that follow from others, or from comments."""


def toml_digest(content: bytes) -> str:
    """Of the tables, keys and values in their order. Raises `ValueError` for what is no TOML."""
    return short_digest(repr(tomllib.loads(content.decode("utf-8"))))


def code_digest(content: bytes) -> str:
    """Of the statements. Raises `SyntaxError`, and `ValueError` for a null byte."""
    return short_digest("".join(_node(ast.parse(content))))


def _node(node: ast.AST) -> Iterator[str]:
    """The name of its kind and its fields by name; a field that says nothing is left out, since a later
    Python may lack it or have more of them."""
    if isinstance(node, ast.JoinedStr):
        yield from _joined(node)
        return
    if isinstance(node, ast.Constant):
        yield f"{type(node.value).__name__} {node.value!r};"
        return
    yield f"{type(node).__name__}("
    for name, value in ast.iter_fields(node):
        if name not in _UNSAID and value not in (None, []):
            yield f"{name}="
            yield from _value(value)
    yield ")"


def _value(value: object) -> Iterator[str]:
    if isinstance(value, list):
        yield "["
        for each in value:
            if not _is_text_alone(each):
                yield from _value(each)
        yield "]"
    elif isinstance(value, ast.AST):
        yield from _node(value)
    else:
        yield f"{value!r};"


def _is_text_alone(node: object) -> bool:
    """A statement that is a string: a docstring, or one below what it speaks of."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _joined(node: ast.JoinedStr) -> Iterator[str]:
    """An f-string by its parts: neighbouring texts as one, empty ones left out, as Python 3.11 has them."""
    yield "f["
    for text, parts in groupby(node.values, lambda part: isinstance(part, ast.Constant)):
        if text:
            said = "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
            yield repr(said) if said else ""
            continue
        for part in parts:
            assert isinstance(part, ast.FormattedValue)
            yield f"{{{part.conversion}:"
            yield from _node(part.value)
            if isinstance(part.format_spec, ast.JoinedStr) and _says_something(part.format_spec):
                yield from _joined(part.format_spec)
            yield "}"
    yield "]"


def _says_something(spec: ast.JoinedStr) -> bool:
    return any(not isinstance(value, ast.Constant) or value.value for value in spec.values)
