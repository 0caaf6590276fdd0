"""What changed from one run to another: ranked with both values, beside each row, and on the first screen."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from command import refusal, typed
from headline_parts import changed, graded, having, kept
from hostile_run import HOSTILE
from synthetic_run import make_run
from whole_page import BUILT_IN, plain

import trnbench
from trnbench import Grade, Run, Status
from trnbench.terminal.target import run_before
from trnbench_reports import numbers, page, view
from trnbench_reports.sections import comparison, headline, scoreboard
from trnbench_reports.sections.scoreboard import beside
from trnbench_reports.view import figure_by_id

replace = msgspec.structs.replace


@pytest.fixture(scope="module")
def pair() -> tuple[Run, Run]:
    """The second takes longer for its products, the more the larger they are; it has no copies and one kernel
    at another scope."""
    first = make_run(sizes=2, extra_kernels=0)
    later = changed(
        kept(first, lambda each: each.case.kernel != "hbm_copy"),
        lambda each: replace(each, time_s=each.time_s * (1.1 if each.case.point["m"] == 512 else 1.3)),
        lambda each: each.time_s and each.case.kernel == "gemm",
    )
    return first, replace(later, id="later")


def test_changes_are_ranked_and_have_both_values(pair: tuple[Run, Run]) -> None:
    text = str(comparison.render(pair))
    found = trnbench.compare_runs(*pair)
    changed = [each for each in found.changes if each.effect]
    rows = re.split('<tr(?: class="faint")?><th scope="row"', text)[1:]
    assert len(rows) == min(len(changed), comparison.SHOWN)
    bare = {each.id for each in pair[1].measurements if view.faint(each)}
    drawn = re.findall(r'<tr( class="faint")?><th scope="row"', text)
    assert [bool(each) for each in drawn] == [change.id in bare for change in changed[: len(rows)]]
    effects = [float(each) for each in re.findall(r'data-v="([^"]+)"', text)]
    assert effects == sorted(effects, reverse=True)
    assert effects[0] == pytest.approx(0.3)
    for row, change in zip(rows, changed, strict=False):
        assert f'href="#{figure_by_id(0, change.before.id, "time_s")}"'.replace("&", "&amp;") in row
        assert f'href="#{figure_by_id(1, change.after.id, "time_s")}"'.replace("&", "&amp;") in row
        assert numbers.show(change.before.value, "s") in row
        assert "+30.0 % (exact), slower" in row or "+10.0 % (exact), slower" in row
    slower = len(changed)
    assert f" lost, {slower:,} slower, " in plain(text)
    assert text.count("<li><a class=") == 3


def test_what_is_in_one_run_alone_is_named_and_not_shown_beside(pair: tuple[Run, Run]) -> None:
    text = plain(str(comparison.render(pair)))
    copies = [m for m in pair[0].measurements if m.case.kernel == "hbm_copy" and m.time_s]
    assert f"{len(copies):,} cases lost, only in A: {copies[0].id}" in text


def test_numbers_of_two_kinds_are_listed_with_the_reason(pair: tuple[Run, Run]) -> None:
    first, second = pair
    measured = changed(second, graded(Grade.MEASURED))
    other = replace(measured, grade=Grade.MEASURED)
    text = plain(str(comparison.render((first, other))))
    assert "other evidence: emulated and measured" in text
    assert "slower" not in text
    assert not view.comparable(first, other)
    # Then each run has views of its own.
    assert len(list(view.each_newest((first, other)))) == 2


def test_runs_with_nothing_in_common_say_so(pair: tuple[Run, Run]) -> None:
    first, second = pair
    assert "Nothing is compared: " in str(comparison.render((first, replace(second, measurements=()))))
    assert comparison.render((first,)) == ""
    assert comparison.render((first, first)) == ""


def test_the_views_of_two_runs_are_of_the_later_one(pair: tuple[Run, Run]) -> None:
    assert [(index, run.id) for index, run, _ in view.each_newest(pair)] == [(1, "later")]
    assert str(headline.render(pair)).count("<h1") == 1
    assert str(scoreboard.render(pair)).count('class="board ') == 1


def test_compare_writes_the_page_of_two_runs(pair: tuple[Run, Run], tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.json" for name in "ab"]
    for file, run in zip(files, pair, strict=True):
        file.write_bytes(trnbench.dumps(run))
    page = tmp_path / "page.html"
    words = ["--store", str(tmp_path / "x.db"), "compare", *map(str, files), "--html", str(page)]
    done = typed(*words)
    assert (done.exit_code, done.stdout) == (0, f"{page}\n")
    assert '<section class="depth2" id="comparison"' in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words", [("-k", "gemm"), ("--a", "gemm"), ("--b", "gemm"), ("--across",), ("--threshold", "3%")]
)
def test_a_narrowed_comparison_has_no_page(words: tuple[str, ...], tmp_path: Path) -> None:
    assert refusal(typed("compare", *words, "--html", str(tmp_path / "page.html"))) == (
        "error: --html writes the page of two whole runs\n"
        "  cause: -k, --a, --b, --across and --threshold are of the table alone\n"
        "  try:   trnbench compare BEFORE AFTER --html FILE, and filter on the page\n"
    )


# A page of two runs: each row has both, and what changed.


def test_each_row_names_the_other_run(pair: tuple[Run, Run]) -> None:
    found = beside(pair)
    (one, two) = (run.measurements[0] for run in pair)
    assert one.case.kernel == "gemm"
    assert found[0, one.id].change == found[1, two.id].change == "+10.0 % (exact), slower"
    assert found[0, one.id].anchor == figure_by_id(1, two.id, "share")
    assert found[1, two.id].anchor == figure_by_id(0, one.id, "share")
    same = next(each for each in pair[0].measurements if each.case.kernel == "hbm_read")
    assert found[0, same.id].change == "the same"
    assert not any(
        key[1] == each.id for key in found for each in pair[0].measurements if each.case.kernel == "hbm_copy"
    )


def test_the_board_says_it_below_the_number(pair: tuple[Run, Run]) -> None:
    page = str(scoreboard.render(pair))
    assert re.search(
        r"other run <a href=\"#case=[^\"]+\">[^<]+</a>: \+30\.0 % \(exact\), slower</small>", page
    )


@pytest.mark.parametrize("count", [1, 3])
def test_one_run_or_three_have_nothing_beside_them(pair: tuple[Run, Run], count: int) -> None:
    runs = [replace(pair[0], id=str(number)) for number in range(count)]
    assert beside(runs) == {}
    assert "other run" not in str(scoreboard.render(runs))


def test_runs_with_nothing_in_common(pair: tuple[Run, Run]) -> None:
    first, second = pair
    assert beside([first, replace(second, measurements=())]) == {}


# What changed against the run before: found in the store, told on the first screen.


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
    assert "Since run run-one of 2026-11-20 20:15 UTC: " in text
    assert "; 2 further changes" in text
    assert "exactly the same" in text
    assert "trnbench compare run-one lists all" in text


def test_nothing_changed_is_said(first: Run) -> None:
    text = plain(comparison.since(first, replace(first, id="run-two"), 0))
    assert "no change shown" in text
    assert "<ul" not in text


def test_runs_with_nothing_in_common_say_nothing(first: Run) -> None:
    other = changed(
        first, lambda each: replace(each, case=replace(each.case, kernel=f"other_{each.case.kernel}"))
    )
    assert comparison.since(first, replace(other, id="x"), 0) == ""


def test_it_stands_on_the_first_screen_of_the_page(first: Run) -> None:
    after = slower(first, 1, 2.0)
    text = page.render([after], BUILT_IN, before=first).decode()
    headline = re.search(r'<section class="depth1" id="headline".*?</section>', text, re.DOTALL)
    assert headline[0].index("id=since") < headline[0].index("card ")
    assert "id=since" not in page.render([after], BUILT_IN).decode()


def test_changes_of_one_cause_are_one_group(first: Run) -> None:
    """Four cases take longer by code of theirs; one of them failed before, which is another cause."""
    after = slower(first, 4, 1.5)
    broken = next(each for each in after.measurements if each.status is Status.OK)
    failed = having(status=Status.FAILED, reason_text="it broke")
    text = plain(comparison.since(first, changed(after, failed, lambda each: each.id == broken.id), 0))
    assert re.search(rf"{re.escape(broken.id)} *: \S+ %, broken ,", text)
    assert re.findall(r"\+(\d+)\.0 % \(exact\), slower", text) == ["80", "70"]
    assert text.count("further change") == text.count("; 1 further change") == 1


def test_the_run_before_is_the_newest_older_one_of_its_kind(first: Run, tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    after = slower(first, 1, 2.0)
    oldest = replace(first, id="oldest", created="2026-11-01T00:00:00Z")
    other = replace(first, id="measured", created="2026-11-21T00:00:00Z", backend="neuron")
    cut = replace(first, id="cut", created="2026-11-21T01:00:00Z", interrupted=True)
    few = replace(first, id="few", created="2026-11-21T02:00:00Z", measurements=first.measurements[::3])
    newer = replace(first, id="newer", created="2026-11-23T00:00:00Z")
    with trnbench.open_store(path) as store:
        store.save(oldest, first, other, cut, few, after, newer)
    found = run_before(path, after)
    assert found.id == "run-one"
    assert run_before(path, oldest) is None
    assert run_before(path, few) is None
    assert run_before(tmp_path / "none.db", after) is None


def test_a_run_of_other_cases_is_nothing_to_compare_with(first: Run, tmp_path: Path) -> None:
    later = slower(first, 1, 2.0)
    others = changed(later, lambda each: replace(each, case=replace(each.case, kernel="another")))
    half = len(first.measurements) // 2
    with trnbench.open_store(tmp_path / "r.db") as store:
        store.save(first)
    for measurements, alike in ((others.measurements, False), (first.measurements[half:], True)):
        found = run_before(tmp_path / "r.db", replace(later, measurements=measurements))
        assert (found is not None) is alike


def test_the_report_of_one_stored_run_has_it(
    first: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRNBENCH_STORE", str(tmp_path / "r.db"))
    with trnbench.open_store(tmp_path / "r.db") as store:
        store.save(first, slower(first, 1, 2.0))
    one = typed("report", "run-two", "-o", "-")
    two = typed("report", "run-one", "run-two", "-o", "-")
    assert ["id=since" in done.stdout for done in (one, two)] == [True, False]


@pytest.mark.parametrize("bad", HOSTILE[:4])
def test_hostile_names_stay_words(first: Run, bad: str) -> None:
    cases = changed(
        first,
        lambda each: replace(each, case=replace(each.case, kernel=bad)),
        lambda each: each.case.kernel == "gemm",
    )
    before = replace(cases, id=bad)
    text = str(comparison.since(before, slower(before, 3, 2.0), 0))
    assert "<script" not in text
    assert not re.search(r"<[^>]*\son\w+=", text)
