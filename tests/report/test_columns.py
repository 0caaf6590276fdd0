"""The data of a page by columns: put together again they are the same bytes."""

from __future__ import annotations

import gzip
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unpacked_columns import restored

import trnbench
from trnbench import Run
from trnbench_reports import payload

words = st.text(st.characters(exclude_categories=["Cs"]))
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
anything = st.recursive(
    scalars | words, lambda each: st.lists(each) | st.dictionaries(words, each), max_leaves=30
)


def text(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@given(st.lists(anything, max_size=4))
def test_any_values_come_back_byte_for_byte(values: list[Any]) -> None:
    assert restored(payload.packed_columns(values)) == [text(each) for each in values]


@given(
    st.lists(st.sampled_from([{"a": 1}, {"a": [2]}, {"a": 1.0}, "x", [1], [1.0], None, [None]]), max_size=40)
)
def test_what_repeats_stands_once_and_comes_back(values: list[Any]) -> None:
    assert restored(payload.packed_columns(values)) == [text(each) for each in values]


def test_many_values_of_which_a_few_are_equal_come_back() -> None:
    """More than are looked at to see whether a list of the different ones is worth it."""
    values: list[Any] = [{"a": place % 700, "b": [place % 3]} for place in range(3000)]
    assert restored(payload.packed_columns(values)) == [text(each) for each in values]


@pytest.mark.parametrize(
    ("value", "error"),
    [({"a": [None, float("nan")]}, ValueError), ({3: "x"}, TypeError), ([object()], TypeError)],
)
def test_what_json_cannot_hold_is_refused(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        payload.packed_columns([value, value])


def test_a_run_comes_back_and_is_smaller(run: Run) -> None:
    whole = trnbench.dumps(run)
    packed = payload.packed_columns([run])
    assert restored(packed) == [whole]
    assert len(gzip.compress(packed)) < 0.7 * len(gzip.compress(whole))


def test_the_payload_refuses_what_json_cannot_hold_and_names_it(small: Run) -> None:
    first, *rest = small.measurements
    bad = msgspec.structs.replace(first, detail={"share": float("nan")})
    with pytest.raises(trnbench.BadInput, match=r"measurements\[0\]\.detail\.share"):
        payload.payloads([msgspec.structs.replace(small, measurements=(bad, *rest))])
