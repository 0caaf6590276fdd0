"""Files of facts and costs are read once in a process, and again when they are others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from counting_reader import Counting

from trnbench.errors import FactError, MissingFile
from trnbench.facts.fact import FactBook
from trnbench.facts.files import Files, Memo, Parser, forget
from trnbench.registry import load_registry

COSTS = "schema = 1\n[dma]\nstartup_ns = 2000\nlanes = [1, 2]\n"


@pytest.fixture
def anew() -> Iterator[Counting]:
    forget()
    yield Counting()
    forget()


def costs_file(folder: Path, text: str = COSTS) -> Path:
    path = folder / "costs.toml"
    path.write_text(text)
    return path


@pytest.mark.parts
def test_whoever_asks_next_is_given_the_same_book(anew: Counting) -> None:
    facts = load_registry().generations["trn1"].facts
    first, again = Memo(anew).book(Files(*facts)), Memo(anew).book(Files(*facts))
    assert first is again
    assert anew.read == 1


def test_a_table_is_the_askers_own(tmp_path: Path, anew: Counting) -> None:
    path = costs_file(tmp_path)
    Memo(anew).costs(Files(path))["dma"]["lanes"].append(3)
    Memo(anew).costs(Files(path))["dma"]["startup_ns"] = 1
    assert Memo(anew).costs(Files(path))["dma"] == {"startup_ns": 2000, "lanes": [1, 2]}
    assert anew.read == 1


def test_an_edited_file_is_read(tmp_path: Path, anew: Counting) -> None:
    reading = Memo(anew)
    assert reading.costs(Files(costs_file(tmp_path)))["dma"]["startup_ns"] == 2000
    assert (
        reading.costs(Files(costs_file(tmp_path, COSTS.replace("2000", "1999"))))["dma"]["startup_ns"] == 1999
    )
    assert reading.costs(Files(costs_file(tmp_path)))["dma"]["startup_ns"] == 2000
    assert anew.read == 2


def test_the_same_text_is_a_book_or_a_table(tmp_path: Path, anew: Counting) -> None:
    path = costs_file(tmp_path, "schema = 1\n")
    assert Memo(anew).costs(Files(path)) == {"schema": 1}
    assert Memo(anew).book(Files(path)) == FactBook()


def test_what_changes_while_it_is_read_is_not_kept(tmp_path: Path, anew: Counting) -> None:
    path = costs_file(tmp_path)

    class Meanwhile(Parser):
        def costs(self, file: Files) -> dict[str, Any]:
            costs_file(tmp_path, COSTS.replace("2000", "7"))
            return super().costs(file)

    assert Memo(Meanwhile()).costs(Files(path))["dma"]["startup_ns"] == 7
    costs_file(tmp_path)
    assert Memo(anew).costs(Files(path))["dma"]["startup_ns"] == 2000


def test_a_mistake_is_told_each_time(tmp_path: Path, anew: Counting) -> None:
    path = costs_file(tmp_path, "schema = 9\n")
    for _ in range(2):
        with pytest.raises(FactError, match="schema 9 is not known here"):
            Memo(anew).costs(Files(path))
    with pytest.raises(MissingFile, match="there is no file"):
        Memo(anew).book(Files(tmp_path / "absent.toml"))
    assert anew.read == 2


def test_no_more_is_kept_than_a_process_needs(tmp_path: Path, anew: Counting) -> None:
    reading = Memo(anew)
    for number in range(65):
        reading.costs(Files(costs_file(tmp_path, f"schema = 1\nnumber = {number}\n")))
    assert anew.read == 65
    reading.costs(Files(costs_file(tmp_path, "schema = 1\nnumber = 1\n")))
    assert anew.read == 65
    reading.costs(Files(costs_file(tmp_path, "schema = 1\nnumber = 0\n")))
    assert anew.read == 66
