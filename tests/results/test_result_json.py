"""A run as JSON and back, and its digest through every way of writing it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from messages import messages
from stored_run import make_run, message_of, text_of

from trnbench import Run, nearness_of
from trnbench.errors import BadInput
from trnbench.results import json as schema
from trnbench.results import run as source
from trnbench.results.digest import content_digest, fingerprint, fingerprint_as_written, is_edited
from trnbench.results.json import dumps, dumps_measurement, dumps_value, loads
from trnbench.results.run import SCHEMA_VERSION

HOSTILE = (
    "</script><script>alert(1)</script>",
    "'; DROP TABLE runs; --",
    '=HYPERLINK("http://x","y")',
    "\x00\x1b[31m\u202e\u2028",
    "{{ 7 * 7 }} [red]x[/red] %s %n",
    "🤖" * 50,
    "",
)


def test_a_run_survives_unchanged(run: Run) -> None:
    assert loads(dumps(run)) == run
    assert dumps(loads(dumps(run))) == dumps(run)


@settings(max_examples=50)
@given(
    st.lists(
        st.text(alphabet=st.characters(exclude_categories=("Cs",))) | st.sampled_from(HOSTILE), min_size=3
    ),
    st.dictionaries(
        st.text(alphabet=st.characters(exclude_categories=("Cs",))),
        st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans(),
    ),
)
def test_hostile_strings_survive_a_round_trip(run: Run, texts: list[str], numbers: dict[str, Any]) -> None:
    changed = msgspec.structs.replace(
        run,
        argv=tuple(texts),
        notes=tuple(texts),
        settings={**numbers, texts[0]: texts},
        measurements=(
            msgspec.structs.replace(
                run.measurements[0], reason_text=texts[1], notes=tuple(texts), detail={texts[2]: numbers}
            ),
        ),
    )
    assert loads(dumps(changed)) == changed


@pytest.mark.parametrize(
    ("changes", "where", "what"),
    [
        ({"time_s": float("nan")}, "time_s", "nan"),
        ({"samples": (1.0, float("inf"))}, "samples[1]", "inf"),
        ({"detail": {"links": [{"load": float("-inf")}]}}, "detail.links[0].load", "-inf"),
        ({"detail": {"a b": float("nan")}}, "detail['a b']", "nan"),
        ({"detail": {"x": object()}}, "detail.x", "a value of type object"),
        ({"detail": {"x": {3.5: 1}}}, "detail.x[3.5]", "the key is of type float, not text"),
        ({"notes": ("fine", "\ud800")}, "notes[1]", "'\\ud800' is not valid Unicode"),
        ({"detail": {"\udfff": 1}}, "detail['\\udfff']", "'\\udfff' is not valid Unicode"),
    ],
)
def test_what_json_cannot_hold_is_named(run: Run, changes: dict[str, Any], where: str, what: str) -> None:
    bad = msgspec.structs.replace(run.measurements[0], **changes)
    refused = text_of(BadInput, dumps_measurement, bad).splitlines()[0]
    assert refused == f"case {bad.id}: {where} cannot be written as JSON: {what}"
    worse = msgspec.structs.replace(run, measurements=(run.measurements[1], bad))
    refused = text_of(BadInput, dumps, worse).splitlines()[0]
    assert refused == f"run {run.id}: measurements[1].{where} cannot be written as JSON: {what}"


def nested(depth: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(depth):
        made = [made]
    return made


def inside_itself() -> dict[str, Any]:
    made: dict[str, Any] = {}
    made["it"] = made
    return made


@pytest.mark.parametrize("value", [nested(100_000), inside_itself()], ids=["deep", "inside itself"])
def test_what_has_no_end_is_named_too(run: Run, value: Any) -> None:
    bad = msgspec.structs.replace(run.measurements[0], detail={"it": value})
    assert text_of(BadInput, dumps_measurement, bad).splitlines()[0] == (
        f"case {bad.id}: a value cannot be written as JSON: it is nested too deeply, or inside itself"
    )


@pytest.mark.parametrize(("data", "text", "code"), messages(Path(__file__).parent / "wrong_runs.txt"))
def test_what_is_no_run_is_refused_by_name(data: str, text: str, code: int) -> None:
    said = message_of(BadInput, loads, data.encode(), "run.json")
    assert said == (text.replace("SCHEMA", str(SCHEMA_VERSION)), code)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[1, NaN]", b"<html>", b"[" * 100_000])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(BadInput, match=r"^run\.json is not (JSON|a trnbench result): "):
        loads(data, "run.json")


def test_older_versions_are_brought_up_to_date(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "SCHEMA_VERSION", 3)
    chain = {1: lambda old: {**old, "steps": [1]}, 2: lambda old: {**old, "steps": [*old["steps"], 2]}}
    found = schema.migrated({"schema_version": 1, "id": "a"}, "old.json", chain)
    assert found == {"schema_version": 3, "id": "a", "steps": [1, 2]}
    assert text_of(BadInput, schema.migrated, {"schema_version": 1}, "old.json", {2: chain[2]}) == (
        "old.json is written in result schema 1, which this trnbench no longer reads\n"
        "  cause: there is no step from schema 1 to 2\n"
        "  try:   open it with the trnbench that wrote it and export it again"
    )


@pytest.mark.parametrize(
    "fidelity",
    [
        {"points": [{"id": "p", "unit": "s"}]},
        {"points": [3]},
        {"points": {"vote": 1}, "families": 7},
        {"points": [{"id": "p", "unit": "s", "use": [], "slower": "x"}]},
        {"points": [{"id": "p", "unit": "s", "use": "x", "published": 1.0, "cross_validated": -1.0}]},
    ],
)
@pytest.mark.parametrize("version", [2, 3])
def test_a_damaged_document_of_an_older_version_is_called_so(version: int, fidelity: dict[str, Any]) -> None:
    data = dumps_value({"schema_version": version, "id": "x", "fidelity": fidelity}, "x")
    with pytest.raises(BadInput) as caught:
        loads(data, "run x")
    assert caught.value.what == "run x cannot be brought from result schema 3 to 4"
    assert "damaged" in caught.value.cause


def test_reading_goes_through_the_chain(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def rename(old: dict[str, Any]) -> dict[str, Any]:
        return {**{key: value for key, value in old.items() if key != "label"}, "id": old["label"]}

    document = {**json.loads(dumps(run)), "label": run.id}
    del document["id"]
    newer = SCHEMA_VERSION + 1
    monkeypatch.setattr(schema, "SCHEMA_VERSION", newer)
    monkeypatch.setitem(schema.MIGRATIONS, SCHEMA_VERSION, rename)
    assert loads(json.dumps(document), "old.json") == msgspec.structs.replace(run, schema_version=newer)


def test_a_run_of_version_1_still_opens(run: Run) -> None:
    document = json.loads(dumps(msgspec.structs.replace(run, schema_version=1)))
    del document["fidelity"]
    found = loads(json.dumps(document), "old.json")
    assert found.fidelity is None
    assert found == run


def test_a_run_of_version_2_has_no_nearness(run: Run) -> None:
    """Its flag is dropped, and nothing is guessed from it."""
    document = json.loads(dumps(msgspec.structs.replace(run, schema_version=2)))
    for number, each in enumerate(document["measurements"]):
        del each["evidence"]["nearest"]
        each["evidence"]["unvalidated"] = bool(number % 2)
    found = loads(json.dumps(document), "old.json")
    assert all(each.evidence.nearest is None for each in found.measurements)
    emulated = [each for each in found.measurements if each.time_s is not None]
    assert emulated
    assert {nearness_of(each) for each in emulated} == {"nearness not recorded"}
    forgotten = tuple(
        msgspec.structs.replace(each, evidence=msgspec.structs.replace(each.evidence, nearest=None))
        for each in run.measurements
    )
    assert found == msgspec.structs.replace(run, measurements=forgotten)


def test_the_schema_describes_what_is_written(run: Run) -> None:
    described = schema.json_schema()
    assert described["title"] == "trnbench run"
    definitions = described["$defs"]
    for name, value in (("Run", run), ("Measurement", run.measurements[0]), ("Metric", None)):
        assert set(definitions[name]["properties"]) == set(
            json.loads(msgspec.json.encode(value)) if value is not None else definitions[name]["properties"]
        )
    loose = {
        name for name, kind in definitions.items() if kind.get("additionalProperties", "properties" in kind)
    }
    assert loose == {
        "Topology",
        "Node",
        "Link",
        "LinkClass",
        "Figure",
        "Budget",
    }  # other keys are passed over
    json.dumps(described, allow_nan=False)


def test_the_schema_version_has_a_history() -> None:
    history = Path(source.__file__).read_text().split("# History: ")[1].partition("\n\n")[0]
    assert f"{SCHEMA_VERSION} " in history


# A run's digest stays through every way of writing it, and no edit leaves it as it is.


@pytest.fixture(scope="module")
def run() -> Run:
    return make_run()


def document(run: Run) -> dict[str, Any]:
    return dict(json.loads(dumps(run)))


def test_a_digest_stays_however_the_run_is_written(run: Run) -> None:
    assert len(run.digest) == 64
    assert not is_edited(document(run))
    again = json.loads(json.dumps(document(run), indent=3, ensure_ascii=True))
    for each in (document(run), again, document(loads(dumps(run)))):
        assert content_digest(each) == each["digest"] == run.digest


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


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["measurements"].pop(0),
        lambda document: document["measurements"].reverse(),
        lambda document: document["books"].clear(),
        lambda document: document["topologies"].clear(),
    ],
)
def test_what_is_left_out_or_changes_places_shows(
    run: Run, change: Callable[[dict[str, Any]], object]
) -> None:
    edited = document(run)
    change(edited)
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


def test_an_edit_is_not_sealed_by_bringing_it_up_to_date(run: Run) -> None:
    old = of_schema_3(run)
    assert not is_edited(document(loads(json.dumps(old))))
    old["backend"] = "another"
    assert is_edited(old)
    assert is_edited(document(loads(json.dumps(old))))
