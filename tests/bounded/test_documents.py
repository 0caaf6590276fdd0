"""Documents and numbers from outside, within their bounds."""

from __future__ import annotations

import json
import math
import os
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import messages
from stored_run import message_of, text_of

from trnbench.bounded import MIB, RUNS, deepest, kinds, parse_toml, read_file, read_toml
from trnbench.bounded.json import DEEPEST, NotJson, deep_json, parse_json
from trnbench.bounded.kinds import LONGEST, OF_A_SECOND, POWERS_OF_TWO, Number
from trnbench.errors import BadInput, MissingFile, UsageError

JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=30,
)


def depth(value: Any) -> int:
    """Tables and lists within each other, counted the plain way."""
    if not isinstance(value, (dict, list)):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth, inner), default=0)


@given(JSON, st.integers(0, 6), st.booleans())
def test_the_depth_of_json_is_told_without_reading_it(value: Any, most: int, ascii_: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_).encode("utf-8", "surrogatepass")
    assert deep_json(text, most) == (depth(value) > most)
    assert not isinstance(value, (dict, list)) or deepest({"": value}, most + 1) == (depth(value) > most)


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"[[]," * 100_000,
        b'["\\"",' * 100 + b"]" * 100,
    ],
)
def test_deep_json_is_refused_in_time(text: bytes) -> None:
    with pytest.raises(NotJson, match=f"nested more than {DEEPEST} deep"):
        parse_json(text)


@pytest.mark.parametrize(
    "text", [b"", b"{", b"nul", b"NaN", b"1e999", b'"\xff"', b'"\\ud800"', b"\0", b"[1,]", b"9" * 5000 + b"x"]
)
def test_what_is_no_json(text: bytes) -> None:
    with pytest.raises(NotJson):
        parse_json(text)


def test_more_than_the_bound_is_refused_unread() -> None:
    with pytest.raises(NotJson, match="it has more than 10 bytes"):
        parse_json(b"x" * 11, most=10)
    with pytest.raises(NotJson, match="it has more than 16,777,216 bytes"):
        parse_json(b"1" * ((16 << 20) + 1))


def test_other_programs_write_nan_for_what_they_do_not_know() -> None:
    assert parse_json('{"a": NaN, "b": [Infinity, 1.5]}', nan_is_null=True) == {"a": None, "b": [None, 1.5]}
    with pytest.raises(NotJson):
        parse_json("9" * 5000, nan_is_null=True)


@given(JSON)
def test_json_is_read_as_it_was_written(value: Any) -> None:
    if depth(value) <= DEEPEST:
        assert parse_json(json.dumps(value)) == value


LONG = {"ARRAYS": "[" * 5000 + "]" * 5000, "DOTS": ".".join("a" * 5000), "DIGITS": "9" * 5000}


@pytest.mark.parametrize(("text", "message", "code"), messages(Path(__file__).parent / "wrong_toml.txt"))
def test_what_no_toml_of_ours_holds(text: str, message: str, code: int) -> None:
    for name, long in LONG.items():
        text = text.replace(name, long)
    assert message_of(BadInput, parse_toml, f"{text}\n".encode(), "f") == (message, code)


def test_toml_is_utf_8() -> None:
    assert text_of(BadInput, parse_toml, b"x = '\xff'", "f") == (
        "f is not UTF-8 text\n  cause: byte 5 cannot be decoded\n  try:   save it as UTF-8"
    )


def test_whole_numbers_of_toml_have_64_bits() -> None:
    ends = [-(2**63), 2**63 - 1]
    assert parse_toml(f"x = {[*ends, 0.5]}".encode(), "f") == {"x": [*ends, 0.5]}
    with pytest.raises(BadInput, match=r"^f: x\[1\] has more than 64 bits"):
        parse_toml(f"x = [0, {2**63}]".encode(), "f")


