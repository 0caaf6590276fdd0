"""Runs are found by id, the beginning of one, tag and latest; what cannot be a tag is said."""

from __future__ import annotations

import msgspec
import pytest
from stored_run import text_of

from trnbench import Run
from trnbench.errors import UnknownName, UsageError
from trnbench.store.store import Store
from trnbench.store.tag import checked_tags


def test_a_run_is_found_by_id_beginning_tag_and_latest(store: Store, run: Run) -> None:
    for run_id in ("20260101-000000-aaaa", "20260101-000000-bbbb", "20270101-000000-cccc"):
        store.save(msgspec.structs.replace(run, id=run_id), tags=["weekly"] if "a" in run_id[-4:] else [])
    assert store.resolve("20260101-000000-bbbb") == "20260101-000000-bbbb"
    assert store.resolve("2027") == "20270101-000000-cccc"
    assert store.resolve("latest") == "20270101-000000-cccc"
    assert store.resolve("weekly") == "20260101-000000-aaaa"
    store.tag("20260101-000000-bbbb", add=["weekly"])
    assert store.resolve("weekly") == "20260101-000000-bbbb"
    assert text_of(UsageError, store.resolve, "2026") == (
        "'2026' is the beginning of 2 runs\n"
        "  cause: 20260101-000000-aaaa, 20260101-000000-bbbb\n"
        "  try:   write more of the id"
    )
    assert text_of(UnknownName, store.resolve, "20270101-000000-ccdc") == (
        "unknown run '20270101-000000-ccdc'\n"
        "  cause: did you mean 20270101-000000-cccc, 20260101-000000-bbbb, 20260101-000000-aaaa?\n"
        "  try:   trnbench runs list"
    )
    assert text_of(UnknownName, store.load, "") == (
        "unknown run ''\n"
        "  cause: known: 20260101-000000-aaaa, 20260101-000000-bbbb, 20270101-000000-cccc, weekly\n"
        "  try:   trnbench runs list"
    )


def test_a_glob_in_a_name_is_no_glob(store: Store, run: Run) -> None:
    store.save(run)
    for ref in ("%", "*", "_" * len(run.id)):
        with pytest.raises(UnknownName):
            store.load(ref)


@pytest.mark.parametrize("tag", ["", " x", "x ", "a\nb", "\x1b", "latest", "x" * 101])
def test_tags_must_be_typeable(tag: str) -> None:
    assert text_of(UsageError, checked_tags, [tag]) == (
        f"{tag!r} cannot be a tag\n"
        "  cause: a tag is 1 to 100 printable characters, without blanks around it, and not "
        "'latest' or 'latest~1'\n"
        "  try:   nightly"
    )


def test_tags_are_added_and_removed(store: Store, run: Run) -> None:
    store.save(run, tags=["b"])
    assert store.tag(run.id, add=["a", "a", "c"], remove=["b", "unknown"]) == ("a", "c")
    assert store.list()[0].tags == ("a", "c")
    with pytest.raises(UnknownName):
        store.tag("nobody", add=["x"])


def test_the_list_counts_by_status(store: Store, run: Run) -> None:
    store.save(run, tags=["t"])
    (one,) = store.list()
    assert one.counts == run.counts()
    assert (one.cases, one.planned, one.instances, one.tags) == (5, 5, ("tiny.2",), ("t",))
    assert one.state == "done"
