"""What a line is held against, and what takes the rest of it."""

from __future__ import annotations

import math

import pytest
from headline_parts import changed, of, replace

from trnbench import Measurement, Run, Scope, Status, headline
from trnbench.facts.units import show
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
        from trnbench import PeakPolicy

        def change(each: Measurement) -> Measurement:
            peaks = each.judgement.peaks
            latest = replace(peaks.alternatives[0], policy=PeakPolicy.LATEST, superseded_by="")
            chosen = replace(peaks.chosen, superseded_by="gone")
            peaks = replace(peaks, chosen=chosen, alternatives=(latest,))
            return replace(each, judgement=replace(each.judgement, peaks=peaks))

        run = changed(small, lambda each: each.judgement is not None, change)
        line = of(run, "product", "trn2")
        assert line.since.fraction == pytest.approx(line.sweep.best / line.since.value)

    def test_nothing_superseded_nothing_beside(self, small: Run) -> None:
        assert all(each.since is None for each in headline(small).lines)

    def test_one_footnote_says_what_no_document_does(self, small: Run) -> None:
        assert (
            headline(small).footnote
            == "No document says whether a figure of links counts one direction or both."
        )
        alone = tuple(each for each in small.measurements if each.case.kernel == "gemm")
        assert headline(replace(small, measurements=alone)).footnote == ""

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
            lambda each: each.judgement is not None,
            lambda each: replace(
                each, status=Status.DOCUMENT_LOW, judgement=replace(each.judgement, fraction=1.004)
            ),
        )
        assert "100.4 %, the figure is low: the clocks allow more)" in said(of(run, "product", "trn2")).text
        assert "100.4 %, the figure is low: no clock bounds it)" in said(of(run, "stream", "trn2")).text


class TestRest:
    def case(self, small: Run, fraction: float, terms: dict[str, float]) -> Measurement:
        first = next(each for each in small.measurements if each.judgement and each.case.kernel == "gemm")
        assert first.judgement is not None
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
    from trnbench import Fact, Source

    book = run.books["trn2"]
    new = Source(id="new", document="A newer page", date="2026-01-01")
    facts = []
    for each in run.measurements:
        if each.judgement and each.case.generation == "trn2" and each.case.kernel == "gemm":
            chosen = each.judgement.peaks.chosen
            old = Fact(
                subject=chosen.facts[0].partition("/")[0],
                metric=chosen.metric,
                printed="8",
                printed_unit="PFLOPS",
                value=8e15,
                scope=Scope.INSTANCE,
                source=chosen.facts[0].rpartition("@")[2],
                locator="a table",
                dtypes=(each.case.dtype,),
                superseded_by="new",
            )
            facts += [old, replace(old, printed="10", value=10e15, source="new", superseded_by="")]
            assert old.id == chosen.facts[0]
    made = replace(book, facts=(*facts, *book.facts), sources={**book.sources, "new": new})

    def change(each: Measurement) -> Measurement:
        peaks = each.judgement.peaks
        peaks = replace(peaks, chosen=replace(peaks.chosen, superseded_by="new"))
        return replace(each, judgement=replace(each.judgement, peaks=peaks))

    mine = changed(
        run,
        lambda e: e.judgement is not None and e.case.generation == "trn2" and e.case.kernel == "gemm",
        change,
    )
    return replace(mine, books={**run.books, "trn2": made})
