"""A run taken up again comes to what it would have come to; what differs is named first."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import stored_run
import tiny_machine as tiny
from stored_run import make_run, text_of

from trnbench import Grade, Run, Status
from trnbench.errors import StoreError, UnknownName, UsageError
from trnbench.run.attempt import Attempts
from trnbench.run.resumption import Earlier, differences, unfinished
from trnbench.store.entry import Entry
from trnbench.store.journal import Journal, JournalInUse, read_chain
from trnbench.store.repair import check
from trnbench.store.store import Store

# Of these one is skipped and none fails; a mode is one value of an axis and stands once.
MODES = ("half", "low", "above", "unsupported", "slightly", "nap")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "results.db") as opened:
        yield opened


class Counting(tiny.Actor):
    """Says which cases it was asked for; `dies_at` ends the run there as Ctrl-C does."""

    def __init__(self, dies_at: int = -1) -> None:
        super().__init__()
        self.asked: list[str] = []
        self._dies_at = dies_at

    def observe(self, case: Any, system: Any) -> Any:
        if len(self.asked) == self._dies_at:
            signal.raise_signal(signal.SIGINT)
        self.asked.append(str(case.key.point["mode"]))
        return super().observe(case, system)


def carried_out(store: Store, *modes: str, **settings: Any) -> Run:
    return tiny.carried_out(*modes, store=store, **settings)


def resumed(store: Store, *modes: str, ref: str = "", backend: Any = None, anyway: bool = False) -> Run:
    return stored_run.resumed(store, tiny.registry(*modes, backend=backend), ref, anyway=anyway)


def but_for_times(run: Run) -> Run:
    return msgspec.structs.replace(run, id="", created="", finished="", digest="")


@pytest.mark.parametrize("at", range(5))
def test_the_result_is_that_of_an_undisturbed_run(store: Store, at: int) -> None:
    undisturbed = carried_out(store, *MODES)
    first = carried_out(store, *MODES, backend=Counting(dies_at=at))
    assert first.interrupted
    second = Counting()
    run = resumed(store, *MODES, backend=second)
    assert run.id == first.id
    assert but_for_times(run) == but_for_times(undisturbed)
    assert len(second.asked) == 5 - at
    assert store.load(run.id) == run
    assert [each.state for each in store.list()] == ["done", "done"]
    assert run.digest not in ("", first.digest)


def test_interrupted_twice_it_still_comes_to_an_end(store: Store) -> None:
    carried_out(store, *MODES, backend=Counting(dies_at=1))
    again = resumed(store, *MODES, backend=Counting(dies_at=2))
    assert again.interrupted
    assert again.notes[-1].startswith("interrupted: ")
    run = resumed(store, *MODES)
    assert not run.interrupted
    assert len(run.measurements) == len(MODES)
    assert not any("interrupted" in each for each in run.notes)


def test_a_run_whose_journal_lost_its_end_goes_on_and_is_sound(store: Store) -> None:
    first = carried_out(store, *MODES, backend=Counting(dies_at=2))
    path = store.journal(first.id)
    path.write_bytes(path.read_bytes()[:-1])
    run = resumed(store, *MODES)
    assert but_for_times(run) == but_for_times(carried_out(store, *MODES))
    assert store.load(run.id) == run
    assert check(store) == ()


def test_a_journal_that_lost_what_the_run_was_judged_by_is_refused(store: Store) -> None:
    first = carried_out(store, *MODES, backend=Counting(dies_at=2))
    path = store.journal(first.id)
    data = bytearray(path.read_bytes())
    data[read_chain(data).records[1].end - 9] ^= 1  # of a part
    path.write_bytes(data)
    assert text_of(StoreError, lambda: resumed(store, *MODES, anyway=True)) == (
        f"run {first.id} cannot be resumed: its journal lost what the run was judged by\n"
        "  cause: the file was cut off or damaged; the store keeps what it had of the run\n"
        f"  try:   the same command again; trnbench runs show {first.id} shows what is there"
    )
    assert store.load(first.id) == first


@pytest.mark.parametrize("jobs", [1, 2])
def test_failed_cases_are_tried_again_and_no_others(
    store: Store, jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = ("half", "crash_once", "low", "crash_once")
    monkeypatch.setenv("TINY_SPARED", str(tmp_path / "spared"))
    first = carried_out(store, *modes, jobs=jobs)
    assert [each.status for each in first.measurements].count(Status.FAILED) == 2
    (tmp_path / "spared").touch()
    run = resumed(store, *modes, ref=first.id)
    assert {each.status for each in run.measurements} <= {Status.OK, Status.DOCUMENT_LOW}
    assert [each.id for each in run.measurements] == [each.id for each in first.measurements]
    assert store.load(first.id) == run


def test_what_was_inconclusive_is_tried_again_and_nothing_else(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as busy:
        judged = Attempts._judged

        def unsteady(self: Attempts, case: Any, system: Any, waiting: Any) -> Any:
            found = judged(self, case, system, waiting)
            low = case.key.point["mode"] == "low"
            return msgspec.structs.replace(found, status=Status.INCONCLUSIVE) if low else found

        busy.setattr(Attempts, "_judged", unsteady)
        first = carried_out(store, *MODES)
    assert [each.status for each in first.measurements].count(Status.INCONCLUSIVE) == 1
    again = Counting()
    run = resumed(store, *MODES, ref=first.id, backend=again)
    assert again.asked == ["low"]
    assert but_for_times(run) == but_for_times(carried_out(store, *MODES))


def test_the_latest_that_is_not_complete_is_taken(store: Store) -> None:
    one = carried_out(store, *MODES, backend=Counting(dies_at=2))
    two = carried_out(store, *MODES, backend=Counting(dies_at=2))
    carried_out(store, *MODES)
    store.save(msgspec.structs.replace(make_run(), interrupted=True))
    assert unfinished(store) == two.id
    assert unfinished(store, one.id[:-1] if one.id[:-1] != two.id[:-1] else one.id) == one.id
    with pytest.raises(UnknownName):
        unfinished(store, "nobody")


def test_where_every_run_is_complete_it_says_so(store: Store) -> None:
    run = carried_out(store, *MODES)
    assert text_of(UsageError, unfinished, store) == (
        "there is nothing to resume: every stored run is complete\n"
        f"  cause: a run is incomplete where cases are missing; {store.path} has none such\n"
        "  try:   trnbench resume RUN  tries those of a complete one again that failed or are inconclusive"
    )
    assert text_of(UsageError, lambda: resumed(store, *MODES, ref=run.id)) == (
        f"run {run.id} is complete: none of its 6 cases is missing, failed or inconclusive\n"
        "  cause: only such cases are carried out again\n"
        f"  try:   trnbench report {run.id}"
    )
    assert store.load(run.id) == run


def test_a_run_without_a_journal_says_why(store: Store) -> None:
    store.save(msgspec.structs.replace(make_run(id="old"), interrupted=True))
    assert text_of(StoreError, lambda: resumed(store, *MODES)) == (
        "run old has no journal to go on from\n"
        "  cause: it was stored before journals existed, or imported, or its journal was removed\n"
        "  try:   the same command again; trnbench runs show old shows what is there"
    )


def test_a_run_under_way_is_not_taken_up(store: Store) -> None:
    run = carried_out(store, *MODES, backend=Counting(dies_at=2))
    journal, _ = Journal.reopen(store.journal(run.id))
    with journal, pytest.raises(JournalInUse):
        resumed(store, *MODES)


class Other(tiny.Actor):
    def environment(self) -> dict[str, Any]:
        return {**super().environment(), "actor_version": "2"}


def refused(store: Store, *modes: str, **changes: Any) -> str:
    return text_of(UsageError, lambda: resumed(store, *modes, **changes))


def test_a_difference_is_named_and_refused_unless_anyway(store: Store) -> None:
    first = carried_out(store, *MODES, backend=Counting(dies_at=2))
    before = store.load(first.id)
    assert refused(store, *MODES, backend=Other()) == (
        f"run {first.id} cannot be resumed as it began\n"
        "  cause: environment actor_version was 1, is 2\n"
        "  try:   undo that, or: --anyway  goes on with what is here, and the run notes it"
    )
    assert store.load(first.id) == before
    run = resumed(store, *MODES, backend=Other(), anyway=True)
    assert run.notes == ("resumed with a difference: environment actor_version was 1, is 2",)
    assert len(run.measurements) == len(MODES)


@pytest.mark.parametrize("anyway", [False, True])
def test_another_plan_is_refused_whatever_is_said(store: Store, anyway: bool) -> None:
    first = carried_out(store, *MODES, backend=Counting(dies_at=2))
    assert refused(store, "half", "low", anyway=anyway) == (
        f"run {first.id} cannot be resumed: its plan is another one now\n"
        "  cause: the plan: 6 cases then, 2 now\n"
        "  try:   the same command again, as a new run"
    )


def test_other_facts_and_other_versions_are_differences(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = carried_out(store, *MODES, backend=Counting(dies_at=2))
    monkeypatch.setattr("trnbench.run.snapshot.VERSION", "99")
    text = refused(store, *MODES)
    assert text.startswith(f"run {first.id} cannot be resumed as it began\n  cause: tool version was ")
    assert text.splitlines()[1].endswith(", is 99")


@pytest.mark.parametrize(
    ("grade", "said"), [(Grade.MEASURED, ("environment cpu_model was one, is two",)), (Grade.EMULATED, ())]
)
def test_another_processor_matters_to_what_was_measured_alone(grade: Grade, said: tuple[str, ...]) -> None:
    before, now = (make_run(grade=grade, environment={"cpu_model": model}) for model in ("one", "two"))
    assert differences(before, now) == said


def test_settings_are_those_of_the_run(store: Store) -> None:
    carried_out(store, *MODES, backend=Counting(dies_at=2), seed=7, retries=2, jobs=1, maxfail=5)
    with Earlier(store, unfinished(store)) as earlier:
        settings = earlier.settings
        assert (settings.seed, settings.retries, settings.maxfail) == (7, 2, 5)
        assert earlier.opening.planned == len(MODES)


def test_no_space_for_another_attempt(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    carried_out(store, *MODES, backend=Counting(dies_at=2))
    before = store.load()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(StoreError, match="cannot grow: No space left on device"):
        resumed(store, *MODES)
    monkeypatch.undo()
    assert store.load() == before
    assert not resumed(store, *MODES).interrupted


class Elsewhere:
    """Carries out cases as a cluster does: in any order, each under its number among those it was sent."""

    name = "ray"
    elsewhere = True
    by_case = False

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.notes: list[str] = []

    def placed(self, backend: Any, *, keep_identity: bool = False) -> Any:
        return backend

    def pool(self, attempts: Any, cases: Any, *, jobs: int, apart: bool, retries: int) -> Elsewhere:
        self._attempts, self._cases = attempts, cases
        return self

    def outcomes(self, waiting: Any) -> Iterator[Any]:
        for number, case in reversed(list(enumerate(self._cases))):
            self.sent.append(str(case.key.point["mode"]))
            yield number, Entry(*self._attempts(case))

    def ended(self, code: int, error: Any = None) -> None:
        raise AssertionError("the command tells it, not the run")


def test_a_run_of_a_cluster_goes_on_there(store: Store) -> None:
    undisturbed = carried_out(store, *MODES, executor="ray")
    first = carried_out(store, *MODES, backend=Counting(dies_at=2), executor="ray")
    with Earlier(store, unfinished(store)) as earlier:
        assert earlier.settings.executor == "ray"
    cluster = Elsewhere()
    run = stored_run.resumed(store, tiny.registry(*MODES), executor=cluster)
    assert run.id == first.id
    assert cluster.sent == ["nap", "slightly", "unsupported", "above"]
    assert but_for_times(run) == but_for_times(undisturbed)
    assert store.load(run.id) == run
