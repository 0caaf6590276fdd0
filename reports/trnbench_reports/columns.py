"""A JSON text by columns: what stands at one place of many objects stands together, and compresses well.

The page's script (`data` in page.js) puts it together again, byte for byte. A column is one of

- `["n", "1.5,2e-06,null"]`: numbers and literals, as they were written
- `["s", ["a", "b"]]`: strings
- `["d", column, "0,1,0"]`: few different values, and which one stands where
- `["l", "2,0,3", column]`: lists, by their lengths and all that is in them
- `["o", [["id", "x"], …], "0,0,1", [["id", column], …]]`: objects, by their keys and a column for each key
- `["m", "0,1", [column, …]]`: values of several kinds, and of which kind each one is
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

_CELL = re.compile(r'((?:"(?:[^"]|"")*")|[^,"\n]*)[,\n]')
_FEW = 4  # times as many values as different ones: worth a list of the different ones


class _Written(str):
    """A number or literal as it stands in the text."""

    __slots__ = ()


def packed(texts: Sequence[bytes]) -> bytes:
    """One column of as many values; each text is one JSON value without white space between its parts."""
    values = [json.loads(each, parse_float=_Written, parse_int=_Written) for each in texts]
    return _dumped(_column(values)) if values else b'["n",""]'


def table(text: str, columns: int) -> bytes:
    """The columns of comma-separated text, cells as they are written, quotes and all."""
    cells = _CELL.findall(text)
    found = [_strings(cells[i::columns]) for i in range(columns)]
    return _dumped(found)


def _dumped(tree: Any) -> bytes:
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":")).encode()


def _column(values: list[Any]) -> list[Any]:
    kinds = [_kind(value) for value in values]
    found = list(dict.fromkeys(kinds))
    if len(found) == 1:
        return _MAKERS[found[0]](values)
    nodes = [
        _MAKERS[name]([value for value, kind in zip(values, kinds, strict=True) if kind == name])
        for name in found
    ]
    return ["m", _joined(found.index(kind) for kind in kinds), nodes]


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "o"
    if isinstance(value, list):
        return "l"
    return "n" if value is None or isinstance(value, bool | _Written) else "s"


def _objects(values: list[dict[str, Any]]) -> list[Any]:
    shapes: dict[tuple[str, ...], int] = {}
    which = [shapes.setdefault(tuple(value), len(shapes)) for value in values]
    keys = dict.fromkeys(key for shape in shapes for key in shape)
    # As pairs, not as an object: a script would sort keys that look like numbers.
    columns = [[key, _column([value[key] for value in values if key in value])] for key in keys]
    return ["o", [list(shape) for shape in shapes], _joined(which), columns]


def _lists(values: list[list[Any]]) -> list[Any]:
    inside = [each for value in values for each in value]
    return ["l", _joined(len(value) for value in values), _column(inside) if inside else ["n", ""]]


def _strings(values: list[str]) -> list[Any]:
    different = dict.fromkeys(values)
    if len(different) * _FEW > len(values):
        return ["s", values]
    place = {value: number for number, value in enumerate(different)}
    return ["d", ["s", list(different)], _joined(place[value] for value in values)]


def _literals(values: list[Any]) -> list[Any]:
    names = {None: "null", True: "true", False: "false"}
    return ["n", ",".join(value if isinstance(value, str) else names[value] for value in values)]


_MAKERS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "o": _objects,
    "l": _lists,
    "s": _strings,
    "n": _literals,
}


def _joined(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))
