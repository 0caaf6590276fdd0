"""What the first screen says, its headline and its scoreboard, on runs whose numbers are known."""

from __future__ import annotations

import re

import msgspec
import pytest
from headline_parts import changed, graded, having, kept, of_systems
from synthetic_run import make_run
from whole_page import plain

import trnbench
from trnbench import Grade, Run, Scope, Status
from trnbench_reports import board, numbers, view
from trnbench_reports.charts import promise
from trnbench_reports.sections import headline, scoreboard

replace = msgspec.structs.replace


class TestHeadline:
    """What the lines say is tested with the core that makes them: tests/run/headline."""

    def test_the_question_names_the_devices(self, several: Run) -> None:
        assert headline.question([several]) == "How close does Trainium come to its documents?"
        one = of_systems(several, "trn2-16.48xlarge")
        assert headline.question([one]) == "How close does Trainium2 come to its documents?"
        text = headline.render([several])
        assert text.count("<h1") == 1
        assert '<h1 id="h-headline">How close does Trainium come' in text

    def test_a_machine_without_documents_asks_its_own_question(self, several: Run) -> None:
        undated = {
            name: replace(
                book, sources={key: replace(source, date="") for key, source in book.sources.items()}
            )
            for name, book in several.books.items()
        }
        host = replace(several, grade=Grade.MEASURED, books=undated)
        assert headline.question([host]) == "How fast is this machine, and can it be believed?"
        assert "documents?" in headline.question([replace(host, grade=Grade.EMULATED)])

    def test_a_bar_for_every_line_of_the_core(self, several: Run) -> None:
        text = headline.render([several])
        cards = trnbench.headline(several).cards
        assert text.count("<article") == len(cards) == 3
        lines = [row.line for card in cards for row in card.rows if row.line]
        assert text.count('<svg class="scale"') == len(lines)
        for line in lines:
            share = numbers.percent(line.of.fraction)
            link = view.figure_by_id(0, line.sweep.case, view.SHARE).replace("&", "&amp;")
            assert f'<a class="figure" href="#{link}">{share}</a>' in text
            assert numbers.show(line.sweep.worst, line.sweep.unit) in text

    def test_all_marks_of_a_bar_are_told_and_stand_on_it(self, several: Run) -> None:
        line = next(
            row.line
            for card in trnbench.headline(several).cards
            for row in card.rows
            if row.line and row.line.of
        )
        line = replace(line, expected=(line.sweep.best * 0.8, line.sweep.best * 1.1), muted=False)
        drawn = str(promise.draw(line))
        (label,) = re.findall('aria-label="([^"]*)"', drawn)
        for mark in promise.ticks(line):
            assert mark.says in label
        assert "expect " in label
        assert "model: " in label
        places = [float(each) for each in re.findall(r'(?:x|x1)="([\d.]+)%"', drawn)]
        assert places
        assert all(0 <= each <= 100 for each in places)

    def test_a_figure_far_beyond_the_promise_is_told_not_drawn(self, several: Run) -> None:
        line = next(row.line for card in trnbench.headline(several).cards for row in card.rows if row.line)
        far = replace(line.of, value=line.of.value * 4, source="old", superseded_by="new")
        drawn = promise.ticks(replace(line, others=(far,)))
        assert "other" not in {each.kind for each in drawn}

    def test_nothing_without_a_band_is_bold(self, several: Run) -> None:
        rows = str(headline.render([several])).split('<div class="bar3')[1:]
        assert rows
        assert all(each.startswith(" faint") for each in rows)
        says = [row.partition('class="says"')[2].partition("</p>")[0] for row in rows]
        assert all("no band" in text and "<b>" not in text for text in says)

    def test_what_an_emulated_number_is(self, several: Run) -> None:
        text = plain(headline.render([several]))
        assert "Emulated: computed by a model (roofline and alpha-beta 1), not run on the device." in text
        measured = changed(several, graded(Grade.MEASURED))
        assert "by a model" not in plain(headline.render([measured]))

    def test_suspect_and_failed_cases_shout(self, run: Run) -> None:
        assert "trn1.2xlarge: 1 SUSPECT, 1 FAILED" in plain(headline.render([run]))

    def test_a_run_without_a_number_says_what_became_of_it(self, several: Run) -> None:
        failed = changed(several, having(status=Status.FAILED, reason_text="the worker died"))
        text = plain(headline.render([failed]))
        assert "No case gave a number to hold against a document" in text
        assert "most often: the worker died" in text

    def test_a_run_that_skipped_all_is_headed_so(self, several: Run) -> None:
        skipped = changed(several, having(status=Status.SKIPPED, time_s=None, metrics={}, judgement=None))
        made = headline.render([replace(skipped, grade=Grade.DOCUMENTED)])
        assert ">No case could run</h1>" in made
        assert "ocumented" not in plain(made)

    def test_what_was_run(self, run: Run) -> None:
        text = plain(headline.render([run]))
        assert f"run {run.id}" in text
        assert "1,771 cases" in text
        for status, count in run.counts().items():
            if count and str(status) != "ok":
                assert f"{count:,} {status}".lower() in text.lower()


