"""Stores that earlier versions wrote: read as they are, copied before they are brought up to date."""

from __future__ import annotations

import json
import os
import sqlite3
import tomllib
import zlib
from contextlib import closing
from itertools import product
from pathlib import Path
from unittest.mock import Mock

import pytest
from archive import unpack
from campaigns import sweep
from click.testing import Result
from command import typed
from parts import part
from stored_run import edited

from trnbench.registry import Registry
from trnbench.results.json import loads
from trnbench.results.run import SCHEMA_VERSION
from trnbench.store import layout
from trnbench.store.journal import read_chain
from trnbench.store.journal_content import journaled
from trnbench.store.layout import head

CORPUS = Path(__file__).parent / "corpus"
ARCHIVES = sorted(each.name.removesuffix(".tar.xz") for each in CORPUS.glob("*.tar.xz"))
OLDER = [each for each in ARCHIVES if not each.startswith(f"store{layout.STORE_VERSION}")]
JOURNALED = [each for each in OLDER if each.startswith("store2")]
BESIDE = sorted(each.name.removesuffix(".tar.xz") for each in CORPUS.glob("beside/*.tar.xz"))
SEALED = [each for each in ARCHIVES if not each.startswith("store1")]

READING = (
    "runs list",
    "runs show latest",
    "report first -o out/report.html",
    "export first --as json -o out/run.json",
    "export first --as csv -o out/run.csv",
    "history",
    "compare first first",
    "store check",
    "store backup out/backup.db",
)

