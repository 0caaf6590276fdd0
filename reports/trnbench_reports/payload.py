"""What the page carries: the runs, by columns and compressed, for the browser to unpack on demand."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from itertools import chain
from typing import Any, NamedTuple

import msgspec
from markupsafe import Markup
from msgspec.structs import replace

import trnbench
from trnbench import Measurement, Run

_FEW = 4  # times as many values as different ones: worth a list of the different ones
_SAMPLE = 256  # values that are looked at first: where hardly two are equal, no list is tried


def packed_columns(values: Sequence[Any]) -> bytes:
    """One column of as many values: structs, or what JSON has.

    Raises `ValueError` or `TypeError` for what JSON cannot hold, `RecursionError` for what holds itself.
    """
    return _text(_root(values)).encode()


def _root(values: Sequence[Any]) -> list[Any]:
    return _column(list(values)) if values else ["n", ""]


def _column(values: list[Any]) -> list[Any]:
    kinds = {kind: _kind(kind) for kind in dict.fromkeys(map(type, values))}
    distinct = list(dict.fromkeys(kinds.values()))
    if "?" in distinct:  # a set, a date: by the writer that knows them
        return _column(
            [msgspec.to_builtins(value) if kinds[type(value)] == "?" else value for value in values]
        )
    if len(distinct) == 1:
        return _of_kind(distinct[0], values)
    nodes = [_of_kind(name, [value for value in values if kinds[type(value)] == name]) for name in distinct]
    return ["m", _joined(distinct.index(kinds[type(value)]) for value in values), nodes]


def _kind(of: type) -> str:
    if issubclass(of, msgspec.Struct):
        return "o"
    if issubclass(of, Enum):
        return "s" if issubclass(of, str) else "?"
    for kind, types in (("s", str), ("n", (int, float, type(None))), ("o", dict), ("l", (list, tuple))):
        if issubclass(of, types):
            return kind
    return "?"


def _of_kind(kind: str, values: list[Any]) -> list[Any]:
    """Equal values are looked into once: most cases share the peaks they are judged by."""
    if kind == "n":
        return ["n", json.dumps(values, allow_nan=False, separators=(",", ":"))[1:-1]]
    if kind != "s" and len(set(_keys(values[:: -(-len(values) // _SAMPLE)]))) > 0.9 * min(
        len(values), _SAMPLE
    ):
        return _MAKERS[kind](values)
    keys = values if kind == "s" else _keys(values)
    different = dict(zip(keys, values, strict=True))
    if len(different) * _FEW > len(values):
        del keys, different
        return _MAKERS[kind](values)
    position_of = dict(zip(different, range(len(different)), strict=True))
    return ["d", _MAKERS[kind](list(different.values())), _joined(map(position_of.__getitem__, keys))]


def _keys(values: list[Any]) -> list[Any]:
    """Equal for equal values alone: 1 is not 1.0, and NaN, which JSON refuses, is not null."""
    try:
        return [msgspec.msgpack.encode(value) for value in values]
    except OverflowError:  # a number of more than 64 bits
        return [repr(msgspec.to_builtins(value)) for value in values]


def _objects(values: list[Any]) -> list[Any]:
    """Structs of any types, or dictionaries, or both."""
    of = list(map(type, values))
    fields = {value: value.__struct_fields__ for value in set(of) if issubclass(value, msgspec.Struct)}
    names = [fields.get(k) or tuple(v) for k, v in zip(of, values, strict=True)]
    shapes = dict(zip(dict.fromkeys(names), range(len(values)), strict=False))
    if any(type(name) is not str for shape in shapes for name in shape):
        raise TypeError("a key is not text")
    shape_of = [0] * len(values) if len(shapes) == 1 else list(map(shapes.__getitem__, names))
    named = []
    for name in dict.fromkeys(chain.from_iterable(shapes)):
        having = {number for shape, number in shapes.items() if name in shape}
        mine = values
        if len(having) < len(shapes):
            mine = [value for value, number in zip(values, shape_of, strict=True) if number in having]
        # As pairs, not as an object: a script would sort keys that look like numbers.
        named.append([name, _column([getattr(v, name) if type(v) in fields else v[name] for v in mine])])
    return ["o", [list(shape) for shape in shapes], _joined(shape_of), named]


def _lists(values: list[Any]) -> list[Any]:
    inside = list(chain.from_iterable(values))
    return ["l", _joined(map(len, values)), _column(inside) if inside else ["n", ""]]


_MAKERS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "o": _objects,
    "l": _lists,
    "s": lambda values: ["s", values],
}


def _joined(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


DATA = "data-json"
"""Id of the element that holds the runs."""


class Stored(NamedTuple):
    """Where a site has a part of a run: the file of its column, and every file that this one refers to.

    `behind`: of cases, of how many these files have other values than the run has."""

    address: str
    files: list[str]
    behind: int = 0


LETTERS = 16
"""Of a digest, in the name of a file."""


class Shelf:
    """What pages of a site share, by the digest of its content: what runs have alike is one file.

    The files are scripts: from file:// a page may read nothing else. `root` is the way from a page to the
    site's folder. `earlier`: a run that the site has, and where its parts are; `stored`: where it then has
    those of the page's run; `sections`: by name, where it has sections that need not be drawn."""

    root = "../"

    def __init__(self, earlier: tuple[Run, Mapping[str, Stored]] | None, sections: Mapping[str, str]) -> None:
        self.files: dict[str, bytes] = {}
        self.earlier = earlier
        self.stored: dict[str, Stored] = {}
        self.sections = dict(sections)

    def place(self, data: bytes) -> str:
        """Keeps `data`, compressed, and says at which address below the site's folder."""
        name = f"data/{hashlib.sha256(data).hexdigest()[:LETTERS]}.js"
        if name not in self.files:
            self.files[name] = script(name, data)
        return name


