"""What each section says, on runs whose numbers are known."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from headline_parts import changed, graded, having, kept
from synthetic_run import make_run
from whole_page import plain

import trnbench
from trnbench import Grade, PeakPolicy, Run, Scope, Status
from trnbench_reports import board, numbers, view
from trnbench_reports.charts import promise, roofline
from trnbench_reports.sections import documents, fabric, generations, headline, method, rooflines, scoreboard
from trnbench_reports.sections.documents import assemblies, disagreements

replace = msgspec.structs.replace


def only(run: Run, *instances: str) -> Run:
    chosen = kept(run, lambda each: each.case.instance in instances)
    return replace(chosen, systems={name: run.systems[name] for name in run.systems if name in instances})


@pytest.fixture(scope="module")
def small() -> Run:
    return make_run(sizes=5, extra_kernels=0)


class TestHeadline:
    """What the lines say is tested with the core that makes them: tests/run/headline."""

    def test_the_question_names_the_devices(self, small: Run) -> None:
        assert headline.question([small]) == "How close does Trainium come to its documents?"
        one = only(small, "trn2-16.48xlarge")
        assert headline.question([one]) == "How close does Trainium2 come to its documents?"
        text = headline.render([small])
        assert text.count("<h1") == 1
        assert '<h1 id="h-headline">How close does Trainium come' in text

    def test_a_machine_without_documents_asks_its_own_question(self, small: Run) -> None:
        undated = {
            name: replace(
                book, sources={key: replace(source, date="") for key, source in book.sources.items()}
            )
            for name, book in small.books.items()
        }
        host = replace(small, grade=Grade.MEASURED, books=undated)
        assert headline.question([host]) == "How fast is this machine, and can it be believed?"
        assert "documents?" in headline.question([replace(host, grade=Grade.EMULATED)])

    def test_a_bar_for_every_line_of_the_core(self, small: Run) -> None:
        text = headline.render([small])
        cards = trnbench.headline(small).cards
        assert text.count("<article") == len(cards) == 3
        lines = [row.line for card in cards for row in card.rows if row.line]
        assert text.count('<svg class="scale"') == len(lines)
        for line in lines:
            share = numbers.percent(line.of.fraction)
            link = view.figure_by_id(0, line.sweep.case, view.SHARE).replace("&", "&amp;")
            assert f'<a class="figure" href="#{link}">{share}</a>' in text
            assert numbers.show(line.sweep.worst, line.sweep.unit) in text

    def test_all_marks_of_a_bar_are_told_and_stand_on_it(self, small: Run) -> None:
        line = next(
            row.line
            for card in trnbench.headline(small).cards
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

    def test_a_figure_far_beyond_the_promise_is_told_not_drawn(self, small: Run) -> None:
        line = next(row.line for card in trnbench.headline(small).cards for row in card.rows if row.line)
        far = replace(line.of, value=line.of.value * 4, source="old", superseded_by="new")
        drawn = promise.ticks(replace(line, others=(far,)))
        assert "other" not in {each.kind for each in drawn}

    def test_nothing_without_a_band_is_bold(self, small: Run) -> None:
        rows = str(headline.render([small])).split('<div class="bar3')[1:]
        assert rows
        assert all(each.startswith(" faint") for each in rows)
        says = [row.partition('class="says"')[2].partition("</p>")[0] for row in rows]
        assert all("no band" in text and "<b>" not in text for text in says)

    def test_what_an_emulated_number_is(self, small: Run) -> None:
        text = plain(headline.render([small]))
        assert "Emulated: computed by a model (roofline and alpha-beta 1), not run on the device." in text
        measured = changed(small, graded(Grade.MEASURED))
        assert "by a model" not in plain(headline.render([measured]))

    def test_suspect_and_failed_cases_shout(self, run: Run) -> None:
        assert "trn1.2xlarge: 1 SUSPECT, 1 FAILED" in plain(headline.render([run]))

    def test_a_run_without_a_number_says_what_became_of_it(self, small: Run) -> None:
        failed = changed(small, having(status=Status.FAILED, reason_text="the worker died"))
        text = plain(headline.render([failed]))
        assert "No case gave a number to hold against a document" in text
        assert "most often: the worker died" in text

    def test_a_run_that_skipped_all_is_headed_so(self, small: Run) -> None:
        skipped = changed(small, having(status=Status.SKIPPED, time_s=None, metrics={}, judgement=None))
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
    def test_the_best_and_the_least_of_the_sweep_of_one_device(self, small: Run) -> None:
        text = scoreboard.render([only(small, "trn2-16.48xlarge")])
        shares = [
            each.judgement.fraction
            for each in small.measurements
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

    def test_larger_systems_do_not_repeat_a_device(self, small: Run) -> None:
        for kernel, rows in board.groups(small):
            shares = [
                (row.variant.dtype, cell.systems, round(cell.share, 9))
                for row in rows
                for cell in row.cells
                if cell is not None and cell.share is not None and row.variant.reach != "core"
            ]
            assert len(shares) == len(set(shares)), kernel

    def test_a_row_has_one_scope_type_metric_and_kind_of_ranks(self, small: Run) -> None:
        for _, rows in board.groups(small):
            for row in rows:
                cases = [case for cell in row.cells if cell for case in cell.cases if case.time_s]
                assert len({(each.case.dtype, each.primary, view.rank_kind(each)) for each in cases}) <= 1

    def test_systems_stand_apart_only_where_they_differ(self, small: Run) -> None:
        apart = 0
        for _, rows in board.groups(small):
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

    def test_all_failed_shouts(self, small: Run) -> None:
        failed = having(status=Status.FAILED, reason_text="timed out", judgement=None, metrics={})
        alone = kept(only(small, "trn1.2xlarge"), lambda each: each.case.kernel == "softmax")
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

    def test_skips_say_why(self, small: Run) -> None:
        text = plain(scoreboard.render([small]))
        assert "no public instruction for INT8 gemm" in text
        assert "needs 2 devices, trn1.2xlarge has 1" in text

    def test_document_low_is_said(self, small: Run) -> None:
        first = next(each for each in small.measurements if each.judgement)
        low = replace(first, status=Status.DOCUMENT_LOW, judgement=replace(first.judgement, fraction=1.04))
        text = scoreboard.render([only(replace(small, measurements=(low,)), first.case.instance)])
        assert "1 case above the documented figure, yet below what rows, columns and clocks allow" in plain(
            text
        )
        assert f"104.0{numbers.NBSP}%" in text


def test_a_generation_keeps_its_colour_in_every_report(small: Run) -> None:
    for generation, name in (("trn1", "trn1.2xlarge"), ("trn3", "trn3-gen2-ultraserver")):
        alone = only(small, name)
        assert view.colour(alone, generation) == view.colour(small, generation)
    assert len({view.colour(small, each) for each in ("trn1", "trn2", "trn3")}) == 3


@pytest.mark.parametrize("order", [900, 20, 5])
def test_a_generation_of_any_order_has_a_colour_of_its_own(small: Run, order: int) -> None:
    record = next(iter(small.systems.values()))
    new = replace(record, instance="trn9.large", generation="trn9", order=order)
    run = replace(small, systems={**small.systems, "trn9.large": new})
    kept = ("trn1", "trn2", "trn3")
    assert [view.colour(run, name) for name in kept] == [view.colour(small, name) for name in kept]
    assert view.colour(run, "trn9") not in [view.colour(run, name) for name in kept]


class TestRooflines:
    def test_a_legend_has_six_series_each_with_a_mark_of_its_own_and_the_others(self, run: Run) -> None:
        text = rooflines.render([run])
        for legend in re.findall(r'<ul class="legend">(.*?)</ul>', text, re.S):
            marks = re.findall(
                r'class="?(ink-\d+)"?><span aria-hidden="?true"?>(.)</span> (?!\d+ others)', legend
            )
            assert 1 < len(set(marks)) == len(marks) <= 6
            assert legend.count("<button") == len(marks) + ("others" in legend)
        assert re.search(r"named below: the 6 that come furthest; grey: \d+ more, in the table", text)

    def test_roofs_of_skipped_types_are_drawn(self, small: Run) -> None:
        found = [
            each
            for each in small.measurements
            if each.case.instance == "trn1.32xlarge" and each.case.scope is Scope.INSTANCE
        ]
        names = {name: roof for roof in roofline.roofs(found) for name in roof.names}
        assert set(names) == {"bf16", "fp8", "fp32", "int8"}
        assert names["bf16"] is names["fp8"]
        assert names["bf16"].main
        assert names["int8"].documented == 2 * names["bf16"].documented

    def test_points_are_work_over_bytes_and_time(self, small: Run) -> None:
        (case,) = [
            each
            for each in small.measurements
            if each.id == "trn1.2xlarge::gemm[dtype=bf16,m=4096,n=4096,k=4096]@core"
        ]
        (spot,) = roofline.spots(0, [case])
        assert spot.intensity == pytest.approx(2 * 4096**3 / (3 * 4096**2 * 2))
        assert spot.rate == pytest.approx(2 * 4096**3 / case.time_s)

    def test_one_chart_for_each_system_and_each_distinct_core(self, small: Run) -> None:
        text = rooflines.render([small])
        assert text.count('<figure class="figure" id="roof-0-') == 7
        # Equal numbers share a chart; a core whose numbers differ gets its own.
        assert 3 <= text.count('<figure class="figure" id="core-0-') <= 7

    def test_nothing_without_arithmetic(self, small: Run) -> None:
        rest = kept(small, lambda each: each.case.family == "collective")
        assert rooflines.render([rest]) == ""


class TestGenerations:
    def test_one_device_is_held_against_one_device(self, small: Run) -> None:
        text = generations.render([small])
        whole = plain(text)
        assert "One device" in whole
        assert re.search(r"trn1 trn1\.32xlarge; promised by .* trn2 trn2-16\.48xlarge; promised by", whole)
        assert re.search(r"3\.0× of trn1, 3\.0× promised", whole)
        links = {m.id: f"#{view.figure_of(0, m)}".replace("&", "&amp;") for m in small.measurements}
        shown = [each for each in small.measurements if links[each.id] in text]
        assert shown
        assert {each.case.scope for each in shown} == {Scope.DEVICE, Scope.CORE}

    def test_the_same_point_is_compared(self, small: Run) -> None:
        best = {}
        for each in small.measurements:
            if each.case.fullname.startswith("gemm[dtype=bf16,m=8192,n=8192,k=8192]@device"):
                best[each.case.instance] = each
        one, two = best["trn1.32xlarge"], best["trn2-16.48xlarge"]
        ratio = two.metrics["flops_per_s"].value / one.metrics["flops_per_s"].value
        assert f"{numbers.times(ratio)} of trn1, " in plain(generations.render([small]))

    def test_the_promise_has_its_document(self, run: Run) -> None:
        text = plain(generations.render([run]))
        case = next(
            each
            for each in run.measurements
            if each.case.fullname.startswith("gemm[dtype=bf16,m=8192") and each.case.scope is Scope.DEVICE
        )
        figure = numbers.show(case.judgement.peaks.chosen.value, "FLOP/s").replace(numbers.NBSP, " ")
        assert f" of {figure} " in text
        assert re.search(r"trn1 trn1\.32xlarge; promised by [^;]*trn1-page 2025", text)

    def test_a_missing_cell_says_what_is_missing(self, small: Run) -> None:
        def is_of(kernel: str, generation: str) -> Any:
            return lambda each: (each.case.kernel, each.case.generation) == (kernel, generation)

        without = kept(small, lambda each: not is_of("softmax", "trn2")(each))
        skipped = having(status=Status.SKIPPED, reason_text="no exponent unit", metrics={}, judgement=None)
        text = plain(generations.render([changed(without, skipped, is_of("attention", "trn3"))]))
        assert "not in this run for trn2-16.48xlarge" in text
        assert "skipped: no exponent unit" in text

    def test_grades_are_not_mixed(self, small: Run) -> None:
        mixed = changed(small, graded(Grade.MEASURED), lambda each: each.case.generation == "trn2")
        text = plain(generations.render([mixed]))
        assert "not compared: emulated against measured" in text

    def test_nothing_for_one_generation(self, small: Run) -> None:
        assert generations.render([only(small, "trn1.32xlarge")]) == ""


class TestFabric:
    def test_a_chart_for_each_collective(self, small: Run) -> None:
        text = fabric.render([small])
        assert text.count("<figure") == 4
        assert "all_reduce: at best" in plain(text)

    def test_nothing_without_collectives(self, small: Run) -> None:
        rest = kept(small, lambda each: each.case.family != "collective")
        assert fabric.render([rest]) == ""


class TestDocuments:
    def test_peaks_with_source_policy_and_alternatives(self, small: Run) -> None:
        text = plain(documents.render([small]))
        assert "Trn2 architecture, 2.26, 2025-10-29" in text
        assert "printed 10,000 TFLOPS; instance table, column FLOPS" in text
        assert "superseded by Trn2 architecture, 2.26, 2025-10-29" in text
        assert f"policy {PeakPolicy.DEVICE}" in text

    def test_three_link_figures_side_by_side(self, small: Run) -> None:
        ((generation, found),) = [each for each in disagreements(small) if each[0] == "trn3"]
        assert generation == "trn3"
        dispute = next(each for each in found if each.id == "C07")
        assert [side.value for side in dispute.sides] == ["2,048 GiB/s", "2.56 TB/s", "1.2 TB/s"]
        assert dispute.sides[0].source == "Trn3 architecture, 2.26"
        assert dispute.found == "rule value"

    def test_news_found_by_a_rule_is_listed(self, small: Run) -> None:
        book = small.books["trn3"]
        run = replace(small, books={**small.books, "trn3": replace(book, disputes=())})
        found = dict(disagreements(run))["trn3"]
        assert any("trainium3 neuronlink bandwidth" in each.topic and len(each.sides) == 3 for each in found)
        assert all(each.found.startswith("rule ") for each in found)

    def test_what_systems_are_made_of(self, small: Run) -> None:
        made = {each.subject: each.parent for each in assemblies(small, "trn1")}
        assert made == {"trn1.2xlarge": "", "trn1.32xlarge": "", "trn1-ultracluster": "trn1.32xlarge"}
        assert {each.subject: each.parent for each in assemblies(small, "trn2")}[
            "u-trn2x64"
        ] == "trn2-16.48xlarge"

    def test_assumptions_with_their_range(self, small: Run) -> None:
        text = plain(documents.render([small]))
        assert "trn1-link-latency trn1 latency 1 µs 500 ns to 3 µs no document prints a hop latency" in text


class TestMethod:
    def test_no_python_value_is_printed(self, run: Run) -> None:
        summary = {
            "kind": "torus",
            "shape": ["torus", 4, 4],
            "shape_words": "torus 4 × 4",
            "links": {"neuronlink": {"cables": 32, "low": None}},
            "degree": 4,
            "diameter": 4,
            "connected": True,
            "bisection_one_way_bytes_per_s": 824633720832.0,
        }
        systems = {k: replace(each, topology_summary=summary) for k, each in run.systems.items()}
        odd = {"wait_quiet": False, "axes": {"size": [1, 2]}, "rules": [{"a": None}], "limit": None}
        text = plain(method.render([replace(run, systems=systems, settings=odd)]))
        assert "torus 4 × 4; 4 links a device; at most 4 hops; 825 GB/s through the middle, one way" in text
        assert "wait_quiet no" in text
        for python in ("None", "True", "False", "{'", "['"):
            assert python not in text

    def test_what_a_rerun_needs(self, run: Run) -> None:
        text = plain(method.render([run]))
        for words in (
            "trnbench run",
            "seed 20261120",
            "python 3.11.2",
            "deterministic model",
            "2·M·N·K / time",
            "ImportError: no module x",
            "axes.size 1, 2, 3",
        ):
            assert words in text, words

    def test_the_digest_is_that_of_the_run(self, run: Run) -> None:
        sealed = msgspec.structs.replace(run, digest="0123456789abcdef" * 4)
        assert "Digest 0123456789abcdef" in plain(method.render([sealed]))
        assert "Digest" not in plain(method.render([run]))

    def test_every_status_and_grade_is_explained(self, run: Run) -> None:
        text = plain(method.render([run]))
        for word in ("ok", "document-low", "suspect", "failed", "skipped", "unvalidated", "clocks allow"):
            assert f" {word} " in text


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
        self, small: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = str(scoreboard.render([small]))
        monkeypatch.setattr(scoreboard, "MOST", 1)
        text = str(scoreboard.render([small]))
        more = re.findall(r'href="#cases\?q=(\w+)">([\d,]+) more rows? in all cases', text)
        assert sum(int(count) for _, count in more) == whole.count('class="more"') > 0
        assert text.count('class="more"') == len(more)

    def test_a_small_one_folds_nothing(self, small: Run) -> None:
        text = str(scoreboard.render([small]))
        assert 'class="rest"' not in text
        assert 'class="every"' not in text
