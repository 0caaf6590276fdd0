"""The lines of a headline as cards of a generation, and what stands beside a promise."""

from __future__ import annotations

import pytest
from headline_parts import changed, judged_by, near, of, replace

from trnbench import PeakPolicy, Run, Scope, headline
from trnbench.results.nearness import BestPublished, Nearness
from trnbench.run.headline.line import Cause
from trnbench.run.headline.words import clause, said


class TestCards:
    def test_a_generation_has_its_compute_memory_and_links(self, small: Run) -> None:
        found = headline(small).cards
        assert [each.generation for each in found] == ["trn1", "trn2", "trn3"]
        assert [each.device for each in found] == ["trainium1", "trainium2", "trainium3"]
        for card in found:
            names = [row.name for row in card.rows]
            assert names == ["compute", "memory", *["links"] * (len(names) - 2)]
            assert all(row.line and row.line.generation == card.generation for row in card.rows)
        told = [row.line.sweep.case for card in found for row in card.rows if row.line]
        assert sorted(told) == sorted(each.sweep.case for each in headline(small).lines)

    def test_what_was_not_run_says_so(self, small: Run) -> None:
        kept = tuple(each for each in small.measurements if each.case.kernel == "gemm")
        for card in headline(replace(small, measurements=kept)).cards:
            said = {row.name: (row.line is None, row.clause) for row in card.rows}
            assert not said["compute"][0]
            assert said["memory"] == said["links"] == (True, "not in this run")

    def test_kernels_that_no_question_asks_for_are_rows_of_their_own(self, small: Run) -> None:
        kept = tuple(each for each in small.measurements if each.case.kernel == "softmax")
        for card in headline(replace(small, measurements=kept)).cards:
            assert {row.name for row in card.rows} == {"softmax"}

    def test_the_clause_names_the_two_largest_losses(self, small: Run) -> None:
        line = of(small, "stream", "trn1")
        lost = tuple(Cause(name=name, share=share) for name, share in (("a", 0.3), ("b", 0.2), ("c", 0.1)))
        assert clause(replace(line, rest=lost)) == "time lost: a 30.0 %, b 20.0 %"

    def test_at_its_clock_there_is_no_loss_but_what_the_clock_leaves(self, small: Run) -> None:
        line = of(small, "product", "trn2")
        assert line.of is not None
        told = clause(replace(line, clock=0.99, of=replace(line.of, fraction=0.891)))
        assert told == "at its clock, which allows 90.0 % of the promise"

    def test_without_a_waterfall_what_is_missing_and_what_bounds(self, small: Run) -> None:
        line = of(small, "stream", "trn1")
        assert line.of is not None
        short = replace(line, rest=(), bound="dma", of=replace(line.of, fraction=0.75))
        assert clause(short) == "25.0 % below the promise, bound by dma"
        assert clause(replace(short, bound="", of=replace(line.of, fraction=1.1))) == ""


class TestOneCore:
    BEST = BestPublished(
        id="p-1", metric="flops_per_s", value=1e12, unit="FLOP/s", source="a source", kind=Nearness.OPERATION
    )

    def test_what_was_published_of_one_core_stands_beside_a_device(self, small: Run) -> None:
        run = changed(small, lambda _: True, judged_by(near(Nearness.OPERATION)))
        run = changed(
            run,
            lambda each: each.case.scope is Scope.CORE and each.case.kernel == "gemm",
            judged_by(near(Nearness.OPERATION, best=self.BEST)),
        )
        line = of(run, "product", "trn1")
        core = next(each for each in run.measurements if each.id == line.of_core.case)
        assert core.case.scope is Scope.CORE
        assert line.of_core.fraction == pytest.approx(1e12 / core.judgement.peaks.chosen.value)
        assert "; best published 1 TFLOPS on one core (p-1), expect " in said(line).promise

    def test_what_was_published_of_a_core_pair_is_its_own_share(self, small: Run) -> None:
        """Of the pair's own promise, and with no place on the scale of the device."""
        core = next(e for e in small.measurements if e.case.scope is Scope.CORE and e.case.kernel == "gemm")
        pair = replace(
            judged_by(near(Nearness.OPERATION, best=self.BEST))(core),
            case=replace(core.case, scope=Scope.LOGICAL_CORE, kernel="gemm_shared"),
        )
        run = changed(small, lambda _: True, judged_by(near(Nearness.OPERATION)))
        line = of(replace(run, measurements=(*run.measurements, pair)), "product", core.case.generation)
        assert (line.of_core.case, line.of_core.scope) == (pair.id, Scope.LOGICAL_CORE)
        assert line.of_core.fraction == pytest.approx(1e12 / pair.judgement.peaks.chosen.value)
        assert "; best published 1 TFLOPS on a core pair (p-1), " in said(line).promise

    def test_of_memory_one_core_says_nothing(self, small: Run) -> None:
        run = changed(
            small, lambda _: True, judged_by(near(Nearness.OPERATION, best=replace(self.BEST, metric="x")))
        )
        assert all(each.of_core is None for each in headline(run).lines)


def test_other_documents_stand_beside_the_promise(small: Run) -> None:
    for line in headline(small).lines:
        case = next(each for each in small.measurements if each.id == line.sweep.case)
        peaks = case.judgement.peaks
        wanted = {p.value for p in peaks.alternatives if p.policy is not PeakPolicy.ENGINE}
        assert {each.value for each in line.others} == wanted - {peaks.chosen.value}
        for each in line.others:
            assert each.fraction * each.value == pytest.approx(line.sweep.best)