@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a device", "a link to a pipe"])
def test_what_is_no_regular_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "it"
    if kind == "a folder":
        path.mkdir()
    elif kind == "a device":
        path = Path("/dev/zero")
    else:
        os.mkfifo(path)
    if kind == "a link to a pipe":
        (tmp_path / "link").symlink_to(path)
        path = tmp_path / "link"
    assert text_of(BadInput, lambda: read_file(path, most=10)) == (
        f"cannot read {path}: it is {kind.removeprefix('a link to ')}\n"
        "  cause: a regular file is needed, which ends and can be read twice\n"
        "  try:   save it in a file first"
    )


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.write_bytes(b"x" * (2 << 20))
    assert len(read_file(path, most=2 << 20)) == 2 << 20
    assert text_of(BadInput, lambda: read_file(path, most=1 << 20)).startswith(
        f"{path} holds more than 1 MiB\n"
    )
    os.truncate(path, (16 << 20) + 1)
    assert text_of(BadInput, read_toml, path).startswith(f"{path} holds more than 16 MiB\n")


@pytest.mark.parametrize("name", ["no", "no/such", "x" * 5000, "a\0b"])
def test_what_is_not_there_or_no_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_file(tmp_path / name, most=10)
    assert isinstance(caught.value, MissingFile) == name.startswith("no")
    assert len(str(caught.value)) < 600


def test_a_file_of_somebody_else_is_not_read_where_the_owner_matters(tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.write_bytes(b"x")
    assert read_file(path, most=10, owner=os.getuid()) == b"x"
    with pytest.raises(BadInput, match="it belongs to another user"):
        read_file(path, most=10, owner=os.getuid() + 1)


def test_a_small_file_takes_little_memory_whatever_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    path.write_bytes(b"{}")
    tracemalloc.start()
    try:
        assert read_file(path, most=RUNS) == b"{}"
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * MIB


# One kind of number for every option: what is one, and what never is.


KINDS = {name: each for name, each in vars(kinds).items() if isinstance(each, Number)}
SIZE = Number("size", "bytes", "4K", 0, 2**50, units=POWERS_OF_TWO, floored=True)
TIME = Number("time", "with a unit", "5us", 0, 10, units=OF_A_SECOND)
LIMIT = Number("limit", "seconds", "60", 0, 100, smallest=0.5)
COUNT = Number("count", "it counts", "3", 1, 9, whole=True)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (SIZE, "1.5K", 1536), (SIZE, "64 MiB", 64 << 20), (SIZE, "2tb", 2 << 40), (SIZE, " 7 ", 7),
        (SIZE, "1e3", 1000), (SIZE, ".5", Fraction(1, 2)), (SIZE, "0", 0), (SIZE, "+3", 3),
        (TIME, "50us", Fraction(5, 100_000)), (TIME, "50µs", Fraction(5, 100_000)), (TIME, "1 S", 1),
        (kinds.AXIS, "4096", 4096), (kinds.AXIS, "64k", 65536), (kinds.AXIS, "1MiB", 1 << 20),
        (kinds.AXIS, "2GB", 2 << 30), (kinds.AXIS, "1.5K", 1536), (kinds.AXIS, "1e3", 1000),
        (kinds.AXIS, "0.5", Fraction(1, 2)), (kinds.AXIS, "-3", -3), (kinds.AXIS, " 7 ", 7),
        (SIZE, f"{7:040}", 7), (kinds.TRAINED, "2k", 2000), (kinds.TRAINED, "3M", 3 * 10**6),
        (kinds.TRAINED, "4b", 4 * 10**9), (kinds.TRAINED, "5T", 5 * 10**12), (kinds.TRAINED, "6", 6),
        (kinds.UTILISATION, "70%", Fraction(7, 10)), (kinds.UTILISATION, "1", 1),
        (TIME, "0ns", 0), (LIMIT, "0", 0), (LIMIT, "0.5", Fraction(1, 2)), (COUNT, "9", 9), (COUNT, "3.0", 3),
    ],
)  # fmt: skip
def test_what_is_a_number(kind: Number, text: str, value: Fraction) -> None:
    assert kind.parsed(text) == kind.read(text, "it") == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (SIZE, "-1"), (SIZE, "2e15"), (SIZE, "1KK"), (SIZE, "1 2"), (SIZE, "1e100"), (SIZE, "1  K"),
        (SIZE, "1\nK"), (TIME, "5"), (TIME, "5 min"), (TIME, "11s"), (LIMIT, "0.4"), (LIMIT, "1e-30"),
        (COUNT, "1.5"), (COUNT, "0"), (COUNT, "10"), (COUNT, "3K"), (SIZE, f"{7:041}"),
    ],
)  # fmt: skip
def test_what_is_none_of_its_kind(kind: Number, text: str) -> None:
    assert kind.parsed(text) is None