class TestScoreboard:
    def test_the_best_and_the_least_of_the_sweep_of_one_device(self, several: Run) -> None:
        text = scoreboard.render([of_systems(several, "trn2-16.48xlarge")])
        shares = [
            each.judgement.fraction
            for each in several.measurements
            if each.judgement
            and each.case.instance == "trn2-16.48xlarge"
            and each.case.kernel == "gemm"
            and each.case.dtype == "bf16"
            and each.case.scope is Scope.DEVICE
        ]
        row = text[text.index('class="main"') : text.index("</tr>", text.index('class="main"'))]
        assert f"<small>{numbers.percent(min(shares))} – </small>" in row
        assert f'{numbers.percent(max(shares))}</a> <abbr title="emulated">E</abbr>' in row
        assert f'data-v="{max(shares):.6g}"' in row
        assert 'class="fill g-emulated"' in row

    def test_larger_systems_do_not_repeat_a_device(self, several: Run) -> None:
        for kernel, rows in board.groups(several):
            shares = [
                (row.variant.dtype, cell.systems, round(cell.share, 9))
                for row in rows
                for cell in row.cells
                if cell is not None and cell.share is not None and row.variant.reach != "core"
            ]
            assert len(shares) == len(set(shares)), kernel

    def test_a_row_has_one_scope_type_metric_and_kind_of_ranks(self, several: Run) -> None:
        for _, rows in board.groups(several):
            for row in rows:
                cases = [case for cell in row.cells if cell for case in cell.cases if case.time_s]
                assert len({(each.case.dtype, each.primary, view.rank_kind(each)) for each in cases}) <= 1

    def test_systems_stand_apart_only_where_they_differ(self, several: Run) -> None:
        apart = 0
        for _, rows in board.groups(several):
            for variant in {row.variant for row in rows}:
                mine = [row for row in rows if row.variant == variant]
                assert all(bool(row.system) is (len(mine) > 1) for row in mine)
                apart += len(mine) > 1
        assert apart

    def test_a_failure_shows_beside_the_best(self, run: Run) -> None:
        text = scoreboard.render([run])
        assert '<strong class="shout">1 SUSPECT</strong>' in text
        assert '<strong class="shout">1 FAILED</strong>' in text
        assert "crash: the worker ended with signal 11" in plain(text)
        assert "1.2 times the engine bound; likely no barrier" in plain(text)

    def test_all_failed_shouts(self, several: Run) -> None:
        failed = having(status=Status.FAILED, reason_text="timed out", judgement=None, metrics={})
        alone = kept(of_systems(several, "trn1.2xlarge"), lambda each: each.case.kernel == "softmax")
        text = scoreboard.render([changed(alone, failed)])
        assert 'class="s-failed"' in text
        assert 'title="timed out"' in text

    def test_a_cause_is_said_once(self, run: Run) -> None:
        suspect = next(each for each in run.measurements if each.status is Status.SUSPECT)
        judged = replace(suspect.judgement, causes=("the timer stopped", "a clock boosted"))
        one = replace(suspect, judgement=judged, reason_text="most likely the timer stopped")
        text = plain(scoreboard.render([replace(run, measurements=(one,))]))
        assert text.count("the timer stopped") == len(re.findall("most likely the timer stopped", text))
        assert "; or: a clock boosted" in text

    def test_skips_say_why(self, several: Run) -> None:
        text = plain(scoreboard.render([several]))
        assert "no public instruction for INT8 gemm" in text
        assert "needs 2 devices, trn1.2xlarge has 1" in text

    def test_document_low_is_said(self, several: Run) -> None:
        first = next(each for each in several.measurements if each.judgement)
        low = replace(first, status=Status.DOCUMENT_LOW, judgement=replace(first.judgement, fraction=1.04))
        text = scoreboard.render([of_systems(replace(several, measurements=(low,)), first.case.instance)])
        assert "1 case above the documented figure, yet below what rows, columns and clocks allow" in plain(
            text
        )
        assert f"104.0{numbers.NBSP}%" in text


