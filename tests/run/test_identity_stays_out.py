"""A run on a machine whose every name is marked: no mark in any byte that is kept, unless it is asked for."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from campaigns import sweep
from stored_run import text_of

from trnbench.errors import UsageError
from trnbench.registry import Registry
from trnbench.run import execute, identity
from trnbench.run.resumption import Earlier
from trnbench.store.store import Store

MARK = "MARKER"
TELLING = Path(__file__).parent.parent / "support" / "telling_machine.py"


def environment(folder: Path) -> dict[str, str]:
    home = folder / "MARKERhome"
    (home / "MARKERpath" / "MARKERdeeper").mkdir(parents=True, exist_ok=True)
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("TRNBENCH_", "XDG_"))}
    support = str(TELLING.parent)
    return {
        **clean,
        "PYTHONPATH": os.pathsep.join(filter(None, (support, os.environ.get("PYTHONPATH")))),
        "HOME": str(home),
        "USER": "MARKERuser",
        "LOGNAME": "MARKERuser",
        "HOSTNAME": "MARKERhost-7.MARKERdomain.example",
        "AWS_SECRET_ACCESS_KEY": 'MARKERsecret/with"quotes\\and+more',
        "HF_TOKEN": "hf_MARKERtokenMARKER",
        "DATABASE_PASSWORD": "MARKERpass word",
        "TRNBENCH_DEBUG": "1",  # tracebacks go into the run, and with them paths
    }


def call(folder: Path, program: tuple[str, ...], *words: str) -> subprocess.CompletedProcess[str]:
    work = folder / "MARKERhome" / "MARKERwork"
    work.mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        [sys.executable, *program, "--store", str(folder / "kept" / "runs.db"), *words],
        cwd=work, env=environment(folder), umask=0, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def bytes_kept(folder: Path, *files: Path) -> bytes:
    """Every byte of store, journals, report and exports, and what is compressed among them."""
    found = b""
    for each in (*(folder / "kept").rglob("*"), *files):
        found += each.read_bytes() if each.is_file() else b""
    database = folder / "kept" / "runs.db"
    with sqlite3.connect(database) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            for row in connection.execute(f'SELECT * FROM "{table}"'):
                for value in row:
                    if isinstance(value, bytes):
                        found += zlib.decompress(value) if value[:1] == b"x" else value
                    found += str(value).encode()
    connection.close()
    for journal in (folder / "kept").rglob("*"):
        data = journal.read_bytes() if journal.is_file() else b""
        at = data.find(b"\x78\x9c")
        while at >= 0:  # every compressed record of it
            with contextlib.suppress(zlib.error):
                found += zlib.decompressobj().decompress(data[at:])
            at = data.find(b"\x78\x9c", at + 1)
    return found


def facts(folder: Path, subject: str) -> Path:
    environment(folder)
    path = folder / "MARKERhome" / "MARKERpath" / "MARKERdeeper" / "my.toml"
    text = (Path(__file__).parent / "marked_facts.toml").read_text()
    path.write_text(text.replace("HOME", str(folder / "MARKERhome")).replace("SUBJECT", subject))
    return path


MEASURED = (str(TELLING),)
EMULATED = ("-m", "trnbench")
CASES = {
    "measured": (MEASURED, ("run", "--backend", "stand-in"), "tiny-core", (1, 3)),
    "emulated": (EMULATED, ("run", "gemm", "-i", "trn1.2xlarge", "-a", "size=256"), "neuroncore-v2", (0,)),
}


@pytest.fixture(scope="module", params=sweep(CASES, "measured".__eq__))
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where a run, its report, its exports and a backup are."""
    folder = tmp_path_factory.mktemp("marked")
    exported(folder, request.param)
    return folder, request.param


def carried_out(folder: Path, kind: str, *more: str) -> None:
    program, words, subject, codes = CASES[kind]
    for name in ("kept", "out"):
        (folder / name).mkdir()
    mine = facts(folder, subject)
    page = folder / "out" / "r.html"
    done = call(folder, program, *words, *more, "--facts", str(mine), "-o", str(page), "-q")
    assert done.returncode in codes, done.stderr


