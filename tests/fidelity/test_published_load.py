"""Malformed files of published points: one sentence each, with file and entry."""

from __future__ import annotations

from pathlib import Path

import pytest
from messages import messages

from trnbench.errors import BadInput, FactError, MissingFile, TrnbenchError
from trnbench_fidelity.published_points import load_published
from trnbench_fidelity.steps.load import load_steps
from trnbench_steps.job import Task

HERE = Path(__file__).parent


def fields(name: str) -> dict[str, str]:
    """Of one row, as it is written."""
    return dict(line.split(" = ", 1) for line in (HERE / name).read_text(encoding="utf-8").splitlines())


GOOD = fields("good_point.txt")


def write(path: Path, *rows: dict[str, str], head: str = "schema = 1\n") -> Path:
    lines = ["  { " + ", ".join(f"{key} = {value}" for key, value in row.items()) + " }," for row in rows]
    path.write_text(head + "[[group]]\npoints = [\n" + "\n".join(lines) + "\n]\n")
    return path


def caught(path: Path, kind: type[TrnbenchError] = FactError) -> str:
    with pytest.raises(kind) as found:
        load_published(path, "x")
    return str(found.value).replace(str(path), "FILE")


def test_a_good_point(tmp_path: Path) -> None:
    (point,) = load_published(write(tmp_path / "p.toml", GOOD), "g")
    assert (point.id, point.generation, point.value, point.quantity.unit) == ("a", "g", 2.5e9, "B/s")


def test_a_whole_number_is_a_value(tmp_path: Path) -> None:
    (point,) = load_published(write(tmp_path / "p.toml", {**GOOD, "value": "2500000000"}))
    assert point.value == 2.5e9


@pytest.mark.parametrize(("changes", "message", "_"), messages(HERE / "published_points.txt"))
def test_what_breaks_a_rule_is_named(tmp_path: Path, changes: str, message: str, _: int) -> None:
    change = dict(each.split(" = ", 1) for each in changes.split(" & "))
    assert caught(write(tmp_path / "p.toml", {**GOOD, **change})).startswith(message)


@pytest.mark.parametrize("key", [key for key in GOOD if key not in ("value", "printed")])
def test_a_missing_key_is_named(tmp_path: Path, key: str) -> None:
    said = caught(write(tmp_path / "p.toml", {name: each for name, each in GOOD.items() if name != key}))
    # Of a choice it says which there are.
    assert f"key '{key}' is missing" in said or key in ("kind", "quantity", "usable", "family", "clock")


def test_an_id_is_used_once(tmp_path: Path) -> None:
    assert caught(write(tmp_path / "p.toml", GOOD, GOOD)) == (
        "FILE: [[group]] 1, point a: id 'a' is used twice\n  try:   give each point an id of its own"
    )


def test_a_contradiction_is_answered(tmp_path: Path) -> None:
    one = {**GOOD, "contradicts": '["b"]', "release": '"SDK 2.30"'}
    other = {**GOOD, "id": '"b"'}
    assert caught(write(tmp_path / "p.toml", one, other)) == (
        "FILE: point a contradicts 'b'\n  cause: b does not name a\n"
        "  try:   name each of the two in the other's list"
    )
    answered = {**other, "contradicts": '["a"]', "release": '"SDK 2.30"'}
    assert len(load_published(write(tmp_path / "p.toml", one, answered))) == 2


def test_points_contradict_each_other_in_one_quantity(tmp_path: Path) -> None:
    one = {**GOOD, "contradicts": '["b"]', "release": '"SDK 2.30"'}
    other = {**one, "id": '"b"', "contradicts": '["a"]', "quantity": '"busbw_bytes_per_s"'}
    assert caught(write(tmp_path / "p.toml", one, other)) == (
        "FILE: point a contradicts 'b'\n"
        "  cause: one is of bandwidth_bytes_per_s, the other of busbw_bytes_per_s\n"
        "  try:   points contradict each other in one quantity"
    )