def script(name: str, data: bytes) -> bytes:
    """A script that hands `data` over by the `name` of its file."""
    return f'(self.trnbench ??= {{}})[{json.dumps(name)}] = "{packed(data)}";\n'.encode()


class Payload(NamedTuple):
    """The id of an element, and what stands in it, or at which addresses: that first, then its parts."""

    id: str
    text: Markup = Markup("")
    address: str = ""


def payloads(runs: Sequence[Run]) -> list[Payload]:
    """What a page carries of `runs`. Raises `BadInput` for a value that JSON cannot hold."""
    return [Payload(DATA, packed(_text(_columns(runs)).encode()))]


def _columns(runs: Sequence[Run]) -> list[Any]:
    short = [trnbench.shortened(run) for run in runs]
    with _blamed(short):
        return _root(short)


@contextmanager
def _blamed(runs: Sequence[Run]) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, RecursionError):
        for run in runs:  # names the value
            trnbench.dumps(run)
        raise


_PART = 40_000
"""Characters of a column that is worth a file of its own: other runs may have the very same."""
_FILES = 40
"""Of a run's cases at most: a browser asks for each."""
_PARTS = ("systems", "books", "topologies", "fidelity")
"""Beside its cases, what is large of a run."""


def shelved(run: Run, shelf: Shelf) -> Payload:
    """The same of one run as files of `shelf`: large columns apart, so that runs share what they have in
    common. Of cases, those alone that the earlier run has not; what else it has as well is not written."""
    before, known = shelf.earlier or (None, {})
    with _blamed([run]):
        shelf.stored = {"measurements": _cases(run.measurements, shelf)}
        for part in _PARTS:
            value = getattr(run, part)
            if before is None or _keys([value]) != _keys([getattr(before, part)]):
                shelf.stored[part] = _whole([value], shelf)
            else:
                shelf.stored[part] = known[part]
    head = _columns([replace(run, measurements=(), **{part: {} for part in _PARTS})])
    for column in head[3]:
        if (stored := shelf.stored.get(column[0])) is not None:
            node = ["r", stored.address]
            column[1] = node if column[0] in _PARTS else ["l", str(len(run.measurements)), node]
    first = shelf.place(_text(head).encode())
    names = dict.fromkeys(chain([first], *(each.files for each in shelf.stored.values())))
    return Payload(DATA, address=" ".join(shelf.root + each for each in names))


def _cases(cases: Sequence[Measurement], shelf: Shelf) -> Stored:
    """What differs from the earlier run's; all, where the page would read more than it shows."""
    if shelf.earlier is not None:
        before, known = shelf.earlier[0], shelf.earlier[1]["measurements"]
        place_of = {key: place for place, key in enumerate(_keys(list(before.measurements)))}
        places = [place_of.get(key) for key in _keys(list(cases))]
        if places == list(range(len(before.measurements))):
            return known
        other = [case for case, place in zip(cases, places, strict=True) if place is None]
        behind = known.behind + len(other)
        if behind <= len(cases) and len(known.files) < _FILES:
            same = ["d", ["r", known.address], _joined(place for place in places if place is not None)]
            parts = ["m", _joined(int(place is None) for place in places), [same, _root(other)]]
            address = shelf.place(_text(parts).encode())
            return Stored(address, [address, *known.files], behind)
    return _whole(cases, shelf)


def _whole(values: Sequence[Any], shelf: Shelf) -> Stored:
    files: list[str] = []
    address = shelf.place(_text(_apart(_root(values), shelf, files)).encode())
    return Stored(address, [address, *dict.fromkeys(files)])


def _apart(node: list[Any], shelf: Shelf, addresses: list[str]) -> list[Any]:
    """The node with references in the place of its large columns."""
    kind = node[0]
    if kind == "o":
        named = [[name, _placed(inner, shelf, addresses)] for name, inner in node[3]]
        return [*node[:3], named]
    if kind == "l":
        return [*node[:2], _apart(node[2], shelf, addresses)]
    if kind == "d":
        return [kind, _apart(node[1], shelf, addresses), node[2]]
    if kind == "m":
        return [*node[:2], [_apart(inner, shelf, addresses) for inner in node[2]]]
    return node


def _placed(node: list[Any], shelf: Shelf, addresses: list[str]) -> list[Any]:
    rest = _apart(node, shelf, addresses)
    text = _text(rest)
    if len(text) < _PART:
        return rest
    addresses.append(shelf.place(text.encode()))
    return ["r", addresses[-1]]


def _text(node: list[Any]) -> str:
    return json.dumps(node, ensure_ascii=False, separators=(",", ":"))


def packed(data: bytes) -> Markup:
    """Compressed, in letters that HTML needs no escape for; a fixed time stamp keeps the bytes the same."""
    # Markup, so that it is not shortened like text for people.
    return Markup(base64.b64encode(gzip.compress(data, 6, mtime=0)).decode())
