"""Fact files that are wrong: the error names the entry, the key and what to write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fact_rows import FLOPS, group
from hypothesis import given
from hypothesis import strategies as st
from messages import messages
from stored_run import text_of

from trnbench.errors import BadInput, FactError, MissingFile, TrnbenchError, UnitError, UsageError
from trnbench.facts.load import FACT_KEYS, load_book, load_costs

Write = Callable[..., Path]


HEAD_LINES = 8  # of the sources that `write` puts before every body


HERE = Path(__file__).parent


def body(typed: str) -> str:
    """Facts of one group, with & between them; anything else as lines of a file, with ; between them."""
    return group(*typed.split(" & ")) if typed.startswith("metric") else f"\n{typed}\n".replace("; ", "\n")


TOML = st.recursive(
    st.one_of(st.booleans(), st.integers(-5, 5), st.floats(), st.text("ab,1.", max_size=4)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [*FACT_KEYS, "facts", "group", "sources", "disputes", "assumptions", "values", "low", "id"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("kind", "typed", "message"),
    [
        (kind, *row.values[:2])
        for kind, name in ((FactError, "wrong_facts"), (UnitError, "wrong_units"))
        for row in messages(HERE / f"{name}.txt")
    ],
)
def test_errors_name_the_entry_the_key_and_what_to_write(
    write: Write, kind: type[TrnbenchError], typed: str, message: str
) -> None:
    path = write(body(typed))
    with pytest.raises(kind) as error:
        load_book([path])
    assert str(error.value) == f"{path}: {message}"
    assert error.value.exit_code == 2


def test_a_missing_file_names_its_neighbours(write: Write) -> None:
    path = write(group(FLOPS))
    assert text_of(MissingFile, load_book, [path.parent / "fcts.toml"]) == (
        f"no such file: {path.parent / 'fcts.toml'}\n"
        "  cause: the path is wrong, or the package that names it is only partly installed\n"
        "  try:   in that folder: facts.toml"
    )


def test_what_is_no_toml_is_placed_by_line_and_column(write: Write) -> None:
    path = write('\n[[group]]\nsubject = "box\n')
    with pytest.raises(BadInput) as error:
        load_book([path])
    assert str(error.value).startswith(f"{path} is no valid TOML: ")
    assert f"(at line {HEAD_LINES + 3}, column 15)" in str(error.value)
    assert "cause: often a missing quote, comma or bracket just before that place" in str(error.value)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "facts.toml"
    path.write_bytes(b"schema = 1\n# \xff\n")
    assert (
        text_of(BadInput, load_book, [path])
        == f"{path} is not UTF-8 text\n  cause: byte 13 cannot be decoded\n  try:   save it as UTF-8"
    )


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("", "the schema is not stated\n  try:   schema = 1 as the first line"),
        (
            "schema = 2\n",
            "schema 2 is not known here\n  cause: this version reads schema 1\n"
            "  try:   a newer trnbench, if a newer one wrote the file",
        ),
        (
            "schema = true\n",
            "schema True is not known here\n  cause: this version reads schema 1\n"
            "  try:   a newer trnbench, if a newer one wrote the file",
        ),
    ],
)
def test_the_schema_has_to_be_known(write: Write, head: str, message: str) -> None:
    path = write("", head=head)
    assert text_of(FactError, load_book, [path]) == f"{path}: {message}"


@pytest.mark.parametrize(("typed", "message", "_"), messages(HERE / "wrong_costs.txt"))
def test_costs_hold_no_impossible_number(write: Write, typed: str, message: str, _: int) -> None:
    path = write(body(typed), "costs.toml", head="schema = 1\n")
    assert text_of(UsageError, load_costs, path) == f"{path}: {message}"


@given(st.dictionaries(st.sampled_from(["group", "sources", "disputes", "assumptions", "override"]), TOML))
def test_whatever_a_file_holds_the_error_names_it(tmp_path_factory: Any, body: object) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.touch()
    document = {"schema": 1, **body}  # type: ignore[dict-item]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trnbench.facts.load.read_toml", lambda _: document)
        said = str(path)
        try:
            load_book([path])
        except FactError as error:
            said = str(error)
    assert said.startswith(str(path))
