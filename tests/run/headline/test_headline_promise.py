"""What a line is held against, what takes the rest, and how much a reader may trust it."""

from __future__ import annotations

import math

import pytest
from fact_rows import fact
from headline_parts import best_published, changed, graded, judged_by, kept, near, of, own_product, replace

from trnbench import Grade, Measurement, PeakPolicy, Run, Scope, Source, Status, headline
from trnbench.facts.units import show
from trnbench.results.fidelity import OwnProduct
from trnbench.results.measurement import Nearness
from trnbench.run.headline.answer import rest
from trnbench.run.headline.words import said


class TestPromise:
    def test_a_superseded_figure_stands_beside_what_replaced_it(self, small: Run) -> None:
        line = of(superseded(small), "product", "trn2")
        assert line.since.value == pytest.approx(line.of.value * 1.25)
        assert line.since.fraction == pytest.approx(line.of.fraction / 1.25)
        assert line.since.source == "new"
        assert f"; since {show(line.since.value, 'FLOP/s').split()[0]}, new 2026: " in said(line).promise

    def test_without_the_new_figure_in_the_book_the_latest_is_taken(self, small: Run) -> None:
        def change(each: Measurement) -> Measurement:
            peaks = each.judgement.peaks
            latest = replace(peaks.alternatives[0], policy=PeakPolicy.LATEST, superseded_by="")
            chosen = replace(peaks.chosen, superseded_by="gone")
            peaks = replace(peaks, chosen=chosen, alternatives=(latest,))
            return replace(each, judgement=replace(each.judgement, peaks=peaks))

        run = changed(small, change, lambda each: each.judgement is not None)
        line = of(run, "product", "trn2")
        assert line.since.fraction == pytest.approx(line.sweep.best / line.since.value)

    def test_nothing_superseded_nothing_beside(self, small: Run) -> None:
        assert all(each.since is None for each in headline(small).lines)

    def test_one_footnote_says_what_no_document_does(self, small: Run) -> None:
        assert (
            headline(small).footnote
            == "No document says whether a figure of links counts one direction or both."
        )
        assert headline(kept(small, lambda each: each.case.kernel == "gemm")).footnote == ""

    def test_the_detail_names_the_document_and_whether_it_prints_the_figure(self, small: Run) -> None:
        line = of(small, "product", "trn2")
        full = said(line).detail
        assert full.startswith(f"{said(line).share} of the {show(line.of.value, 'FLOP/s')} that ")
        assert line.of.document in full
        assert full.endswith(" prints" if line.of.printed else " implies")
        assert "not stated" in said(of(small, "all-reduce", "trn2")).detail

    def test_a_figure_below_the_result_is_called_low(self, small: Run) -> None:
        run = changed(
            small,
            lambda each: replace(
                each, status=Status.DOCUMENT_LOW, judgement=replace(each.judgement, fraction=1.004)
            ),
            lambda each: each.judgement is not None,
        )
        assert "100.4 %, the figure is low: the clocks allow more)" in said(of(run, "product", "trn2")).text
        assert "100.4 %, above it: no clock bounds it)" in said(of(run, "stream", "trn2")).text


class TestRest:
    def case(self, small: Run, fraction: float, terms: dict[str, float]) -> Measurement:
        first = next(each for each in small.measurements if each.judgement and each.case.kernel == "gemm")
        return replace(
            first,
            time_s=math.fsum(terms.values()),
            detail={"waterfall": [[name, seconds] for name, seconds in terms.items()]},
            judgement=replace(first.judgement, fraction=fraction),
        )

    def test_causes_are_shares_of_the_time_largest_first(self, small: Run) -> None:
        case = self.case(small, 0.5, {"tensor at its peak": 6.0, "DMA engines": 1.0, "launch": 3.0})
        assert [(each.name, each.share) for each in rest(case)] == [
            ("launch", pytest.approx(0.3)),
            ("DMA engines", pytest.approx(0.1)),
            ("limit of tensor", pytest.approx(0.1)),
        ]
        assert math.fsum(each.share for each in rest(case)) == pytest.approx(1 - 0.5)

    def test_a_peak_below_the_clock_is_taken_off_what_follows(self, small: Run) -> None:
        case = self.case(small, 0.9, {"hbm at its peak": 1.0, "DMA engines": 8.5, "launch": 0.5})
        assert [(each.name, each.share) for each in rest(case)] == [
            ("DMA engines", pytest.approx(0.05)),
            ("launch", pytest.approx(0.05)),
        ]

    def test_a_waterfall_that_does_not_add_up_is_none(self, small: Run) -> None:
        case = self.case(small, 0.5, {"tensor at its peak": 6.0, "launch": 4.0})
        assert rest(replace(case, time_s=11.0)) == ()
        assert rest(replace(case, detail={"waterfall": [["a", "b"], 3]})) == ()
        assert rest(replace(case, detail={})) == ()


