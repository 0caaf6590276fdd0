"""A run's digest stays through every way of writing it, and no edit leaves it as it is."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from stored_run import make_run

from trnbench import Run
from trnbench.results.digest import content_digest, fingerprint, fingerprint_as_written, is_edited
from trnbench.results.json import dumps, dumps_value, loads


@pytest.fixture(scope="module")
def run() -> Run:
    return make_run()


def document(run: Run) -> dict[str, Any]:
    return dict(json.loads(dumps(run)))


def test_a_run_that_ended_has_its_digest(run: Run) -> None:
    assert len(run.digest) == 64
    assert content_digest(document(run)) == run.digest
    assert not is_edited(document(run))


def test_it_stays_however_the_run_is_written(run: Run) -> None:
    again = json.loads(json.dumps(document(run), indent=3, ensure_ascii=True))
    assert content_digest(again) == run.digest
    assert document(loads(dumps(run)))["digest"] == run.digest
    assert content_digest(document(loads(dumps(run)))) == run.digest


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [found for key, each in value.items() for found in leaves(each, (*path, key))]
    if isinstance(value, list):
        return [found for key, each in enumerate(value) for found in leaves(each, (*path, key))]
    return [path]


def changed(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return not value
    return f"{value}x" if isinstance(value, str) else 2 * value + 1


@given(st.data())
def test_an_edit_anywhere_shows(run: Run, data: st.DataObject) -> None:
    edited = document(run)
    path = data.draw(st.sampled_from([each for each in leaves(edited) if each != ("digest",)]))
    place = edited
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = changed(place[path[-1]])
    assert is_edited(edited)


@pytest.mark.parametrize("part", ["measurements", "books", "topologies"])
def test_what_is_left_out_shows(run: Run, part: str) -> None:
    edited = document(run)
    edited[part] = edited[part][1:] if isinstance(edited[part], list) else {}
    assert is_edited(edited)


def test_measurements_cannot_change_places(run: Run) -> None:
    edited = document(run)
    edited["measurements"].reverse()
    assert is_edited(edited)


def test_a_whole_number_is_the_same_as_a_float() -> None:
    assert fingerprint(b'{"a": [3, 27000000000000000000]}') == fingerprint(b'{"a":[3.0,2.7e19]}')
    assert fingerprint(b'{"a":"3"}') != fingerprint(b'{"a":3}')


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.dictionaries(st.text(), JSON))
@example({"a": [3, -4, [0], {}], ":5": ',7,"8,', "\\": 10**15, "[1]": [10**16, -(10**400)]})
@example({"": ":5,", ",": {"[6]": 6}, "1": 1e16, "2": -0.0, "3": 5e-324, "é": ["", 999_999_999_999_999]})
@settings(max_examples=50)
def test_a_document_of_ours_has_the_fingerprint_of_any(content: dict[str, Any]) -> None:
    document = dumps_value(content, "it")
    assert fingerprint_as_written(document) == fingerprint(document)


def test_a_run_without_a_digest_tells_nothing(run: Run) -> None:
    assert not is_edited(document(msgspec.structs.replace(run, digest="", backend="another")))


def of_schema_3(run: Run) -> dict[str, Any]:
    """As it was written before runs had inputs and measurements processes."""
    old = document(run)
    del old["inputs"]
    for each in old["measurements"]:
        for name in ("processes", "interval", "stability"):
            del each[name]
    old["schema_version"] = 3
    return {**old, "digest": content_digest(old)}


def test_a_run_of_schema_3_keeps_its_digest(run: Run) -> None:
    """By hand, over the parts that such runs have."""
    old = of_schema_3(run)
    assert not is_edited(old)
    assert old["digest"] != run.digest
    whole = hashlib.sha256()
    head = {**old, "measurements": [], "digest": "", "books": {}, "topologies": {}}
    whole.update(fingerprint(json.dumps(head).encode()).encode())
    for kind in ("books", "topologies"):
        for name, value in old[kind].items():
            whole.update(f"{kind}\0{name}\0{fingerprint(json.dumps(value).encode())}\0".encode())
    for each in old["measurements"]:
        whole.update(fingerprint(json.dumps(each).encode()).encode())
    assert whole.hexdigest() == old["digest"]


def test_brought_up_to_date_it_has_a_digest_that_fits(run: Run) -> None:
    old = of_schema_3(run)
    assert not is_edited(document(loads(json.dumps(old))))


def test_an_edit_is_not_sealed_by_bringing_it_up_to_date(run: Run) -> None:
    old = of_schema_3(run)
    old["backend"] = "another"
    assert is_edited(old)
    assert is_edited(document(loads(json.dumps(old))))