def test_a_formula_stands_for_a_sweep_only_where_nothing_else_does() -> None:
    judged = [each for each in make_run().measurements if each.judgement and each.status is Status.OK]
    worst = min(judged, key=lambda each: each.judgement.fraction if each.judgement else 0.0)
    top = view.best(judged)
    formula = replace(top, evidence=replace(top.evidence, grade=Grade.DERIVED))
    assert view.best([formula, worst]) is worst
    assert view.best([formula]) is formula


class TestFoldedScoreboard:
    def test_a_large_board_shows_the_first_of_each_family_and_has_all(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(scoreboard, "FEW", 5)
        text = str(scoreboard.render([run]))
        bodies = re.findall(
            r"<tbody( class=\"rest\")?>\s*<tr class=\"main\" data-k=\"([^\"]+)\" data-f=\"([^\"]+)\"", text
        )
        assert len(bodies) > scoreboard.FEW
        families: dict[str, list[str]] = {}
        for rest, kernel, family in bodies:
            if not rest:
                families.setdefault(family, []).append(kernel)
        assert families.keys() == {family for _, _, family in bodies}
        loud = {
            each.case.kernel for each in run.measurements if each.status in (Status.FAILED, Status.SUSPECT)
        }
        for family, names in families.items():
            assert len(set(names) - loud) <= scoreboard.LEADING
            named = {kernel for _, kernel, of in bodies if of == family and kernel == family}
            assert named <= set(names)
        assert loud & {kernel for _, kernel, _ in bodies} <= {
            name for names in families.values() for name in names
        }
        shown = sum(map(len, families.values()))
        assert f"all {len(bodies)} kernels, not the {shown} main ones" in plain(text)

    def test_of_a_kernel_with_many_rows_the_rest_is_counted(
        self, several: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = str(scoreboard.render([several]))
        monkeypatch.setattr(scoreboard, "MOST", 1)
        text = str(scoreboard.render([several]))
        more = re.findall(r'href="#cases\?q=(\w+)">([\d,]+) more rows? in all cases', text)
        assert sum(int(count) for _, count in more) == whole.count('class="more"') > 0
        assert text.count('class="more"') == len(more)

    def test_a_small_one_folds_nothing(self, several: Run) -> None:
        text = str(scoreboard.render([several]))
        assert 'class="rest"' not in text
        assert 'class="every"' not in text


def test_the_first_line_has_the_day_and_a_kernel_its_scope() -> None:
    """Softmax has no question of its own: its row says whose bandwidth it is a share of."""
    softmax = kept(
        make_run(sizes=1, extra_kernels=0),
        lambda each: each.case.kernel == "softmax" and each.case.scope is Scope.CORE,
    )
    text = plain(headline.render([softmax]))
    assert re.search(rf"\d+ cases ?, [^.]*, {softmax.created[:10]}\.", text)
    assert "softmax, one core" in text


def test_a_run_without_a_number_has_no_empty_board() -> None:
    none = changed(
        make_run(sizes=1, extra_kernels=0),
        lambda each: msgspec.structs.replace(
            each, status=Status.SKIPPED, reason="no such instruction", time_s=None, metrics={}, judgement=None
        ),
        lambda _: True,
    )
    text = str(scoreboard.render([none]))
    assert "No case gave a number." in text
    assert '<table class="board' not in text
