"""What changed from one run of a page to another: ranked, with both values; what is not compared, and why."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from command import refusal, typed
from synthetic_run import make_run

import trnbench
from trnbench import Grade, Run
from trnbench_reports import numbers, view
from trnbench_reports.sections import comparison, headline, scoreboard
from trnbench_reports.view import figure_by_id

replace = msgspec.structs.replace


def plain(markup: str) -> str:
    text = re.sub(r"<[^>]+>", " ", markup).replace(numbers.NBSP, " ").replace("&gt;", ">")
    return re.sub(r"\s+", " ", text)


@pytest.fixture(scope="module")
def pair() -> tuple[Run, Run]:
    """The second takes longer for its products, the more the larger they are; it has no copies and one kernel
    at another scope."""
    first = make_run(sizes=2, extra_kernels=0)
    later = tuple(
        replace(each, time_s=each.time_s * (1.1 if each.case.point["m"] == 512 else 1.3))
        if each.time_s and each.case.kernel == "gemm"
        else each
        for each in first.measurements
        if each.case.kernel != "hbm_copy"
    )
    return first, replace(first, id="later", measurements=later)


def test_changes_are_ranked_and_have_both_values(pair: tuple[Run, Run]) -> None:
    text = str(comparison.render(pair))
    found = trnbench.compare_runs(*pair)
    changed = [each for each in found.changes if each.effect]
    rows = text.split('<tr><th scope="row"')[1:]
    assert len(rows) == min(len(changed), comparison.SHOWN)
    effects = [float(each) for each in re.findall(r'data-v="([^"]+)"', text)]
    assert effects == sorted(effects, reverse=True)
    assert effects[0] == pytest.approx(0.3)
    for row, change in zip(rows, changed, strict=False):
        assert f'href="#{figure_by_id(0, change.before.id, "time_s")}"'.replace("&", "&amp;") in row
        assert f'href="#{figure_by_id(1, change.after.id, "time_s")}"'.replace("&", "&amp;") in row
        assert change.before.value is not None
        assert numbers.show(change.before.value, "s") in row
        assert "+30.0 % (exact), slower" in row or "+10.0 % (exact), slower" in row
    slower = len(changed)
    assert f"(B): {slower:,} slower, " in plain(text)
    assert text.count("<li><a class=") == 3


def test_what_is_in_one_run_alone_is_named_and_not_shown_beside(pair: tuple[Run, Run]) -> None:
    text = plain(str(comparison.render(pair)))
    copies = [m for m in pair[0].measurements if m.case.kernel == "hbm_copy" and m.time_s]
    assert f"{len(copies):,} cases only in A: {copies[0].id}" in text


def test_numbers_of_two_kinds_are_listed_with_the_reason(pair: tuple[Run, Run]) -> None:
    first, second = pair
    measured = tuple(
        replace(each, evidence=replace(each.evidence, grade=Grade.MEASURED)) for each in second.measurements
    )
    other = replace(second, grade=Grade.MEASURED, measurements=measured)
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
