"""Malformed files of published points: one sentence each, with file and entry."""

from __future__ import annotations

from pathlib import Path

import pytest

from trnbench.errors import BadInput, FactError, MissingFile, TrnbenchError
from trnbench_fidelity.load import load_published

GOOD = {
    "id": '"a"',
    "family": '"hbm"',
    "kind": '"measured"',
    "hardware": '"x"',
    "op": '"read"',
    "metric": '"bandwidth"',
    "quantity": '"bandwidth_bytes_per_s"',
    "printed": '"2.5"',
    "unit": '"GB/s"',
    "value": "2.5e9",
    "source": '"s"',
    "clock": '"profile"',
    "usable": '"direct"',
}


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


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"value": "2.6e9"},
            "FILE: [[group]] 1, point a: value is 2600000000.0, 2.5 GB/s is 2500000000.0\n"
            "  try:   value = 2500000000.0",
        ),
        (
            {"family": '"gem"'},
            "FILE: [[group]] 1, point a: unknown family 'gem'\n  cause: did you mean 'gemm'?",
        ),
        (
            {"usable": '"no"'},
            "FILE: [[group]] 1, point a: usable is no, but not why\n"
            '  try:   usable_note = "the message size is not stated"',
        ),
        (
            {"colour": '"red"'},
            "FILE: [[group]] 1, point a: unknown key 'colour'\n  cause: known: ",
        ),
        (
            {"unit": '"us"'},
            "FILE: [[group]] 1, point a: unit 'us' does not measure bandwidth_bytes_per_s\n"
            "  cause: its base unit would be B/s",
        ),
        (
            {"printed": '""'},
            "FILE: [[group]] 1, point a: printed and value belong together\n"
            '  try:   printed = "272.98", value = 272.98e9',
        ),
        (
            {"id": '"a b"'},
            "FILE: [[group]] 1, point a b: 'a b' is no id\n"
            "  try:   letters, digits, dots, dashes and underscores",
        ),
        (
            {"contradicts": '["b"]'},
            "FILE: point a contradicts another, but not of which release it is\n"
            "  cause: releases of runtime and compiler may explain it\n"
            '  try:   release = "SDK 2.30", or "unstated"',
        ),
        (
            {"contradicts": '["b"]', "release": '"unstated"'},
            "FILE: point a contradicts 'b'\n  cause: known: a\n"
            "  try:   name each of the two in the other's list",
        ),
        (
            {"kernel": '{ file = "../x.py", function = "f" }'},
            "FILE: [[group]] 1, point a, kernel: file '../x.py' leaves the repository\n"
            "  try:   a path inside it",
        ),
        (
            {"kernel": '{ file = "x.py", function = "f", arguments = ["float32[1"] }'},
            "FILE: [[group]] 1, point a, kernel: 'float32[1' is no argument\n"
            '  try:   "float32[128,512]", a number, or name=one of them',
        ),
        (
            {"kernel": '{ file = "x.py", function = "f", grid = [0] }'},
            "FILE: [[group]] 1, point a, kernel: grid [0] is no grid\n  try:   grid = [2]",
        ),
        (
            {"kernel": '{ file = "x.py", function = "f", also = [{ arguments = ["2"] }] }'},
            "FILE: [[group]] 1, point a, kernel, also 1: ",
        ),
        (
            {"clock": '"wall"'},
            "FILE: [[group]] 1, point a: unknown clock 'wall'",
        ),
        (
            {"engine": '"tensor"'},
            "FILE: point a is of an engine, but not of which profile",
        ),
        (
            {"engine": '"tensr"', "of": '"a"'},
            "FILE: point a: engine 'tensr'\n  cause: did you mean 'tensor'?",
        ),
        (
            {"of": '"b"'},
            "FILE: point a is of 'b', which is no point\n  cause: known: a",
        ),
        (
            {"of": '"a"'},
            "FILE: point a is of 'a', which is no time",
        ),
        (
            {"shape": "{ M = true }"},
            "FILE: [[group]] 1, point a: shape.M is True\n  try:   a number or a text",
        ),
    ],
)
def test_what_breaks_a_rule_is_named(tmp_path: Path, change: dict[str, str], text: str) -> None:
    found = caught(write(tmp_path / "p.toml", {**GOOD, **change}))
    assert found.startswith(text)


@pytest.mark.parametrize("key", [key for key in GOOD if key not in ("value", "printed")])
def test_a_missing_key_is_named(tmp_path: Path, key: str) -> None:
    left = {name: value for name, value in GOOD.items() if name != key}
    assert f"key '{key}' is missing" in caught(write(tmp_path / "p.toml", left)) or key in (
        "kind",
        "quantity",
        "usable",
        "family",
        "clock",
    )
    with pytest.raises(FactError):
        load_published(tmp_path / "p.toml")


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
