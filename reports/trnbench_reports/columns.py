"""A JSON text by columns: what stands at one place of many objects stands together, and compresses well.

The page's script (assets/columns.js) reads any part of it without putting the rest together. A column is
one of

- `["n", "1.5,2e-06,null"]`: numbers and literals, as they were written
- `["s", ["a", "b"]]`: strings
- `["d", column, "0,1,0"]`: few different values, and which one stands where
- `["l", "2,0,3", column]`: lists, by their lengths and all that is in them
- `["o", [["id", "x"], …], "0,0,1", [["id", column], …]]`: objects, by their keys and a column for each key
- `["m", "0,1", [column, …]]`: values of several kinds, and of which kind each one is
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

_FEW = 4  # times as many values as different ones: worth a list of the different ones
_KINDS = {b"{": "o", b"[": "l", b'"': "s"}  # by the first byte; all else is a number or a literal


def packed(texts: Sequence[bytes]) -> bytes:
    """One column of as many values; each text is one JSON value without white space between its parts."""
    return _dumped(_column(list(texts)) if texts else ["n", ""])


def packed_with(texts: Sequence[bytes], key: str, lists: Sequence[list[bytes]]) -> bytes:
    """`packed` of objects that all have `key`, with an empty list at it: `lists` are what stands there, and
    are emptied. What is large is never put together, only to be taken apart again."""
    tree = _objects(list(texts))
    lengths = _joined(map(len, lists))
    inside = [each for found in lists for each in found]
    for found in lists:
        found.clear()
    column = ["l", lengths, _column(inside) if inside else ["n", ""]]
    tree[3] = [[name, column if name == key else node] for name, node in tree[3]]
    return _dumped(tree)


def _dumped(tree: list[Any]) -> bytes:
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":")).encode()


def _column(values: list[bytes]) -> list[Any]:
    kinds = [_KINDS.get(value[:1], "n") for value in values]
    found = list(dict.fromkeys(kinds))
    if len(found) == 1:
        return _of_kind(found[0], values)
    nodes = [
        _of_kind(name, [value for value, kind in zip(values, kinds, strict=True) if kind == name])
        for name in found
    ]
    return ["m", _joined(found.index(kind) for kind in kinds), nodes]


def _of_kind(kind: str, values: list[bytes]) -> list[Any]:
    """Equal texts are looked into once: most cases share the peaks they are judged by."""
    if kind == "n":
        return ["n", b",".join(values).decode()]
    place: dict[bytes, int] = {}
    which = [place.setdefault(value, len(place)) for value in values]
    if len(place) * _FEW > len(values):
        del place
        return _MAKERS[kind](values)
    return ["d", _MAKERS[kind](list(place)), _joined(which)]


def _objects(values: list[bytes]) -> list[Any]:
    """`values` are emptied on the way: a text is not kept beside its parts."""
    shapes: dict[tuple[str, ...], int] = {}
    which: list[int] = []
    columns: dict[str, list[bytes]] = {}
    read = _reader(dict)
    values.reverse()
    while values:
        parts = read(values.pop())
        which.append(shapes.setdefault(tuple(parts), len(shapes)))
        for key, part in parts.items():
            columns.setdefault(key, []).append(bytes(part))
    # As pairs, not as an object: a script would sort keys that look like numbers.
    named = [[key, _column(columns.pop(key))] for key in list(columns)]
    return ["o", [list(shape) for shape in shapes], _joined(which), named]


def _lists(values: list[bytes]) -> list[Any]:
    read = _reader(list)
    parts = [read(value) for value in values]
    inside = [bytes(part) for found in parts for part in found]
    return ["l", _joined(map(len, parts)), _column(inside) if inside else ["n", ""]]


def _strings(values: list[bytes]) -> list[Any]:
    return ["s", [json.loads(value) for value in values]]


_MAKERS: dict[str, Callable[[list[bytes]], list[Any]]] = {"o": _objects, "l": _lists, "s": _strings}


@lru_cache(maxsize=2)
def _reader(kind: type) -> Callable[[bytes], Any]:
    """Of one level: its parts stay the text they are."""
    import msgspec

    return msgspec.json.Decoder(dict[str, msgspec.Raw] if kind is dict else list[msgspec.Raw]).decode


def _joined(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))