def test_files_that_are_none(tmp_path: Path) -> None:
    assert caught(tmp_path / "none.toml", MissingFile).startswith("no such file: FILE")
    broken = tmp_path / "broken.toml"
    broken.write_text("schema = ")
    assert caught(broken, BadInput).startswith("FILE is no valid TOML: ")
    assert caught(write(tmp_path / "p.toml", GOOD, head="schema = 2\n")) == (
        "FILE: schema is 2\n  cause: this trnbench reads schema 1\n  try:   schema = 1"
    )
    empty = tmp_path / "empty.toml"
    empty.write_text("schema = 1\n")
    assert caught(empty) == ("FILE: no point in this file\n  try:   [[group]] with points = [ {id = …}, … ]")


# Malformed files of published steps: one sentence each, with file and entry --------------------------

STEP = fields("good_step.txt")
READING = '[[reading]]\nid = "r"\nsays = "so"\n'
HEAD = f"schema = 1\n{READING}"
COMPOSED = ("model", "system", "layout", "job", "readings")
NONE = {key: value for key, value in STEP.items() if key not in COMPOSED}


def written(path: Path, *rows: dict[str, str], head: str = HEAD) -> Path:
    return write(path, *rows, head=head)


def refused(path: Path) -> str:
    with pytest.raises(FactError) as found:
        load_steps(path, "x")
    return str(found.value).replace(str(path), "FILE")


def test_a_good_step(tmp_path: Path) -> None:
    found = load_steps(written(tmp_path / "p.toml", STEP), "g")
    (point,) = found.points
    assert (point.id, point.generation, point.time_s, point.layout.tp) == ("a", "g", 2.5e-3, 8)
    assert (point.job.task, point.job.kv) == (Task.DECODE, 64)
    assert found.readings["r"].says == "so"


def test_a_point_adds_to_what_its_group_says_of_job_and_layout(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    shared = {key: value for key, value in STEP.items() if key not in ("id", "job", "printed")}
    lines = "\n".join(f"{key} = {value}" for key, value in shared.items())
    points = (
        '{ id = "a", printed = "1", job = { kv = 8 } }, '
        '{ id = "b", printed = "2", job = { kv = 9, batch = 4 } }'
    )
    job = 'job = { batch = 2, weights = "int8" }'
    path.write_text(f"schema = 1\n{READING}[[group]]\n{lines}\n{job}\npoints = [ {points} ]\n")
    jobs = [point.job for point in load_steps(path).points]
    assert [(job.kv, job.batch, job.weights) for job in jobs if job] == [(8, 2, "int8"), (9, 4, "int8")]


@pytest.mark.parametrize(("changes", "message", "_"), messages(HERE / "published_steps.txt"))
def test_what_breaks_a_rule_of_steps_is_named(tmp_path: Path, changes: str, message: str, _: int) -> None:
    change = dict(each.split(" = ", 1) for each in changes.split(" & "))
    found = refused(written(tmp_path / "p.toml", {**STEP, **change}))
    where, separator = "FILE: [[group]] 1, point a", "" if message.startswith(",") else ": "
    assert found.startswith(where + separator + message), found


def test_a_point_that_is_no_step_says_nothing_of_how_it_is_composed(tmp_path: Path) -> None:
    none = {**NONE, "use": '"none"', "note": '"a rate"', "layout": "{ tp = 8 }"}
    assert refused(written(tmp_path / "p.toml", STEP, {**none, "id": '"b"'})) == (
        "FILE: [[group]] 1, point b: use is none, but layout says how it is composed\n"
        "  try:   leave out one of the two"
    )


def test_ids_and_readings_are_there_once_and_used(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    assert refused(written(path, STEP, STEP)).startswith("FILE: [[group]] 1, point a: id 'a' is used twice")
    twice = f"schema = 1\n{READING}{READING}"
    assert refused(written(path, STEP, head=twice)).startswith("FILE: [[reading]] 2: id 'r' is used twice")
    other = f"schema = 1\n{READING}" + READING.replace('"r"', '"q"')
    assert refused(written(path, STEP, head=other)) == (
        "FILE: no point is read by 'q'\n  try:   name it in readings, or leave it out"
    )
    assert refused(written(path, STEP, head="schema = 2\n")).startswith("FILE: schema is 2")
    path.write_text("schema = 1\n")
    assert refused(path).startswith("FILE: no point in this file\n  try:   [[group]] with points = [ {")
