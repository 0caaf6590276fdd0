"""Where the store is, and what its tables hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from stored_run import text_of

from trnbench import Run, Status, StoreError
from trnbench.store import layout
from trnbench.store.path import check_named, default_path, store_path
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


def test_a_user_that_nobody_knows_is_a_folder_that_is_missing(tmp_path: Path) -> None:
    given = store_path("~nobody-of-this-name/r.db")
    assert given == Path("~nobody-of-this-name/r.db")
    with pytest.raises(StoreError, match="the folder ~nobody-of-this-name does not exist"):
        check_named(given)


def test_without_a_home_it_says_where_to_keep_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("TRNBENCH_STORE", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert text_of(StoreError, store_path) == (
        "there is no place of one's own to keep results in\n"
        "  cause: neither XDG_DATA_HOME nor HOME names a folder, and the system does not know this user\n"
        "  try:   --store ./results.db  keeps them in the working folder"
    )


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
