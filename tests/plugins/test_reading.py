"""Files of facts and costs are read once in a process or for a cache, and again when they are others."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from trnbench.errors import FactError, MissingFile
from trnbench.facts import load
from trnbench.facts.fact import FactBook
from trnbench.facts.files import Files, Memo, Reader, forget, read_book, read_costs
from trnbench.registry import load_registry
from trnbench.store import cache
from trnbench.store.cache import Cache, RememberedFiles

COSTS = "schema = 1\n[dma]\nstartup_ns = 2000\nshare = 2.0\nlanes = [1, 2.5]\n"


class Parsed:
    """How often a file was parsed."""

    count = 0


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[Parsed]:
    parsed = Parsed()

    def counted(parse: Callable[..., Any]) -> Callable[..., Any]:
        def parse_and_count(path: Any) -> Any:
            parsed.count += 1
            return parse(path)

        return parse_and_count

    monkeypatch.setattr(load, "load_book", counted(load.load_book))
    monkeypatch.setattr(load, "load_costs", counted(load.load_costs))
    forget()
    yield parsed
    forget()


@pytest.fixture
def kept(tmp_path: Path, anew: Parsed) -> RememberedFiles:
    return RememberedFiles(Cache(tmp_path / "results.db"))


@pytest.fixture(params=["of a process", "in a cache"])
def readers(request: Any, tmp_path: Path) -> Callable[[], Reader]:
    if request.param == "of a process":
        return Memo
    return lambda: RememberedFiles(Cache(tmp_path / "results.db"))


def costs_file(folder: Path, text: str = COSTS) -> Path:
    path = folder / "costs.toml"
    path.write_text(text)
    return path


def test_an_edited_file_is_read(tmp_path: Path, anew: Parsed, readers: Any) -> None:
    reading = readers()
    assert read_costs(reading, costs_file(tmp_path))["dma"]["startup_ns"] == 2000
    edited = costs_file(tmp_path, COSTS.replace("2000", "1999"))
    assert read_costs(reading, edited)["dma"]["startup_ns"] == 1999
    assert read_costs(reading, costs_file(tmp_path))["dma"]["startup_ns"] == 2000
    assert anew.count == 2


def test_what_changes_while_it_is_read_is_not_kept(tmp_path: Path, anew: Parsed, readers: Any) -> None:
    path = costs_file(tmp_path)

    def meanwhile() -> dict[str, Any]:
        costs_file(tmp_path, COSTS.replace("2000", "7"))
        return load.load_costs(path)

    assert readers().read("costs", Files(path), dict[str, Any], meanwhile)["dma"]["startup_ns"] == 7
    costs_file(tmp_path)
    assert read_costs(readers(), path)["dma"]["startup_ns"] == 2000


def test_a_mistake_is_told_each_time(tmp_path: Path, anew: Parsed, readers: Any) -> None:
    path = costs_file(tmp_path, "schema = 9\n")
    for _ in range(2):
        with pytest.raises(FactError, match="schema 9 is not known here"):
            read_costs(readers(), path)
    with pytest.raises(MissingFile, match="there is no file"):
        read_book(readers(), Files(tmp_path / "absent.toml"))
    assert anew.count == 2


@pytest.mark.parts
def test_whoever_asks_next_is_given_the_same_book(anew: Parsed) -> None:
    facts = load_registry().generations["trn1"].facts
    first, again = read_book(Memo(), Files(*facts)), read_book(Memo(), Files(*facts))
    assert first is again
    assert anew.count == 1


def test_a_table_is_the_askers_own(tmp_path: Path, anew: Parsed) -> None:
    path = costs_file(tmp_path)
    read_costs(Memo(), path)["dma"]["lanes"].append(3)
    read_costs(Memo(), path)["dma"]["startup_ns"] = 1
    assert read_costs(Memo(), path)["dma"] == {"startup_ns": 2000, "share": 2.0, "lanes": [1, 2.5]}
    assert anew.count == 1


def test_the_same_text_is_a_book_or_a_table(tmp_path: Path, anew: Parsed) -> None:
    path = costs_file(tmp_path, "schema = 1\n")
    assert read_costs(Memo(), path) == {"schema": 1}
    assert read_book(Memo(), Files(path)) == FactBook()


def test_no_more_is_kept_than_a_process_needs(tmp_path: Path, anew: Parsed) -> None:
    reading = Memo()
    for number in range(65):
        read_costs(reading, costs_file(tmp_path, f"schema = 1\nnumber = {number}\n"))
    assert anew.count == 65
    read_costs(reading, costs_file(tmp_path, "schema = 1\nnumber = 1\n"))
    assert anew.count == 65
    read_costs(reading, costs_file(tmp_path, "schema = 1\nnumber = 0\n"))
    assert anew.count == 66


# What a cache keeps comes back as it was --------------------------------------------------------------


@pytest.mark.parts
def test_published_points_come_back_as_they_were(kept: RememberedFiles, monkeypatch: Any) -> None:
    from trnbench_fidelity.published_points import published_points

    registry = load_registry()
    registry.reading = kept
    first = published_points(registry)
    module = "trnbench_fidelity.published_points"
    monkeypatch.setattr(f"{module}.load_published", lambda *_: pytest.fail("it was read again"))
    again = published_points(registry)
    assert first == again
    assert repr(first) == repr(again)


@pytest.mark.parts
@pytest.mark.parametrize("name", ["trn1", "trn2", "trn3"])
def test_every_book_and_table_comes_back_as_it_was(name: str, kept: Any, anew: Parsed) -> None:
    generation = load_registry().generations[name]
    first = read_book(kept, Files(*generation.facts)), read_costs(kept, generation.costs)
    again = read_book(kept, Files(*generation.facts)), read_costs(kept, generation.costs)
    assert anew.count == 2
    assert first == again
    assert repr(first) == repr(again)  # 2 is not 2.0, and what stands first still does
    assert list(first[1]) == list(again[1])


def test_another_reader_reads_anew(tmp_path: Path, kept: Any, anew: Parsed, monkeypatch: Any) -> None:
    path = costs_file(tmp_path)
    read_costs(kept, path)
    monkeypatch.setattr(cache, "packages_digest", lambda names: b"another")
    read_costs(kept, path)
    assert anew.count == 2


def test_a_damaged_or_foreign_entry_is_read_anew(tmp_path: Path, kept: Any, anew: Parsed) -> None:
    path = costs_file(tmp_path)
    table = read_costs(kept, path)
    cache = Cache(tmp_path / "results.db")
    with sqlite3.connect(cache.path) as connection:
        (key,) = connection.execute("SELECT key FROM entries").fetchone()
        connection.execute("UPDATE entries SET content = x'00'")
    connection.close()
    assert read_costs(kept, path) == table
    cache.put(key, b"\xc1 no table")
    cache.close()
    assert read_costs(kept, path) == table
    assert anew.count == 3
    assert read_costs(kept, path) == table
    assert anew.count == 3


def test_a_read_only_folder_does_without(tmp_path: Path, anew: Parsed) -> None:
    reading = RememberedFiles(Cache(tmp_path / "missing" / "results.db"))
    path = costs_file(tmp_path)
    assert read_costs(reading, path) == read_costs(reading, path)
    assert anew.count == 2
    assert not (tmp_path / "missing").exists()


def test_what_would_not_come_back_is_not_kept(tmp_path: Path, kept: Any, anew: Parsed) -> None:
    path = costs_file(tmp_path, COSTS + "[told]\nday = 2026-01-02\n")
    assert repr(read_costs(kept, path)) == repr(read_costs(kept, path))
    assert anew.count == 2
