"""`trnbench runs`: list, show, delete, tag, prune."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from at_terminal import shown
from command import listed, refusal, typed
from stored_run import make_run, text_of

from trnbench import Run
from trnbench.cli.runs import _confirm, _doomed
from trnbench.errors import UsageError
from trnbench.store.store import RunSummary, Store


@pytest.fixture(scope="module")
def run() -> Run:
    return make_run()


@pytest.fixture
def store(tmp_path: Path, run: Run) -> Iterator[Store]:
    """Three runs of three days, the middle one tagged."""
    store = Store(tmp_path / "results.db")
    with store:
        for day, name in enumerate(("first", "second", "third"), 1):
            created = f"2026-01-0{day}T00:00:00+00:00"
            store.save(
                msgspec.structs.replace(run, id=name, created=created),
                tags=["kept"] if name == "second" else [],
            )
    yield store
    store.close()


def ids(store: Store) -> list[str]:
    with store:
        return [each.id for each in store.list()]


def test_list_shows_every_run(store: Store) -> None:
    done = typed("runs", "list")
    assert done.exit_code == 0
    outcome = "1 ok, 1 document-low, 1 suspect, 1 failed, 1 skipped"
    assert done.stdout.splitlines() == [
        f"run     evidence  cases  {'outcome':52}  state  tags",
        f"------  --------  -----  {'-' * len(outcome)}  -----  ----",
        f"first   emulated      5  {outcome}  done",
        f"second  emulated      5  {outcome}  done   kept",
        f"third   emulated      5  {outcome}  done",
    ]
    head = typed("runs", "list", "--format", "csv").stdout.splitlines()[0]
    assert head == (
        "run,created,evidence,backend,policy,cases,ok,document-low,inconclusive,suspect,failed,skipped,state,"
        "tags"
    )
    rows = listed("runs", "list", "--label", "kept")
    assert [(row["run"], row["tags"], row["instances"]) for row in rows] == [("second", ["kept"], ["tiny.2"])]


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_an_id_stays_in_one_piece_on_a_narrow_terminal(store: Store, run: Run, columns: int) -> None:
    run_id = "20261120-211458-6edv"
    with store:
        store.save(msgspec.structs.replace(run, id=run_id))
    at_terminal = shown("runs", "list", columns=columns)
    assert any(run_id in line.split() for line in at_terminal.lines)
    assert at_terminal.wider_than(columns) == []


def test_an_empty_list_says_what_to_do(tmp_path: Path) -> None:
    done = typed("runs", "list", "--format", "json")
    assert (done.exit_code, json.loads(done.stdout)) == (0, [])
    assert done.stderr == f"no run is stored in {tmp_path / 'results.db'}; make one with: trnbench run\n"
    assert not (tmp_path / "results.db").exists()


def test_show_has_filters(store: Store) -> None:
    def cases(*options: str) -> list[str]:
        found = listed("runs", "show", "third", *options)
        return [each["case"] for each in found["cases"]]

    assert len(cases()) == 5
    assert cases("--status", "suspect", "--status", "failed") == [
        "act[dtype=bf16,mode=above]@core",
        "act[dtype=bf16,mode=crash]@core",
    ]
    assert cases("--kernel", "a*", "-i", "tiny.*", "--status", "ok") == ["act[dtype=bf16,mode=half]@core"]
    assert cases("--kernel", "other") == []
    said = typed("runs", "show", "third", "--kernel", "other").stderr
    assert "no case of run third is chosen; it has act on tiny.2\n" in said


def test_show_is_for_people_by_default(store: Store) -> None:
    done = typed("runs", "show", "--status", "ok", "--status", "skipped")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "case                                           status      time     result  of peak  evidence    "
        "near  expect  reason",
        "---------------------------------------------  -------  -------  ---------  -------  ----------  "
        "----  ------  -----------------",
        "tiny.2::act[dtype=bf16,mode=half]@core         ok       10.5 ms  95 GFLOPS   50.0 %  emulated    "
        "none       –  –",
        "tiny.2::act[dtype=bf16,mode=unsupported]@core  skipped        –          –        –  documented  "
        "–          –  the actor refuses",
    ]
    assert done.stderr.splitlines()[0].startswith(
        "run third: emulated by emulated, 2026-01-03T00:00:00+00:00"
    )
    assert done.stderr.splitlines()[1] == "2 of 5 cases; percentages of the seed peaks"


def test_a_missing_run_has_near_misses(store: Store) -> None:
    for command in (("runs", "show", "secnd"), ("runs", "delete", "secnd"), ("report", "secnd"),
                    ("export", "secnd"), ("runs", "tag", "secnd", "x")):  # fmt: skip
        assert refusal(typed(*command)) == (
            "error: unknown run 'secnd'\n  cause: did you mean second?\n  try:   trnbench runs list\n"
        )


def test_delete_asks_a_person_and_wants_yes_from_a_script(store: Store) -> None:
    assert refusal(typed("runs", "delete", "first")) == (
        "error: nobody is there to confirm it\n"
        f"  cause: stdin is no terminal: delete first from {store.path}?\n"
        "  try:   --yes\n"
    )
    assert ids(store) == ["first", "second", "third"]
    done = typed("runs", "delete", "fir", "third", "-y")
    assert (done.exit_code, done.stderr) == (0, "deleted first, third\n")
    assert ids(store) == ["second"]


def test_without_standard_input_nobody_confirms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert text_of(UsageError, _confirm, "delete it?", yes=False).startswith(
        "nobody is there to confirm it\n"
    )


def test_tags_are_printed_after_the_change(store: Store) -> None:
    assert typed("runs", "tag", "first", "b", "a").stdout == "a b\n"
    assert typed("runs", "tag", "first", "--remove", "b").stdout == "a\n"
    assert typed("runs", "show", "a", "--format", "json").exit_code == 0
    bad = typed("runs", "tag", "first", "latest")
    assert bad.exit_code == 2


def test_an_older_run_that_comes_in_later_stands_where_its_date_puts_it(store: Store, run: Run) -> None:
    with store:
        store.save(msgspec.structs.replace(run, id="older", created="2025-01-01T00:00:00+00:00"))
        store.tag("older", ["kept"])
        assert [store.resolve(ref) for ref in ("latest", "latest~3", "kept")] == ["third", "older", "second"]
    assert ids(store) == ["older", "first", "second", "third"]
    assert typed("runs", "prune", "--keep", "1", "--tagged", "--dry-run").stdout.split() == ids(store)[:3]


def test_prune_keeps_the_newest_and_the_tagged(store: Store) -> None:
    dry = typed("runs", "prune", "--keep", "1", "--dry-run")
    assert (dry.exit_code, dry.stdout) == (0, "first\n")
    assert ids(store) == ["first", "second", "third"]
    assert typed("runs", "prune", "--keep", "1", "-y").stdout == "first\n"
    assert ids(store) == ["second", "third"]
    assert typed("runs", "prune", "--keep", "5", "-y").stderr == "nothing to delete\n"
    assert typed("runs", "prune", "--keep", "0", "--tagged", "-y").stdout == "second\nthird\n"
    assert ids(store) == []


def test_prune_by_age(store: Store) -> None:
    with store:
        listed: list[RunSummary] = list(store.list())
    now = datetime(2026, 1, 3, 12, tzinfo=UTC)
    assert [each.id for each in _doomed(listed, None, 1.0, now)] == ["first", "second"]
    assert [each.id for each in _doomed(listed, 2, 1.0, now)] == ["first"]
    assert [each.id for each in _doomed(listed, 0, 10.0, now)] == []


def test_a_damaged_store_is_a_usage_error_not_a_crash(store: Store) -> None:
    store.path.write_text("not a database any more " * 50)
    for command in (
        ("runs", "list"),
        ("runs", "show"),
        ("report",),
        ("export",),
        ("runs", "prune", "--keep", "1"),
    ):
        assert refusal(typed(*command)).startswith(f"error: {store.path} is not a store of trnbench")
