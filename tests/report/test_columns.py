"""The data of a page by columns: put together again they are the same bytes."""

from __future__ import annotations

import csv as csv_
import gzip
import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import trnbench
from trnbench import Run
from trnbench_reports import columns
from trnbench_reports.formats import csv

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
anything = st.recursive(
    scalars | st.text(st.characters(exclude_categories=["Cs"])),
    lambda each: st.lists(each) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), each),
    max_leaves=30,
)


def text(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def split(joined: str) -> list[int]:
    return [int(each) for each in joined.split(",")] if joined else []


def unpacked(node: list[Any], count: int) -> list[str]:
    """What page.js does, told a second time."""
    kind, *rest = node
    if kind == "n":
        return rest[0].split(",") if count else []
    if kind == "s":
        return [text(each).decode() for each in rest[0]]
    if kind == "d":
        values = unpacked(rest[0], len(rest[0][1]))
        return [values[at] for at in split(rest[1])]
    if kind == "m":
        which = split(rest[0])
        parts = [iter(unpacked(each, which.count(at))) for at, each in enumerate(rest[1])]
        return [next(parts[at]) for at in which]
    if kind == "l":
        lengths = split(rest[0])
        inside = iter(unpacked(rest[1], sum(lengths)))
        return ["[" + ",".join(next(inside) for _ in range(length)) + "]" for length in lengths]
    shapes, which, found = rest[0], split(rest[1]), dict(rest[2])
    held = {key: sum(key in shapes[at] for at in which) for key in found}
    parts_of = {key: iter(unpacked(each, held[key])) for key, each in found.items()}
    return [
        "{" + ",".join(f"{text(key).decode()}:{next(parts_of[key])}" for key in shapes[at]) + "}"
        for at in which
    ]


def restored(packed: bytes, count: int) -> list[bytes]:
    return [each.encode() for each in unpacked(json.loads(packed), count)]


@given(st.lists(anything, max_size=4).map(lambda values: [text(each) for each in values]))
def test_any_values_come_back_byte_for_byte(texts: list[bytes]) -> None:
    assert restored(columns.packed(texts), len(texts)) == texts


@given(st.lists(st.tuples(st.text("a\",\n= '"), st.text("01.e-")), min_size=1))
def test_any_table_comes_back(rows: list[tuple[str, str]]) -> None:
    out = io.StringIO(newline="")
    csv_.writer(out, lineterminator="\n").writerows(rows)
    cells = [unpacked(each, len(rows)) for each in json.loads(columns.table(out.getvalue(), 2))]
    lines = [",".join(json.loads(each[row]) for each in cells) + "\n" for row in range(len(rows))]
    assert "".join(lines) == out.getvalue()


def test_a_run_comes_back_and_is_smaller(run: Run) -> None:
    whole = trnbench.dumps(run)
    packed = columns.packed([whole])
    assert restored(packed, 1) == [whole]
    assert len(gzip.compress(packed)) < 0.7 * len(gzip.compress(whole))
    table = csv.write([run]).decode()
    by_column = columns.table(table, len(csv.COLUMNS))
    assert len(gzip.compress(by_column)) < 0.7 * len(gzip.compress(table.encode()))