def superseded(run: Run) -> Run:
    """Its bf16 peaks of trn2 replaced by a figure a quarter higher that a newer document prints."""
    book = run.books["trn2"]
    new = Source(id="new", document="A newer page", date="2026-01-01")
    facts = []
    for each in run.measurements:
        if each.judgement and each.case.generation == "trn2" and each.case.kernel == "gemm":
            chosen = each.judgement.peaks.chosen
            subject, source = chosen.facts[0].partition("/")[0], chosen.facts[0].rpartition("@")[2]
            about = {"source": source, "dtypes": (each.case.dtype,), "superseded_by": "new"}
            old = fact(subject, chosen.metric, 8e15, scope=Scope.INSTANCE, **about)
            facts += [old, replace(old, printed="10", value=10e15, source="new", superseded_by="")]
            assert old.id == chosen.facts[0]
    made = replace(book, facts=(*facts, *book.facts), sources={**book.sources, "new": new})

    def change(each: Measurement) -> Measurement:
        peaks = each.judgement.peaks
        peaks = replace(peaks, chosen=replace(peaks.chosen, superseded_by="new"))
        return replace(each, judgement=replace(each.judgement, peaks=peaks))

    mine = changed(
        run,
        change,
        lambda e: e.judgement is not None and e.case.generation == "trn2" and e.case.kernel == "gemm",
    )
    return replace(mine, books={**run.books, "trn2": made})


# What a line says of its trust: interval, what is published, our product, the clock.


