"""Malformed files of published steps: one sentence each, with file and entry."""

from __future__ import annotations

from pathlib import Path

import pytest

from trnbench.errors import FactError
from trnbench_fidelity.steps.load import load_steps
from trnbench_steps.job import Task

GOOD = {
    "id": '"a"',
    "source": '"s"',
    "locator": '"row 1"',
    "hardware": '"x"',
    "instances": "1",
    "model_printed": '"M"',
    "types_printed": '"bf16"',
    "metric": '"TPOT"',
    "unit": '"ms/token"',
    "printed": '"2.5"',
    "task": '"decode"',
    "use": '"step"',
    "stated": "{ batch = 2 }",
    "model": '"llama-3-8b"',
    "system": '"trn1.32xlarge"',
    "layout": "{ tp = 8 }",
    "job": "{ batch = 2, kv = 64 }",
    "readings": '["r"]',
}
READING = '[[reading]]\nid = "r"\nsays = "so"\n'
NONE = {
    key: value for key, value in GOOD.items() if key not in ("model", "system", "layout", "job", "readings")
}


def write(path: Path, *rows: dict[str, str], head: str = f"schema = 1\n{READING}") -> Path:
    lines = ["  { " + ", ".join(f"{key} = {value}" for key, value in row.items()) + " }," for row in rows]
    path.write_text(head + "[[group]]\npoints = [\n" + "\n".join(lines) + "\n]\n")
    return path


def caught(path: Path) -> str:
    with pytest.raises(FactError) as found:
        load_steps(path, "x")
    return str(found.value).replace(str(path), "FILE")


def test_a_good_point(tmp_path: Path) -> None:
    found = load_steps(write(tmp_path / "p.toml", GOOD), "g")
    (point,) = found.points
    assert (point.id, point.generation, point.time_s, point.layout.tp) == ("a", "g", 2.5e-3, 8)
    assert point.job is not None
    assert (point.job.task, point.job.kv) == (Task.DECODE, 64)
    assert found.readings["r"].says == "so"


def test_a_point_adds_to_what_its_group_says_of_job_and_layout(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    shared = {key: value for key, value in GOOD.items() if key not in ("id", "job", "printed")}
    lines = "\n".join(f"{key} = {value}" for key, value in shared.items())
    points = (
        '{ id = "a", printed = "1", job = { kv = 8 } }, '
        '{ id = "b", printed = "2", job = { kv = 9, batch = 4 } }'
    )
    job = 'job = { batch = 2, weights = "int8" }'
    path.write_text(f"schema = 1\n{READING}[[group]]\n{lines}\n{job}\npoints = [ {points} ]\n")
    jobs = [point.job for point in load_steps(path).points]
    assert [(job.kv, job.batch, job.weights) for job in jobs if job] == [(8, 2, "int8"), (9, 4, "int8")]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"printed": '"fast"'}, "printed is 'fast'\n  try:   the digits of the source: printed = \"7.03\""),
        (
            {"printed": '"0"'},
            '0 ms/token is no time of a step\n  try:   use = "none" and a note that says why',
        ),
        ({"unit": '"%"'}, '2.5 % is no time of a step\n  try:   use = "none" and a note that says why'),
        ({"unit": '"us"'}, "unknown unit 'us'\n  cause: did you mean 's'?"),
        ({"use": '"maybe"'}, "unknown use 'maybe'\n  cause: known: step, none"),
        ({"use": '"none"'}, 'use is none, but not why\n  try:   note = "the batch is not stated"'),
        ({"readings": '["s"]'}, "no reading 's'\n  cause: known: r"),
        ({"stated": "{ batches = 2 }"}, "unknown key 'stated.batches'\n  cause: did you mean 'batch'?"),
        (
            {"stated": "{ batch = 0 }"},
            "stated.batch is 0\n  try:   a whole number above zero, or leave it out",
        ),
        ({"job": "{ batch = 2, kvs = 64 }"}, ", job: unknown key 'kvs'\n  cause: did you mean 'kv'?"),
        ({"job": '{ batch = "2", kv = 64 }'}, ", job: Expected `int`, got `str` - at `$.batch`"),
        (
            {"job": "{ batch = 2 }"},
            "--kv is not given\n  cause: a decoding step depends on the tokens in the cache",
        ),
        ({"layout": "{ tp = 8, zero = 3 }"}, "--zero 3 is not known here\n  cause: 0 keeps"),
        ({"colour": '"red"'}, "unknown key 'colour'\n  cause: known: "),
        ({"model": '""'}, "key 'model' is missing"),
    ],
)
def test_mistakes(tmp_path: Path, change: dict[str, str], text: str) -> None:
    found = caught(write(tmp_path / "p.toml", {**GOOD, **change}))
    where, separator = "FILE: [[group]] 1, point a", "" if text.startswith(",") else ": "
    assert found.startswith(where + separator + text), found


def test_a_point_that_is_no_step_says_nothing_of_how_it_is_composed(tmp_path: Path) -> None:
    none = {**NONE, "use": '"none"', "note": '"a rate"', "layout": "{ tp = 8 }"}
    assert caught(write(tmp_path / "p.toml", GOOD, {**none, "id": '"b"'})) == (
        "FILE: [[group]] 1, point b: use is none, but layout says how it is composed\n"
        "  try:   leave out one of the two"
    )


def test_ids_and_readings_are_there_once_and_used(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    assert caught(write(path, GOOD, GOOD)).startswith("FILE: [[group]] 1, point a: id 'a' is used twice")
    twice = f"schema = 1\n{READING}{READING}"
    assert caught(write(path, GOOD, head=twice)).startswith("FILE: [[reading]] 2: id 'r' is used twice")
    other = f"schema = 1\n{READING}" + READING.replace('"r"', '"q"')
    assert caught(write(path, GOOD, head=other)) == (
        "FILE: no point is read by 'q'\n  try:   name it in readings, or leave it out"
    )
    assert caught(write(path, GOOD, head="schema = 2\n")).startswith("FILE: schema is 2")
    path.write_text("schema = 1\n")
    assert caught(path).startswith("FILE: no point in this file\n  try:   [[group]] with points = [ {")
