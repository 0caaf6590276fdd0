"""Where the store is, and what its tables hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from trnbench import Run, Status
from trnbench.store import layout
from trnbench.store.path import default_path, store_path
from trnbench.store.store import Store


def test_the_place_is_named_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert store_path() == tmp_path / "data" / "trnbench" / "results.db"
    monkeypatch.setenv("TRNBENCH_STORE", str(tmp_path / "env.db"))
    assert store_path() == tmp_path / "env.db"
    assert store_path("given.db") == Path("given.db")
    monkeypatch.delenv("TRNBENCH_STORE")
    monkeypatch.setenv("XDG_DATA_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_path() == tmp_path / ".local" / "share" / "trnbench" / "results.db"


def test_only_the_default_folder_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "fresh"))
    with Store() as store:
        store.save(run)
    assert (tmp_path / "fresh" / "trnbench" / "results.db").is_file()


def test_the_tables_have_a_history() -> None:
    text = Path(layout.__file__).read_text()
    assert f"{layout.STORE_VERSION} " in text.split("# History: ")[1].splitlines()[0]


def test_every_status_is_counted(store: Store, run: Run) -> None:
    store.save(run)
    assert set(store.list()[0].counts) == set(Status)