class TestTrust:
    def test_a_band_gives_an_interval_round_the_best(self, small: Run) -> None:
        run = changed(small, judged_by(near(Nearness.KERNEL)))
        line = of(run, "stream", "trn1")
        assert line.expected == pytest.approx((line.sweep.best * math.exp(-0.1), line.of.value), rel=1e-9)
        assert line.of.value < line.sweep.best * math.exp(0.2)
        assert not line.muted
        low, high = (show(each, "B/s").partition(" ")[0] for each in line.expected or ())
        assert said(line).promise.endswith(f"; expect {low}–{high} (kernel, 9 votes)")

    def test_an_interval_ends_at_the_clock(self, small: Run) -> None:
        line = of(changed(small, judged_by(near(Nearness.SAME))), "product", "trn2")
        assert line.expected[1] == pytest.approx(line.sweep.best / line.clock)

    def test_without_a_band_a_line_is_grey_last_and_says_why(self, small: Run) -> None:
        run = changed(small, judged_by(near(Nearness.FAMILY)))
        run = changed(
            run,
            judged_by(near(Nearness.ELSEWHERE)),
            lambda each: each.case.generation == "trn1" and each.case.kernel == "gemm",
        )
        run = changed(
            run,
            judged_by(near(Nearness.NONE, note="no such point")),
            lambda each: each.case.generation == "trn3",
        )
        run = changed(
            run,
            judged_by(near(Nearness.SAME)),
            lambda each: each.case.generation == "trn2" and each.case.kernel == "hbm_copy",
        )
        lines = headline(run).lines
        assert (lines[0].question, lines[0].generation) == ("product", "trn2")
        asked_for = [
            ("product", "stream", "all-reduce", "attention").index(line.question)
            for line in lines
            if not line.muted
        ]
        assert asked_for == sorted(asked_for)
        muted = [each.muted for each in lines]
        assert muted == sorted(muted)
        assert {each.generation for each in lines if each.muted} == {"trn1", "trn3"}
        for line in lines:
            assert line.muted == (line.expected is None)
        told = {(line.question, line.generation): words.trust for line, words in headline(run).said}
        assert told["product", "trn1"].startswith("No interval: published on another generation only.")
        asked = len([each for each in lines if each.generation == "trn3"]) - 1
        assert told["product", "trn3"].startswith(
            f"No interval here nor in the {asked} lines below: no such point."
        )
        assert sum("no such point" in each for each in told.values()) == 1

    def test_runs_stored_before_nearness_say_so(self, small: Run) -> None:
        lines = headline(small).lines
        assert lines
        assert all(each.muted and each.reason == "nearness not recorded" for each in lines)

    def test_what_was_measured_needs_no_band(self, small: Run) -> None:
        measured = changed(small, graded(Grade.MEASURED))
        found = headline(measured)
        assert found.means == ""
        assert not any(each.muted for each in found.lines)
        words = said(found.lines[0])
        assert words.result.startswith("measured ")
        assert "No interval" not in words.trust
        assert "model" not in words.text

    def test_a_formula_is_grey_and_named_whatever_stands_near_it(self, small: Run) -> None:
        derived = changed(changed(small, judged_by(near(Nearness.SAME))), graded(Grade.DERIVED))
        assert all(each.muted and each.expected is None for each in headline(derived).lines)
        line = headline(derived).lines[0]
        assert line.reason == "worked out by a formula: no program stands behind it"
        assert said(line).result.startswith("formula ")

    def test_a_formula_is_passed_over_where_a_program_was_emulated(self, small: Run) -> None:
        run = changed(
            changed(small, judged_by(near(Nearness.SAME))),
            graded(Grade.DERIVED),
            lambda each: each.case.kernel == "gemm" and each.case.point["m"] > 512,
        )
        mine = [e for e in headline(run).lines if (e.question, e.generation) == ("product", "trn2")]
        assert [(each.grade, each.sweep.points) for each in mine] == [(Grade.EMULATED, 1)]

    def test_the_best_published_stands_beside_and_an_excess_is_said(self, small: Run) -> None:
        best = best_published(Nearness.SAME)
        run = changed(small, judged_by(near(Nearness.SAME, best=best)))
        line = of(run, "product", "trn1")
        assert line.above
        times = f"{line.sweep.best / 1e12:.1f} times that"
        assert f"; best published 1 (p-1; the model {times}), expect " in said(line).promise
        # Another metric is not comparable.
        assert "best published" not in said(of(run, "stream", "trn1")).promise

    def test_an_excess_below_twice_is_told_in_per_cent(self, small: Run) -> None:
        value = of(small, "product", "trn1").sweep.best / 1.25
        best = best_published(Nearness.KERNEL, value)
        run = changed(small, judged_by(near(Nearness.FAMILY, best=best)))
        told = said(of(run, "product", "trn1")).promise
        assert " (kernel: p-1; the model 25 % above), expect " in told

    def test_what_bounds_nothing_here_names_its_size_and_no_multiple(self, small: Run) -> None:
        best = best_published(Nearness.KERNEL, at="M 128, 2 ranks", reaches=False)
        run = changed(small, judged_by(near(Nearness.FAMILY, best=best)))
        told = said(of(run, "product", "trn1")).promise
        assert "; best published 1 at M 128, 2 ranks (kernel: p-1), expect " in told
        assert "times that" not in told
        assert "above)" not in told

    @pytest.mark.parametrize(
        ("low", "high", "told"),
        [
            (7e13, 8e13, "expect 70–80 ("),
            (7e13, 2e15, "expect 70 TFLOPS–2 PFLOPS ("),
            (7e11, 8e11, "expect 700–800 GFLOPS ("),
            (8e13, 8e13, "expect 80 ("),
        ],
    )
    def test_the_unit_of_an_interval_is_that_of_the_best_or_told(
        self, small: Run, low: float, high: float, told: str
    ) -> None:
        line = of(small, "product", "trn1")
        sweep = replace(line.sweep, best=9e13)
        line = replace(line, sweep=sweep, expected=(low, high), nearness="kernel", muted=False)
        assert told in said(line).promise
        assert "no vote, the band of all points)" in said(line).promise
        widened = said(replace(line, votes=1, widened="family", band_note="of the shipped model"))
        assert "(kernel, 1 vote, widened, of the shipped model)" in widened.promise

    def test_a_model_at_its_clock_says_so(self, small: Run) -> None:
        run = changed(
            small,
            lambda each: replace(each, judgement=replace(each.judgement, of_engine_bound=0.9997)),
            lambda each: each.judgement is not None and each.case.kernel == "gemm",
        )
        told = said(of(run, "product", "trn2")).trust
        assert told.endswith("At its clock: this compares a clock with a document, not a kernel.")
        assert "At its clock" not in said(of(small, "product", "trn2")).trust

    def test_our_product_at_published_shapes(self, small: Run) -> None:
        def product(number: int, e: float) -> OwnProduct:
            return own_product(4096 * number, e=e)

        def told(*products: OwnProduct) -> str:
            from trnbench import Fidelity

            run = replace(small, fidelity=Fidelity(by="model", products=products))
            assert of(run, "product", "trn2").own == ()
            assert of(run, "stream", "trn1").own == ()
            return said(of(run, "product", "trn1")).trust

        against = "Our product against published: "
        assert f"{against}−21 % of the time at 1 shape." in told(product(1, -0.23))
        two = told(product(1, -0.23), product(2, 0.1))
        assert f"{against}−21 % … +11 % of the time at 2 shapes." in two
        six = told(*(product(n, -n / 100) for n in range(1, 7)))
        assert f"{against}−5.8 % … −1.0 % of the time at 6 shapes, median −3.4 %." in six


class TestStored:
    @pytest.mark.parts
    def test_a_run_with_a_product_keeps_what_the_model_makes_of_published_ones(self) -> None:
        import trnbench
        from trnbench_fidelity.own_products import products

        registry = trnbench.load_registry()
        asked = {"instances": ("trn2-16.48xlarge",), "registry": registry}
        run = trnbench.bench(("gemm",), axes=("size=512", "dtype=bf16"), **asked)
        assert run.fidelity.products == products(registry, "trn2") != ()
        again = trnbench.loads(trnbench.dumps(run))
        assert headline(again) == headline(run)
        assert "Our product against published: " in headline(again).said[0][1].trust
        other = trnbench.bench(("hbm_copy",), axes=("size=1M",), **asked)
        assert other.fidelity.products == ()
