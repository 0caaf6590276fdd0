"""Columns of a page put together again, as assets/columns.js reads them: told a second time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def restored(packed: bytes, apart: Mapping[str, bytes] | None = None) -> list[bytes]:
    """The texts that were packed; `apart`: columns that stand in files of their own, by address."""
    return [each.encode() for each in _texts(json.loads(packed), apart or {})]


def _texts(node: list[Any], apart: Mapping[str, bytes]) -> list[str]:
    kind, *rest = node
    match kind:
        case "r":
            return _texts(json.loads(apart[rest[0]]), apart)
        case "n":
            return rest[0].split(",") if rest[0] else []
        case "s":
            return [json.dumps(each, ensure_ascii=False) for each in rest[0]]
        case "d":
            values = _texts(rest[0], apart)
            return [values[at] for at in _split(rest[1])]
        case "m":
            parts = [iter(_texts(each, apart)) for each in rest[1]]
            return [next(parts[at]) for at in _split(rest[0])]
        case "l":
            inside = iter(_texts(rest[1], apart))
            return [f"[{','.join(next(inside) for _ in range(length))}]" for length in _split(rest[0])]
    shapes, columns = rest[0], {key: iter(_texts(each, apart)) for key, each in rest[2]}
    return [f"{{{','.join(_members(shapes[at], columns))}}}" for at in _split(rest[1])]


def _members(shape: list[str], columns: dict[str, Iterator[str]]) -> Iterator[str]:
    for key in shape:
        yield f"{json.dumps(key, ensure_ascii=False)}:{next(columns[key])}"


def _split(joined: str) -> list[int]:
    return [int(each) for each in joined.split(",")] if joined else []
