"""What changed against the run before: found in the store, told on the first screen."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from command import typed
from hostile_run import HOSTILE
from synthetic_run import make_run

import trnbench
from trnbench import Run, Section, Status
from trnbench.cli.report import run_before
from trnbench_reports import numbers, page, plugin
from trnbench_reports.sections import comparison

replace = msgspec.structs.replace
BUILT_IN = tuple(each for each in plugin.trnbench_reports() if isinstance(each, Section))


def plain(markup: str) -> str:
    text = re.sub(r"<[^>]+>", " ", markup).replace(numbers.NBSP, " ").replace("&amp;", "&")
    return " ".join(text.split())


def slower(run: Run, count: int, factor: float) -> Run:
    """The next run, in which the first `count` good cases take longer, each by more than the one before."""
    cases = list(run.measurements)
    good = [i for i, each in enumerate(cases) if each.status is Status.OK and each.time_s and each.judgement]
    for place, i in enumerate(good[:count]):
        by = factor + 0.1 * place
        metrics = {
            name: replace(m, value=m.value / by if m.better == "higher" else m.value * by)
            for name, m in cases[i].metrics.items()
        }
        cases[i] = replace(cases[i], time_s=(cases[i].time_s or 0.0) * by, metrics=metrics)
    return replace(run, id="run-two", created="2026-11-21T20:15:00Z", measurements=tuple(cases))


@pytest.fixture(scope="module")
def first() -> Run:
    return make_run(sizes=1, extra_kernels=0, id="run-one")


def test_the_three_largest_changes_lead_and_the_rest_is_counted(first: Run) -> None:
    after = slower(first, 5, 1.5)
    text = plain(comparison.since(first, after, 0))
    assert re.findall(r"\+(\d+)\.0 % \(exact\), slower", text) == ["90", "80", "70"]
    assert "Against run run-one of 2026-11-20 20:15 UTC: 2 smaller changes" in text
    assert "exactly the same" in text
    assert "trnbench compare run-one lists all" in text


def test_nothing_changed_is_said(first: Run) -> None:
    text = plain(comparison.since(first, replace(first, id="run-two"), 0))
    assert "no change shown" in text
    assert "<ul" not in text


def test_runs_with_nothing_in_common_say_nothing(first: Run) -> None:
    other = tuple(
        replace(each, case=replace(each.case, kernel=f"other_{each.case.kernel}"))
        for each in first.measurements
    )
    assert comparison.since(first, replace(first, id="x", measurements=other), 0) == ""


def test_it_stands_on_the_first_screen_of_the_page(first: Run) -> None:
    after = slower(first, 1, 2.0)
    text = page.render([after], BUILT_IN, before=first).decode()
    assert re.search(r'<section class="depth1" id="since"', text)
    assert "since" not in re.findall(
        r'<section class="depth\d" id="(\w+)"', page.render([after], BUILT_IN).decode()
    )


def test_the_run_before_is_the_newest_older_one_of_its_kind(first: Run, tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    after = slower(first, 1, 2.0)
    oldest = replace(first, id="oldest", created="2026-11-01T00:00:00Z")
    other = replace(first, id="measured", created="2026-11-21T00:00:00Z", backend="neuron")
    cut = replace(first, id="cut", created="2026-11-21T01:00:00Z", interrupted=True)
    newer = replace(first, id="newer", created="2026-11-23T00:00:00Z")
    with trnbench.open_store(path) as store:
        store.save(oldest, first, other, cut, after, newer)
    found = run_before(path, after)
    assert found.id == "run-one"
    assert run_before(path, oldest) is None
    assert run_before(tmp_path / "none.db", after) is None


def test_the_report_of_one_stored_run_has_it(
    first: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRNBENCH_STORE", str(tmp_path / "r.db"))
    with trnbench.open_store(tmp_path / "r.db") as store:
        store.save(first, slower(first, 1, 2.0))
    one = typed("report", "run-two", "-o", "-")
    two = typed("report", "run-one", "run-two", "-o", "-")
    assert ['id="since"' in done.stdout for done in (one, two)] == [True, False]


@pytest.mark.parametrize("bad", HOSTILE[:4])
def test_hostile_names_stay_words(first: Run, bad: str) -> None:
    cases = tuple(
        replace(each, case=replace(each.case, kernel=bad)) if each.case.kernel == "gemm" else each
        for each in first.measurements
    )
    before = replace(first, id=bad, measurements=cases)
    text = str(comparison.since(before, slower(before, 3, 2.0), 0))
    assert "<script" not in text
    assert not re.search(r"<[^>]*\son\w+=", text)
