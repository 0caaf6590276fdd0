"""What each section says, on runs whose numbers are known."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from headline_parts import changed, graded, having, judged_by, kept, near, of_systems
from whole_page import plain

from trnbench import Grade, PeakPolicy, Run, Scope, Status
from trnbench.results.measurement import Nearness
from trnbench_reports import numbers, view
from trnbench_reports.charts import roofline
from trnbench_reports.sections import documents, fabric, generations, method, rooflines
from trnbench_reports.sections.documents import assemblies, disagreements

replace = msgspec.structs.replace


def test_a_generation_keeps_its_colour_in_every_report(several: Run) -> None:
    for generation, name in (("trn1", "trn1.2xlarge"), ("trn3", "trn3-gen2-ultraserver")):
        alone = of_systems(several, name)
        assert view.colour(alone, generation) == view.colour(several, generation)
    assert len({view.colour(several, each) for each in ("trn1", "trn2", "trn3")}) == 3


@pytest.mark.parametrize("order", [900, 20, 5])
def test_a_generation_of_any_order_has_a_colour_of_its_own(several: Run, order: int) -> None:
    record = next(iter(several.systems.values()))
    new = replace(record, instance="trn9.large", generation="trn9", order=order)
    run = replace(several, systems={**several.systems, "trn9.large": new})
    kept = ("trn1", "trn2", "trn3")
    assert [view.colour(run, name) for name in kept] == [view.colour(several, name) for name in kept]
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

    def test_roofs_of_skipped_types_are_drawn(self, several: Run) -> None:
        found = [
            each
            for each in several.measurements
            if each.case.instance == "trn1.32xlarge" and each.case.scope is Scope.INSTANCE
        ]
        names = {name: roof for roof in roofline.roofs(found) for name in roof.names}
        assert set(names) == {"bf16", "fp8", "fp32", "int8"}
        assert names["bf16"] is names["fp8"]
        assert names["bf16"].main
        assert names["int8"].documented == 2 * names["bf16"].documented

    def test_points_are_work_over_bytes_and_time(self, several: Run) -> None:
        (case,) = [
            each
            for each in several.measurements
            if each.id == "trn1.2xlarge::gemm[dtype=bf16,m=4096,n=4096,k=4096]@core"
        ]
        (spot,) = roofline.spots(0, [case])
        assert spot.intensity == pytest.approx(2 * 4096**3 / (3 * 4096**2 * 2))
        assert spot.rate == pytest.approx(2 * 4096**3 / case.time_s)

    def test_one_chart_for_each_system_and_each_distinct_core(self, several: Run) -> None:
        text = rooflines.render([several])
        assert text.count('<figure class="figure" id="roof-0-') == 7
        # Equal numbers share a chart; a core whose numbers differ gets its own.
        assert 3 <= text.count('<figure class="figure" id="core-0-') <= 7

    def test_nothing_without_arithmetic(self, several: Run) -> None:
        rest = kept(several, lambda each: each.case.family == "collective")
        assert rooflines.render([rest]) == ""


class TestGenerations:
    def test_one_device_is_held_against_one_device(self, several: Run) -> None:
        text = generations.render([several])
        whole = plain(text)
        assert "One device" in whole
        assert re.search(r"trn1 trn1\.32xlarge; promised by .* trn2 trn2-16\.48xlarge; promised by", whole)
        assert re.search(r"3\.0× of trn1, 3\.0× promised", whole)
        links = {m.id: f"#{view.figure_of(0, m)}".replace("&", "&amp;") for m in several.measurements}
        shown = [each for each in several.measurements if links[each.id] in text]
        assert shown
        assert {each.case.scope for each in shown} == {Scope.DEVICE, Scope.CORE}

    def test_the_same_point_is_compared(self, several: Run) -> None:
        best = {}
        for each in several.measurements:
            if each.case.fullname.startswith("gemm[dtype=bf16,m=8192,n=8192,k=8192]@device"):
                best[each.case.instance] = each
        one, two = best["trn1.32xlarge"], best["trn2-16.48xlarge"]
        ratio = two.metrics["flops_per_s"].value / one.metrics["flops_per_s"].value
        assert f"{numbers.times(ratio)} of trn1, " in plain(generations.render([several]))

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

    def test_a_missing_cell_says_what_is_missing(self, several: Run) -> None:
        def is_of(kernel: str, generation: str) -> Any:
            return lambda each: (each.case.kernel, each.case.generation) == (kernel, generation)

        without = kept(several, lambda each: not is_of("softmax", "trn2")(each))
        skipped = having(status=Status.SKIPPED, reason_text="no exponent unit", metrics={}, judgement=None)
        text = plain(generations.render([changed(without, skipped, is_of("attention", "trn3"))]))
        assert "not in this run for trn2-16.48xlarge" in text
        assert "skipped: no exponent unit" in text

    def test_grades_are_not_mixed(self, several: Run) -> None:
        mixed = changed(several, graded(Grade.MEASURED), lambda each: each.case.generation == "trn2")
        text = plain(generations.render([mixed]))
        assert "not compared: emulated against measured" in text

    def test_nothing_for_one_generation(self, several: Run) -> None:
        assert generations.render([of_systems(several, "trn1.32xlarge")]) == ""


class TestFabric:
    def test_a_chart_for_each_collective(self, several: Run) -> None:
        text = fabric.render([several])
        assert text.count("<figure") == 4
        assert "all_reduce: at best" in plain(text)

    def test_nothing_without_collectives(self, several: Run) -> None:
        rest = kept(several, lambda each: each.case.family != "collective")
        assert fabric.render([rest]) == ""


class TestDocuments:
    def test_peaks_with_source_policy_and_alternatives(self, several: Run) -> None:
        text = plain(documents.render([several]))
        assert "Trn2 architecture, 2.26, 2025-10-29" in text
        assert "printed 10,000 TFLOPS; instance table, column FLOPS" in text
        assert "superseded by Trn2 architecture, 2.26, 2025-10-29" in text
        assert f"policy {PeakPolicy.DEVICE}" in text

    def test_three_link_figures_side_by_side(self, several: Run) -> None:
        ((generation, found),) = [each for each in disagreements(several) if each[0] == "trn3"]
        assert generation == "trn3"
        dispute = next(each for each in found if each.id == "C07")
        assert [side.value for side in dispute.sides] == ["2,048 GiB/s", "2.56 TB/s", "1.2 TB/s"]
        assert dispute.sides[0].source == "Trn3 architecture, 2.26"
        assert dispute.found == "rule value"

    def test_news_found_by_a_rule_is_listed(self, several: Run) -> None:
        book = several.books["trn3"]
        run = replace(several, books={**several.books, "trn3": replace(book, disputes=())})
        found = dict(disagreements(run))["trn3"]
        assert any("trainium3 neuronlink bandwidth" in each.topic and len(each.sides) == 3 for each in found)
        assert all(each.found.startswith("rule ") for each in found)

    def test_what_systems_are_made_of(self, several: Run) -> None:
        made = {each.subject: each.parent for each in assemblies(several, "trn1")}
        assert made == {"trn1.2xlarge": "", "trn1.32xlarge": "", "trn1-ultracluster": "trn1.32xlarge"}
        assert {each.subject: each.parent for each in assemblies(several, "trn2")}[
            "u-trn2x64"
        ] == "trn2-16.48xlarge"

    def test_assumptions_with_their_range(self, several: Run) -> None:
        text = plain(documents.render([several]))
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


def test_where_less_is_better_a_longer_time_is_a_smaller_share(several: Run) -> None:
    found = next(e for e in several.measurements if e.judgement and e.judgement.of_engine_bound)
    case = judged_by(near(Nearness.KERNEL))(found)
    judged, metric = case.judgement, case.metrics[case.primary]
    assert judged is not None
    time = msgspec.structs.replace(metric, value=case.time_s, unit="s", better="lower")
    timed = msgspec.structs.replace(case, metrics={metric.name: time})
    assert view.expect_share(timed) == view.expect_share(case) != ""
    half = msgspec.structs.replace(judged.peaks.chosen, value=judged.peaks.chosen.value / 2)
    peaks = msgspec.structs.replace(judged.peaks, chosen=half)
    newer = msgspec.structs.replace(timed, judgement=msgspec.structs.replace(judged, peaks=peaks))
    assert generations._ratios(timed, newer) == (1.0, 2.0)