def exported(folder: Path, kind: str) -> None:
    carried_out(folder, kind)
    program, out = CASES[kind][0], folder / "out"
    for ending in ("json", "csv", "md"):
        done = call(folder, program, "export", "-o", str(out / f"x.{ending}"))
        assert done.returncode == 0, done.stderr
    backed_up = call(folder, program, "store", "backup", str(folder / "kept" / "copy.db"))
    assert backed_up.returncode == 0, backed_up.stderr


def test_no_mark_in_any_byte(kept: tuple[Path, str]) -> None:
    folder, kind = kept
    files = sorted((folder / "out").iterdir())
    assert len(files) == 4
    everything = bytes_kept(folder, *files)
    assert len(everything) > 50_000
    places = [everything.find(MARK.encode())]
    assert places == [-1], everything[max(0, places[0] - 200) : places[0] + 100]
    with Store(folder / "kept" / "runs.db") as store:
        run = store.load("latest")
    told = " ".join(run.argv)
    assert "--facts ~/…/my.toml" in told
    assert "host_name" not in run.environment
    if kind == "measured":
        well, failed = run.measurements
        assert "AWS_SECRET_ACCESS_KEY=<secret> HF_TOKEN=<secret> DATABASE_PASSWORD=<secret>" in well.notes[-1]
        assert "HOME=~ USER=<user> HOSTNAME=<host>" in well.notes[-1]
        assert "~/…/kernel.py:7 on <host>" in failed.reason_text
        assert run.environment["driver_path"] == "~/…/lib.so"


@pytest.mark.parametrize("kind", sweep(CASES, "measured".__eq__))
def test_what_is_to_be_kept_is_there(tmp_path: Path, kind: str) -> None:
    folder = tmp_path
    carried_out(folder, kind, "--keep-identity")
    with Store(folder / "kept" / "runs.db") as store:
        run = store.load("latest")
    assert f"--facts {folder}/MARKERhome/MARKERpath/MARKERdeeper/my.toml" in " ".join(run.argv)
    if kind == "measured":
        assert run.environment["host_name"] == "MARKERhost-7.MARKERdomain.example"
        assert "USER=MARKERuser" in run.measurements[0].notes[-1]
        assert "hf_MARKERtokenMARKER" in run.measurements[1].reason_text


def test_store_journals_and_backups_are_their_owner_s_alone(kept: tuple[Path, str]) -> None:
    folder, _ = kept
    modes = {
        each.name: each.stat().st_mode & 0o777 for each in (folder / "kept").rglob("*") if each.is_file()
    }
    assert {"runs.db", "copy.db"} < set(modes)
    assert any(name.endswith(".journal") for name in modes), modes
    assert set(modes.values()) == {0o600}, modes


def test_a_fact_file_below_home_is_named_again_for_resume() -> None:
    earlier: Any = SimpleNamespace(
        opening=SimpleNamespace(facts=("/data/a.toml", "~/…/my.toml")), run=SimpleNamespace(id="20260101-a")
    )
    assert text_of(UsageError, Earlier.planned, earlier, Registry.of()) == (
        "run 20260101-a was made with ~/…/my.toml\n"
        "  cause: a run keeps no folders below the home folder, so the file has to be named again\n"
        "  try:   trnbench resume 20260101-a --facts …/my.toml"
    )


@pytest.mark.parametrize(
    ("path", "kept_as"),
    [
        ("/home/marlowe/work/a/my.toml", "a/my.toml"),  # below the working folder
        ("/home/marlowe/else/my.toml", "~/…/my.toml"),
        ("/data/my.toml", "/data/my.toml"),
    ],
)
def test_of_a_fact_file_as_little_is_kept_as_resume_takes(
    path: str, kept_as: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/marlowe")
    monkeypatch.setattr(os, "getcwd", lambda: "/home/marlowe/work")
    identity.forget()
    try:
        assert execute._fact_file(path) == kept_as
    finally:
        identity.forget()
