"""Strict JSON: nothing lost, nothing that is not JSON, versions known by name."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import tiny_machine as tiny
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_run import text_of

from trnbench import Measurement, Run, nearness_of
from trnbench.errors import BadInput
from trnbench.results import json as result_json
from trnbench.results import schema
from trnbench.results.json import dumps, dumps_measurement, dumps_value, loads, write
from trnbench.results.run import SCHEMA_VERSION
from trnbench.run.execute import execute
from trnbench.run.plan import plan

HOSTILE = (
    "</script><script>alert(1)</script>",
    "'; DROP TABLE runs; --",
    '=HYPERLINK("http://x","y")',
    "\x00\x1b[31m\u202e\u2028",
    "{{ 7 * 7 }} [red]x[/red] %s %n",
    "🤖" * 50,
    "",
)


@pytest.fixture(scope="module")
def run() -> Run:
    registry = tiny.registry("half", "low", "above", "crash", "unsupported")
    return execute(plan(registry), registry.backends["emulated"], registry)


def test_a_run_survives_unchanged(run: Run) -> None:
    assert loads(dumps(run)) == run
    assert dumps(loads(dumps(run))) == dumps(run)


def test_what_is_written_is_strict(run: Run) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    assert json.loads(dumps(run), parse_constant=refuse)["schema_version"] == SCHEMA_VERSION


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
    with pytest.raises(BadInput) as caught:
        dumps_measurement(bad)
    assert caught.value.what == f"case {bad.id}: {where} cannot be written as JSON: {what}"
    with pytest.raises(BadInput) as caught:
        dumps(msgspec.structs.replace(run, measurements=(run.measurements[1], bad)))
    assert caught.value.what == f"run {run.id}: measurements[1].{where} cannot be written as JSON: {what}"


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
    with pytest.raises(BadInput) as caught:
        dumps_measurement(bad)
    assert caught.value.what == (
        f"case {bad.id}: a value cannot be written as JSON: it is nested too deeply, or inside itself"
    )


def test_keys_that_are_enums_are_fine() -> None:
    assert dumps_value({"a": [1, 2.5, None, True]}, "x") == b'{"a":[1,2.5,null,true]}'


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (
            b'{"schema_version": 7}',
            f"run.json is written in result schema 7; this trnbench reads up to {SCHEMA_VERSION}\n"
            "  cause: a newer trnbench wrote it\n"
            "  try:   pip install --upgrade trnbench",
        ),
        (
            b"{}",
            "run.json has no usable schema_version (found None)\n"
            "  cause: it is not a trnbench result, or it was edited by hand\n"
            "  try:   trnbench export RUN --as json  writes one that can be read back",
        ),
        (
            b'{"schema_version": true}',
            "run.json has no usable schema_version (found True)\n"
            "  cause: it is not a trnbench result, or it was edited by hand\n"
            "  try:   trnbench export RUN --as json  writes one that can be read back",
        ),
        (
            b'{"schema_version": 1}',
            "run.json is not a trnbench result: Object missing required field `id`\n"
            "  cause: a field is missing, misspelt or of another type\n"
            "  try:   trnbench export --schema  prints what a result looks like",
        ),
        (
            b'{"schema_version": 1, "id": "x", "created": "", "tool_version": "", "planet": "Mars"}',
            "run.json is not a trnbench result: Object contains unknown field `planet`\n"
            "  cause: a field is missing, misspelt or of another type\n"
            "  try:   trnbench export --schema  prints what a result looks like",
        ),
    ],
)
def test_what_is_no_run_is_refused_by_name(data: bytes, text: str) -> None:
    assert text_of(BadInput, loads, data, "run.json") == text


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


def test_reading_goes_through_the_chain(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def rename(old: dict[str, Any]) -> dict[str, Any]:
        return {**{key: value for key, value in old.items() if key != "label"}, "id": old["label"]}

    document = {**json.loads(dumps(run)), "label": run.id}
    del document["id"]
    newer = SCHEMA_VERSION + 1
    monkeypatch.setattr(schema, "SCHEMA_VERSION", newer)
    monkeypatch.setattr(result_json, "SCHEMA_VERSION", newer)
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


def test_several_runs_are_an_array(run: Run) -> None:
    other = msgspec.structs.replace(run, id="other")
    assert loads(write([run])) == run
    assert msgspec.json.decode(write([run, other]), type=list[Run]) == [run, other]


def test_the_schema_describes_what_is_written(run: Run) -> None:
    described = schema.json_schema()
    assert described["title"] == "trnbench run"
    definitions = described["$defs"]
    for name, value in (("Run", run), ("Measurement", run.measurements[0]), ("Metric", None)):
        assert set(definitions[name]["properties"]) == set(
            json.loads(msgspec.json.encode(value)) if value is not None else definitions[name]["properties"]
        )
    assert definitions["Run"]["additionalProperties"] is False
    json.dumps(described, allow_nan=False)


def test_the_schema_version_has_a_history() -> None:
    from pathlib import Path

    import trnbench.results.run as source

    text = Path(source.__file__).read_text()
    history = text.split("# History: ")[1].partition("\n\n")[0]
    assert f"{SCHEMA_VERSION} " in history


def test_measurements_can_be_built_from_their_documents(run: Run) -> None:
    for each in run.measurements:
        assert msgspec.json.decode(dumps_measurement(each), type=Measurement) == each