NO_NUMBER = ("nan", "inf", "-inf", "", " ", "1_0", "٣", "½", "²", "0x10", "1e400", "1,5", "--1", "9" * 5000)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kind_takes_its_example_and_nothing_that_is_no_number(kind: Number) -> None:
    assert [text for text in NO_NUMBER if kind.parsed(text) is not None] == []
    for value in (math.nan, math.inf, -math.inf):
        assert not kind.fits(value)
        with pytest.raises(UsageError):
            kind.checked(value, "it")
    assert kind.parsed(kind.example) is not None
    assert kind.least <= kind.most
    assert not kind.noun.startswith(("a ", "an "))


def test_bounds_are_those_that_users_were_promised() -> None:
    """A bound that moves refuses what a file or a script asked for until now, or takes what nobody tried."""
    words = {
        name: (kind.least, kind.most, kind.smallest, *["whole"] * kind.whole, *["floored"] * kind.floored)
        for name, kind in KINDS.items()
    }
    lines = Path(__file__).with_name("bounds.txt").read_text().splitlines()
    assert lines == [" ".join((name, *map(str, bounds))) for name, bounds in words.items()]


def test_a_count_has_the_suffixes_that_its_axis_has() -> None:
    """What `-a kv=4K` takes, `--kv 4K` does; bytes are no count."""
    for kind in (kinds.TOKENS, kinds.SEQUENCES, kinds.DEGREE, kinds.GROUP, kinds.SAMPLE, kinds.SHOWN):
        assert kind.parsed("4K") == kinds.AXIS.parsed("4K") == 4096
        assert kind.parsed("4KB") is None
        assert kind.parsed("0.3K") is None


def test_the_message_says_what_is_taken() -> None:
    assert text_of(UsageError, COUNT.read, "9" * 99, "--count") == (
        f"--count '{'9' * 40}…{'9' * 10}' (99 characters) is no count\n"
        "  cause: it counts, 1 to 9\n"
        "  try:   --count 3"
    )
    assert text_of(UsageError, kinds.MESSAGE.read, "64X", "-b") == (
        "-b '64X' is no size\n"
        "  cause: a number with K, M or G behind it, which are powers of two, 0 to 17,592,186,044,416\n"
        "  try:   -b 64K"
    )
    assert [kind.range for kind in (kinds.LEFT_OF_LINK, kinds.UTILISATION, kinds.COST, COUNT)] == [
        "0 or 0.001 to 1,000", "0.001 to 1", "0 to 1e+18", "1 to 9",
    ]  # fmt: skip
    assert [kind.range for kind in (kinds.AWAITED, kinds.LATE, kinds.PERCENT)] == [
        "1 ns to 100,000 s", "0 to 1,000 s", "0 to 1,000,000%",
    ]  # fmt: skip
    assert (
        text_of(UsageError, COUNT.checked, 0.5, "count")
        == "count 0.5 is no count\n  cause: it counts, 1 to 9\n  try:   count 3"
    )


@given(st.text(max_size=LONGEST + 5))
def test_whatever_is_typed_is_a_number_or_none(text: str) -> None:
    for kind in KINDS.values():
        value = kind.parsed(text)
        assert value is None or kind.least <= value <= kind.most


@given(st.floats(0, 1e14, allow_nan=False))
def test_every_float_that_python_prints_is_read_back(value: float) -> None:
    if value == 0 or value > 1e-99:
        assert float(kinds.AXIS.parsed(repr(value)) or 0) == value
