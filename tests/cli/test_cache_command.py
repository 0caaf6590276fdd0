"""`trnbench store cache`, and what `--no-cache` leaves alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import listed, refusal, typed

from trnbench.facts.files import forget

RUN = ("-q", "run", "rms_norm", "-i", "trn1.2xlarge", "-a", "rows=128", "--scope", "core", "--no-report")


def info() -> dict[str, Any]:
    (row,) = listed("store", "cache")
    return dict(row)


def test_without_a_run_it_is_empty(tmp_path: Path) -> None:
    assert info() == {
        "path": str(tmp_path / "results.db.cache"),
        "entries": 0,
        "bytes": 0,
        "limit_bytes": 256 << 20,
        "problem": "",
    }
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parts
def test_a_run_fills_it_and_clear_forgets(tmp_path: Path) -> None:
    done = typed(*RUN)
    assert done.exit_code == 0, done.stderr
    held = info()
    assert held["entries"] > 2
    cleared = typed("store", "cache", "--clear")
    assert cleared.stdout == ""
    assert cleared.stderr == (
        f"{tmp_path / 'results.db.cache'}: forgot {held['entries']:,} answers "
        f"({held['bytes'] / 2**20:.1f} MiB)\n"
    )
    assert info()["entries"] == 0
    assert not (tmp_path / "results.db.cache").exists()


@pytest.mark.parts
def test_without_it_nothing_is_kept(tmp_path: Path) -> None:
    done = typed(*RUN, "--no-cache")
    assert done.exit_code == 0, done.stderr
    assert not (tmp_path / "results.db.cache").exists()


def test_what_cannot_be_removed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    assert refusal(typed("store", "cache", "--clear")) == (
        f"error: {tmp_path / 'results.db.cache'} cannot be removed: Permission denied\n"
        "  cause: its folder cannot be written to by this user\n"
        "  try:   trnbench run --no-cache  does without it\n"
    )


@pytest.mark.parts
@pytest.mark.parametrize("arguments", [("info", "trn1.2xlarge"), ("spec", "list")])
def test_what_files_say_is_kept_unless_asked_not_to(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    forget()
    without = typed("--no-cache", *arguments)
    assert list(tmp_path.iterdir()) == []
    forget()
    first = typed(*arguments)
    forget()
    again = typed(*arguments)
    assert (without.exit_code, first.exit_code, again.exit_code) == (0, 0, 0), without.stderr
    assert without.stdout == first.stdout == again.stdout
    assert info()["entries"] > 0


@pytest.mark.parts
def test_the_usual_folder_is_made_for_it_and_one_that_is_named_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRNBENCH_STORE", str(tmp_path / "absent" / "results.db"))
    forget()
    assert typed("info", "trn1.2xlarge").exit_code == 0
    assert list(tmp_path.iterdir()) == []
    monkeypatch.delenv("TRNBENCH_STORE")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    forget()
    assert typed("info", "trn1.2xlarge").exit_code == 0
    kept = tmp_path / "data" / "trnbench" / "results.db.cache"
    assert kept.stat().st_mode & 0o777 == 0o600