WRITING = (
    "store repair",
    "runs tag first second",
    "store merge out/other.db",
    "run gemm -i trn1.2xlarge --dtype bf16 --scope core -a size=1K --no-report",
)


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The archive of the test's name, unpacked, and the folder to work in."""
    unpack(CORPUS / f"{request.param}.tar.xz", tmp_path)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def archives(names: list[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("folder", names, indirect=True)


def invoke(registry: Registry, words: str, *, store: str = "results.db", code: int = 0) -> Result:
    done = typed("--store", store, *words.split(), registry=registry)
    assert done.exit_code == code, (words, done.output, done.exception)
    return done


def kept(folder: Path) -> dict[str, tuple[int, bytes]]:
    """What the folder has of store and journals: when it was written, and what it is."""
    found = (each for each in folder.rglob("results.db*") if each.is_file())
    found = (*found, *folder.glob("results.db.journals/*"))
    return {str(each): (each.stat().st_mtime_ns, each.read_bytes()) for each in found}


def content(path: Path) -> tuple[int, list[str]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0], list(connection.iterdump())


def states(registry: Registry) -> list[tuple[str, int, list[str]]]:
    rows = json.loads(invoke(registry, "runs list --format json").stdout)
    return [(row["state"], row["cases"], row["tags"]) for row in rows]


def test_there_is_a_step_and_a_view_from_every_version() -> None:
    versions = list(range(1, layout.STORE_VERSION))
    assert list(layout.MIGRATIONS) == versions
    assert list(layout.VIEWS) == versions
    assert {int(each[len("store")]) for each in ARCHIVES} == {*versions, layout.STORE_VERSION}


@archives(ARCHIVES)
def test_what_only_reads_reads_every_version_and_writes_nothing(folder: Path, registry: Registry) -> None:
    before = kept(folder)
    for words in READING:
        done = invoke(registry, words)
        assert "brought" not in done.stderr
        assert kept(folder) == before, words
    assert states(registry) == [("done", 2, ["first"])]
    assert invoke(registry, "store check").stderr == "results.db: nothing is wrong\n"
    assert content(folder / "out" / "backup.db") == content(folder / "results.db")
    assert "gemm[dtype=bf16,size=2048]@core" in invoke(registry, "history").stdout
    for exported in ("out/run.json", *(["run.json"] if Path("run.json").exists() else [])):
        invoke(registry, f"import {exported}", store=f"out/{len(exported)}.db")


@pytest.mark.parametrize(
    ("folder", "words"),
    sweep(product(OLDER, WRITING), lambda name, words: name == OLDER[0] or words == WRITING[0]),
    indirect=["folder"],
)
def test_what_writes_copies_it_first_and_says_so(folder: Path, registry: Registry, words: str) -> None:
    if words.startswith("run gemm"):
        part("trnbench_kernels")
    (folder / "results.db").chmod(0o644)  # as it was made before journals
    before = content(folder / "results.db")
    invoke(registry, "store merge results.db", store="out/other.db")
    assert invoke(registry, "store check", store="out/other.db").stderr == "out/other.db: nothing is wrong\n"
    done = invoke(registry, words)
    said = (
        f"results.db was brought from store version {before[0]} to {layout.STORE_VERSION}; "
        "as it was, it is in results.db.backup-1\n"
    )
    assert said in done.output
    assert content(folder / "results.db.backup-1") == before
    assert before[0] > 1 or (folder / "results.db").stat().st_mode & 0o777 == 0o600
    assert invoke(registry, "store check").stderr == "results.db: nothing is wrong\n"
    assert invoke(registry, "store repair").stderr == "results.db: nothing was to be done\n"
    assert not (folder / "results.db.backup-2").exists()
    invoke(registry, "export first --as json -o out/run.json")
    invoke(registry, "import out/run.json", store="out/again.db")


@archives(OLDER)
def test_without_room_for_a_copy_it_stays_as_it_is(
    folder: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(folder / "results.db")

    def refuse(path: Path, suffix: str) -> Path:
        return folder / "nowhere" / f"{path.name}.{suffix}"

    monkeypatch.setattr("trnbench.store.database.free_name", refuse)
    done = invoke(registry, "runs tag first second", code=2)
    assert "no copy of it can be made: No such file or directory" in done.stderr
    assert content(folder / "results.db") == before


@archives(SEALED)
def test_a_run_that_is_brought_up_to_date_can_be_a_baseline(folder: Path, registry: Registry) -> None:
    invoke(registry, "store repair")
    invoke(registry, "gate accept first --why it-is-known -o baseline.json")
    assert "gate passed: 2 passed" in invoke(registry, "gate check first --against ./baseline.json").stderr


@archives(["store2-schema3"])
def test_a_baseline_of_an_older_schema_holds(folder: Path, registry: Registry) -> None:
    run = json.loads((folder / "run.json").read_text())
    accepted = [{"run": run["id"], "digest": run["digest"], "when": run["finished"], "why": "it is known"}]
    baseline = {"trnbench_baseline": 1, "accepted": accepted, "run": run}
    (folder / "baseline.json").write_text(json.dumps(baseline))
    assert "gate passed: 2 passed" in invoke(registry, "gate check first --against ./baseline.json").stderr


@pytest.mark.parts
@pytest.mark.parametrize("name", BESIDE)
def test_caches_config_files_and_baselines_of_earlier_versions_hold(
    name: str, tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpack(CORPUS / "beside" / f"{name}.tar.xz", tmp_path)
    monkeypatch.chdir(tmp_path)
    shown = json.loads(invoke(registry, "config show --format json").stdout)
    told = tomllib.loads(Path("trnbench.toml").read_text())
    taken = {row["setting"]: row["value"] for row in shown if row["origin"].endswith("trnbench.toml")}
    assert taken == told
    words = "run gemm -i trn1.2xlarge --dtype bf16 --scope core -a size=1K,2K --no-report --format json"
    invoke(registry, words)
    invoke(registry, words, store="without.db")
    one, two = (
        json.loads(invoke(registry, "runs show", store=store).stdout)
        for store in ("results.db", "without.db")
    )
    assert one["cases"] == two["cases"]
    if Path("baseline.json").exists():
        gated = invoke(registry, "gate check latest --against ./baseline.json --format table")
        assert "gate passed: 2 passed" in gated.stderr


_BEHIND = (
    "DELETE FROM measurements WHERE position = 1",
    "UPDATE runs SET finished = '', interrupted = 1, digest = '', indexed = 0",
)


@archives(JOURNALED)
def test_what_journals_hold_more_is_shown_without_a_change(folder: Path, registry: Registry) -> None:
    edited(folder / "results.db", *_BEHIND)
    before = kept(folder)
    for words in READING:
        if words != "store check":
            invoke(registry, words)
    assert states(registry) == [("done", 2, ["first"])]
    assert kept(folder) == before
    invoke(registry, "store repair")
    assert states(registry) == [("done", 2, ["first"])]
    invoke(registry, "store check")


@pytest.mark.parts
@archives(SEALED)
def test_a_run_of_an_older_version_that_was_killed_is_resumed(folder: Path, registry: Registry) -> None:
    """What differs is named first; with --anyway it is completed, its journal as it was kept beside it."""
    edited(folder / "results.db", *_BEHIND)
    (journal,) = folder.glob("results.db.journals/*.journal")
    chain = read_chain(journal.read_bytes())
    before_last = [each.end for each in chain.records if each.kind == "case"][-2]
    journal.write_bytes(killed := journal.read_bytes()[:before_last])
    schema = journaled(read_chain(killed), "it").schema
    done = invoke(registry, "resume first", code=2)
    assert "cannot be resumed as it began" in done.stderr
    assert journal.read_bytes() == killed
    invoke(registry, "resume first --anyway --no-report")
    assert states(registry) == [("done", 2, ["first"])]
    invoke(registry, "store check")
    old = journal.with_name(f"{journal.name}.schema-{schema}-1")
    assert old.exists() == (schema < SCHEMA_VERSION)
    assert not old.exists() or old.read_bytes() == killed
    run = json.loads(invoke(registry, "export first --as json -o -").stdout)
    assert run["schema_version"] == SCHEMA_VERSION
    assert any("resumed with a difference" in note for note in run["notes"])
    (folder / "results.db").unlink()
    assert states(registry) == [("done", 2, ["first"])]


@pytest.mark.parts
@archives(["store2-schema3"])
def test_a_journal_that_cannot_be_kept_is_left_as_it_was(
    folder: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited(folder / "results.db", *_BEHIND)
    (journal,) = folder.glob("results.db.journals/*.journal")
    chain = read_chain(journal.read_bytes())
    journal.write_bytes(killed := journal.read_bytes()[: chain.records[-2].end])
    monkeypatch.setattr(os, "link", Mock(side_effect=OSError(28, "No space left on device")))
    done = invoke(registry, "resume first --anyway --no-report", code=2)
    assert "cannot be kept as it is: No space left on device" in done.stderr
    assert [each.name for each in journal.parent.iterdir()] == [journal.name]
    assert journal.read_bytes() == killed


@archives(JOURNALED)
def test_a_deleted_store_is_filled_from_journals_of_older_schemas(folder: Path, registry: Registry) -> None:
    (folder / "results.db").unlink()
    assert states(registry) == [("done", 2, ["first"])]
    invoke(registry, "store check")
    invoke(registry, "gate accept first --why it-is-known -o baseline.json")
    invoke(registry, "gate check first --against ./baseline.json")


@archives(["store2-schema3"])
def test_a_head_of_this_schema_over_older_cases_is_mended(folder: Path, registry: Registry) -> None:
    """A journal of schema 3 used to be filled in like this."""
    invoke(registry, "store repair")
    with closing(sqlite3.connect(folder / "results.db")) as connection:
        (text,) = connection.execute("SELECT head FROM runs").fetchone()
    edited(folder / "results.db", "UPDATE runs SET head = ?", values=(head(loads(text)).decode(),))
    assert "it was edited after it had ended" in invoke(registry, "store check", code=1).stdout
    assert "was written again from its journal" in invoke(registry, "store repair").stdout
    invoke(registry, "store check")


@archives(["store2-schema3"])
def test_what_was_edited_before_is_not_sealed(folder: Path, registry: Registry) -> None:
    for journal in folder.glob("results.db.journals/*"):
        journal.unlink()
    with closing(sqlite3.connect(folder / "results.db")) as connection:
        (packed,) = connection.execute("SELECT document FROM measurements WHERE position = 0").fetchone()
        document = json.loads(zlib.decompress(packed)) | {"time_s": 1e-9}
    statement = "UPDATE measurements SET document = ?, time_s = 1e-9 WHERE position = 0"
    edited(folder / "results.db", statement, values=(zlib.compress(json.dumps(document).encode()),))
    invoke(registry, "store repair")
    assert "it was edited after it had ended" in invoke(registry, "store check", code=1).stdout
    invoke(registry, "export first --as json -o out/run.json")
    assert (
        "was edited: its digest belongs"
        in invoke(registry, "import out/run.json", store="out/x.db", code=2).stderr
    )


@archives(["store1-schema2"])
def test_messages_carry_the_store_that_was_given(folder: Path, registry: Registry) -> None:
    edited(folder / "results.db", "UPDATE measurements SET kernel = 'other' WHERE position = 0")
    told = invoke(registry, "store check", code=1).stderr
    assert told == "repair with: trnbench --store results.db store repair\n"
    told = invoke(registry, "runs show nothing", code=2).stderr
    assert told.endswith("  try:   trnbench --store results.db runs list\n")
    told = invoke(registry, "runs list", store="a b.db").stderr
    assert told.endswith("make one with: trnbench --store 'a b.db' run\n")
