"""What fact and cost files say is read once, and again when they or the entry are not what they were."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from counting_reader import Counting

from trnbench.errors import FactError, MissingFile
from trnbench.facts.files import Files
from trnbench.registry import load_registry
from trnbench.store import cache
from trnbench.store.cache import Cache, RememberedFiles
from trnbench_fidelity import published
from trnbench_fidelity.published import published_points

COSTS = "schema = 1\n[dma]\nstartup_ns = 2000\nshare = 2.0\nlanes = [1, 2.5]\n"


@pytest.fixture
def anew() -> Counting:
    return Counting()


@pytest.fixture
def reading(tmp_path: Path, anew: Counting) -> RememberedFiles:
    return RememberedFiles(Cache(tmp_path / "results.db"), anew)


def costs_file(folder: Path, text: str = COSTS) -> Path:
    path = folder / "costs.toml"
    path.write_text(text)
    return path


def test_published_points_come_back_as_they_were(reading: RememberedFiles, monkeypatch: Any) -> None:
    registry = load_registry()
    registry.reading = reading
    first = published_points(registry)
    monkeypatch.setattr(published, "load_published", lambda *_: pytest.fail("it was read again"))
    again = published_points(registry)
    assert first == again
    assert repr(first) == repr(again)


@pytest.mark.parametrize("name", ["trn1", "trn2", "trn3"])
def test_every_book_and_table_comes_back_as_it_was(name: str, reading: Any, anew: Counting) -> None:
    generation = load_registry().generations[name]
    assert generation.costs is not None
    first = reading.book(Files(*generation.facts)), reading.costs(Files(generation.costs))
    again = reading.book(Files(*generation.facts)), reading.costs(Files(generation.costs))
    assert anew.read == 2
    assert first == again
    assert repr(first) == repr(again)  # 2 is not 2.0, and what stands first still does
    assert list(first[1]) == list(again[1])


def test_an_edited_file_is_read_anew(tmp_path: Path, reading: RememberedFiles, anew: Counting) -> None:
    path = costs_file(tmp_path)
    assert reading.costs(Files(path))["dma"]["startup_ns"] == 2000
    costs_file(tmp_path, COSTS.replace("2000", "1999"))
    assert reading.costs(Files(path))["dma"]["startup_ns"] == 1999
    costs_file(tmp_path)
    assert reading.costs(Files(path))["dma"]["startup_ns"] == 2000
    assert anew.read == 2


def test_another_reader_reads_anew(tmp_path: Path, reading: Any, anew: Counting, monkeypatch: Any) -> None:
    path = costs_file(tmp_path)
    reading.costs(Files(path))
    monkeypatch.setattr(cache, "packages_digest", lambda names: b"another")
    reading.costs(Files(path))
    assert anew.read == 2


def test_a_damaged_or_foreign_entry_is_read_anew(tmp_path: Path, reading: Any, anew: Counting) -> None:
    path = costs_file(tmp_path)
    table = reading.costs(Files(path))
    cache = Cache(tmp_path / "results.db")
    with sqlite3.connect(cache.path) as connection:
        (key,) = connection.execute("SELECT key FROM entries").fetchone()
        connection.execute("UPDATE entries SET content = x'00'")
    connection.close()
    assert reading.costs(Files(path)) == table
    cache.put(key, b"\xc1 no table")
    cache.close()
    assert reading.costs(Files(path)) == table
    assert anew.read == 3
    assert reading.costs(Files(path)) == table
    assert anew.read == 3


def test_a_read_only_folder_does_without(tmp_path: Path, anew: Counting) -> None:
    reading = RememberedFiles(Cache(tmp_path / "missing" / "results.db"), anew)
    path = costs_file(tmp_path)
    assert reading.costs(Files(path)) == reading.costs(Files(path))
    assert anew.read == 2
    assert not (tmp_path / "missing").exists()


def test_what_would_not_come_back_is_not_kept(tmp_path: Path, reading: Any, anew: Counting) -> None:
    path = costs_file(tmp_path, COSTS + "[told]\nday = 2026-01-02\n")
    assert repr(reading.costs(Files(path))) == repr(reading.costs(Files(path)))
    assert anew.read == 2


def test_what_changes_while_it_is_read_is_not_kept(tmp_path: Path) -> None:
    path = costs_file(tmp_path)

    class Meanwhile(Counting):
        def costs(self, file: Files) -> dict[str, Any]:
            costs_file(tmp_path, COSTS.replace("2000", "7"))
            return super().costs(file)

    reading = RememberedFiles(Cache(tmp_path / "results.db"), Meanwhile())
    assert reading.costs(Files(path))["dma"]["startup_ns"] == 7
    costs_file(tmp_path)
    assert RememberedFiles(Cache(tmp_path / "results.db")).costs(Files(path))["dma"]["startup_ns"] == 2000


def test_errors_are_those_of_the_files_each_time(tmp_path: Path, reading: RememberedFiles) -> None:
    path = costs_file(tmp_path, "schema = 9\n")
    for _ in range(2):
        with pytest.raises(FactError, match="schema 9 is not known here"):
            reading.costs(Files(path))
    with pytest.raises(MissingFile, match="there is no file"):
        reading.book(Files(tmp_path / "absent.toml"))
