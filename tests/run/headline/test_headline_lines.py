"""The lines of a headline and their cards: which there are, of which cases, and when there is none."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from headline_parts import best_published, changed, graded, judged_by, kept, near, of, of_systems, replace
from synthetic_run import with_verdicts

from trnbench import Grade, Measurement, PeakPolicy, Run, Scope, Status, headline
from trnbench.facts.units import show
from trnbench.results.measurement import Nearness
from trnbench.run.headline import ranks_of
from trnbench.run.headline.answer import swept
from trnbench.run.headline.line import Cause, others
from trnbench.run.headline.words import cards, clause, said


class TestLines:
    def test_one_for_each_generation_and_each_fabric(self, small: Run) -> None:
        lines = headline(small).lines
        asked = [(each.question, each.generation) for each in lines]
        assert sorted(each for each in asked if each[0] != "all-reduce") == [
            (question, f"trn{n}") for question in ("attention", "product", "stream") for n in (1, 2, 3)
        ]
        fabrics = [each.systems for each in lines if each.question == "all-reduce"]
        assert fabrics == [(name,) for name, each in small.systems.items() if each.devices > 1]

    def test_the_range_over_the_sweep_and_its_best(self, small: Run) -> None:
        line = of(small, "product", "trn2")
        mine = [
            each
            for each in small.measurements
            if each.case.generation == "trn2"
            and each.case.kernel == "gemm"
            and each.case.dtype == "bf16"
            and each.case.scope is Scope.DEVICE
        ]
        values = [each.metrics["flops_per_s"].value for each in mine]
        assert (line.sweep.worst, line.sweep.best) == (min(values), max(values))
        assert line.sweep.points == 5
        assert line.sweep.over == "m=n=k 512–8,192"
        assert line.sweep.at == "8,192"
        best = next(each for each in mine if each.id == line.sweep.case)
        assert best.metrics["flops_per_s"].value == max(values)

    def test_an_axis_that_stands_still_is_named_for_one_case_alone(self, small: Run) -> None:
        run = changed(
            small,
            lambda each: replace(each, case=replace(each.case, point={**each.case.point, "batch": 3})),
            lambda each: each.case.kernel == "gemm",
        )
        assert of(run, "product", "trn2").sweep.over == "m=n=k 512–8,192"
        one = next(each for each in run.measurements if each.id == of(run, "product", "trn2").sweep.case)
        assert swept([one], one) == ("m=n=k 8,192, batch 3", "")

    def test_where_less_is_better_the_least_is_best(self, small: Run) -> None:
        late = tuple(each for each in small.measurements if each.case.kernel == "dma_latency")
        slower = replace(
            late[0],
            case=replace(late[0].case, point={"size": 128}),
            metrics={"latency_s": replace(late[0].metrics["latency_s"], value=1.0)},
        )
        (line,) = [
            e
            for e in headline(replace(small, measurements=(*late, slower))).lines
            if "trn1.2xlarge" in e.systems and e.sweep.points == 2
        ]
        assert (line.question, line.kernel) == ("kernel", "dma_latency")
        assert (line.sweep.worst, line.sweep.best) == (1.0, late[0].metrics["latency_s"].value)

    def test_a_share_of_another_document_counts_as_its_metric_does(self, small: Run) -> None:
        case = next(e for e in small.measurements if e.judgement and e.judgement.peaks.alternatives)
        metric, judged = case.metrics[case.primary], case.judgement
        assert judged is not None
        lower = replace(
            case,
            metrics={metric.name: replace(metric, better="lower")},
            judgement=replace(judged, fraction=judged.peaks.chosen.value / metric.value),
        )
        assert [e.fraction * e.value for e in others(small, case)] == pytest.approx(
            [metric.value] * len(others(small, case))
        )
        assert others(small, lower)
        for other in others(small, lower):
            assert other.fraction == pytest.approx(other.value / metric.value)

    def test_systems_that_gave_the_same_are_one_line(self, small: Run) -> None:
        assert of(small, "product", "trn1").systems == ("trn1.2xlarge", "trn1.32xlarge", "trn1-ultracluster")
        other = changed(
            small,
            lambda each: replace(each, time_s=each.time_s and each.time_s * 2),
            lambda each: each.case.instance == "trn1.32xlarge",
        )
        assert of(small, "product", "trn1").whole
        found = [
            line for line in headline(other).lines if (line.question, line.generation) == ("product", "trn1")
        ]
        assert [line.systems for line in found] == [("trn1.2xlarge", "trn1-ultracluster"), ("trn1.32xlarge",)]
        assert not any(line.whole for line in found)

    def test_kernels_that_no_question_asks_for_speak_for_themselves(self, small: Run) -> None:
        lines = headline(kept(small, lambda each: each.case.kernel == "softmax")).lines
        assert {(each.question, each.kernel) for each in lines} == {("kernel", "softmax")}

    def test_grades_never_mix(self, small: Run) -> None:
        half = changed(
            small,
            graded(Grade.MEASURED),
            lambda each: each.case.kernel == "gemm" and each.case.point["m"] == 512,
        )
        mine = [e for e in headline(half).lines if (e.question, e.generation) == ("product", "trn2")]
        assert [(each.grade, each.sweep.points) for each in mine] == [
            (Grade.MEASURED, 1),
            (Grade.EMULATED, 4),
        ]

    def test_two_definitions_never_share_a_line(self, small: Run) -> None:
        first = next(
            each for each in small.measurements if each.case.kernel == "all_reduce" and each.judgement
        )
        cores = replace(
            first,
            metrics={
                "busbw_bytes_per_s": replace(first.metrics[first.primary], scope=Scope.CORE, value=9e15)
            },
        )
        line = of(replace(small, measurements=(first, cores)), "all-reduce", first.case.generation)
        assert line.sweep.points == 1
        assert line.sweep.best == first.metrics[first.primary].value


@pytest.mark.parametrize(
    ("kernel", "told", "sent", "ranks"),
    [("all_reduce", {"rank": "core"}, 1.75, (8, "core")),  # 2·(n−1)/n of the tensor
     ("all_reduce", {}, 1.0, (2, "logical-core")), ("all_reduce", {}, 2.0, None),
     ("all_gather", {}, 0.75, (4, "logical-core")), ("all_gather", {}, 1.0, None),  # (n−1)/n
     ("all_gather", {"rank": "device"}, 0.75, (16, "device")),
     ("all_gather", {"rank_count": 5, "rank": "device"}, 0.75, (5, "device"))],
)  # fmt: skip
def test_ranks_of_older_runs_follow_from_what_each_sends(
    small: Run, kernel: str, told: Any, sent: float, ranks: tuple[int, str] | None
) -> None:
    case = next(e for e in of_systems(small, "trn2-16.48xlarge").measurements if e.case.kernel == kernel)
    work = {"payload_bytes": 1024.0, "link_bytes": 1024.0 * sent}
    assert ranks_of(small, replace(case, detail=told, work=work)) == ranks
    assert ranks_of(small, replace(case, detail={}, work={})) is None


class TestSteps:
    """A run of nothing but cases that make tokens speaks of a step's time, not of a peak."""

    @pytest.fixture
    def steps(self, small: Run) -> Run:
        good = [each for each in small.measurements if each.case.kernel == "gemm" and each.time_s]
        first = next(each for each in good if each.status is Status.OK)
        first = replace(first, evidence=replace(first.evidence, nearest=near(Nearness.KERNEL)))
        metric = replace(
            first.metrics[first.primary], name="tokens_per_s", unit="token/s", value=2 / (first.time_s or 1)
        )
        step = replace(
            first,
            case=replace(first.case, kernel="a_model", family="workload"),
            metrics={**first.metrics, "tokens_per_s": metric},
        )
        return replace(small, measurements=(step,))

    def test_the_sentence_has_time_and_tokens(self, steps: Run) -> None:
        (case,) = steps.measurements
        (card,) = headline(steps).cards
        (row,) = card.rows
        step = row.line.step
        assert (step.time_s, step.tokens_per_s) == (case.time_s, 2 / (case.time_s or 1))
        low, high = (show(end, "s") for end in step.expected_s)
        assert card.sentence.startswith(f"{card.device.capitalize()}: a_model takes {low.split()[0]}")
        assert high in card.sentence
        assert show(step.tokens_per_s, "token/s") in card.sentence

    def test_of_a_sweep_the_sentence_names_the_axes_of_the_best(self, steps: Run) -> None:
        (case,) = steps.measurements
        assert " at " not in headline(steps).cards[0].sentence
        other = replace(case, case=replace(case.case, point={**case.case.point, "batch": 8}))
        one = replace(case, case=replace(case.case, point={**case.case.point, "batch": 1}))
        (card,) = headline(replace(steps, measurements=(one, other))).cards
        assert re.search(r" at batch [18]( on \S+)?, ", card.sentence), card.sentence

    def test_without_a_band_it_says_what_the_model_takes(self, steps: Run) -> None:
        (case,) = steps.measurements
        bare = replace(case, evidence=replace(case.evidence, nearest=None))
        (card,) = headline(replace(steps, measurements=(bare,))).cards
        assert f"a_model takes {show(case.time_s or 0, 's')}" in card.sentence
        assert card.sentence.endswith("(model alone, no band).")


class TestSilence:
    def test_an_empty_run(self, small: Run) -> None:
        found = headline(replace(small, measurements=()))
        assert (found.lines, found.silence) == ((), "no case was carried out")

    def test_reasons_that_differ_in_figures_are_one(self, small: Run) -> None:
        texts = ["no such link", "no such link"] + [
            f"needs {size}.5 GiB of the 96 GiB a device has" for size in (100, 200, 300)
        ]
        (case, *_) = small.measurements
        skipped = [replace(case, status=Status.SKIPPED, reason_text=text, metrics={}) for text in texts]
        silence = headline(replace(small, measurements=tuple(skipped))).silence
        assert silence.endswith("(5 skipped; most often: needs 100.5 GiB of the 96 GiB a device has)")

    def test_all_skipped_says_why(self, small: Run) -> None:
        skipped = changed(
            small, lambda each: replace(each, status=Status.SKIPPED, reason_text="no such link", metrics={})
        )
        found = headline(skipped)
        assert found.lines == ()
        count = len(small.measurements)
        assert found.silence == (
            f"no case gave a number to hold against a document ({count:,} skipped; most often: no such link)"
        )

    def test_suspect_and_failed_cases_are_counted_and_never_lead(self, small: Run) -> None:
        run = with_verdicts(small)
        assert headline(run).alarms == (("trn1.2xlarge", "1 suspect, 1 failed"),)
        bad = {each.id for each in run.measurements if each.status in (Status.SUSPECT, Status.FAILED)}
        assert not bad & {each.sweep.case for each in headline(run).lines}

    def test_an_interrupted_run_speaks_of_what_it_has(self, small: Run) -> None:
        run = replace(small, interrupted=True, measurements=small.measurements[:3])
        assert [each.sweep.points for each in headline(run).lines] == [3]

    @pytest.mark.parametrize("value", [math.inf, math.nan, 0.0, -1.0])
    def test_no_number_no_line(self, small: Run, value: float) -> None:
        def spoil(each: Measurement) -> Measurement:
            return replace(each, metrics={n: replace(m, value=value) for n, m in each.metrics.items()})

        assert headline(changed(small, spoil)).lines == ()


# The lines of a headline as cards of a generation, and what stands beside a promise.


class TestCards:
    def test_a_generation_has_its_compute_memory_and_links(self, small: Run) -> None:
        found = headline(small).cards
        assert [each.generation for each in found] == ["trn1", "trn2", "trn3"]
        assert [each.device for each in found] == ["trainium1", "trainium2", "trainium3"]
        for card in found:
            names = [row.name for row in card.rows]
            assert names == ["compute", "attention", "memory", *["links"] * (len(names) - 3)]
            assert all(row.line and row.line.generation == card.generation for row in card.rows)
        told = [row.line.sweep.case for card in found for row in card.rows if row.line]
        assert sorted(told) == sorted(each.sweep.case for each in headline(small).lines)

    def test_a_sentence_has_each_unit_once(self, small: Run) -> None:
        for card in headline(small).cards:
            assert not re.search(r"(?:[TGM]?B/s|[PTG]FLOPS) [TGM]?(?:B/s|FLOPS)", card.text), card.text
        line = next(line for line in headline(small).lines if line.of is not None)
        of_more = replace(line.of, value=line.of.value * 1000)
        raised = replace(line, of=of_more)
        (card, *_) = cards(small, [raised])
        unit = show(line.sweep.best, line.sweep.unit).partition(" ")[2]
        assert f" {unit} of the promised {show(of_more.value, line.sweep.unit)}" in card.sentence

    def test_ends_of_two_units_have_one_each(self, small: Run) -> None:
        line = of(small, "stream", "trn2")
        (card, *_) = cards(small, [replace(line, expected=(9e11, 1.5e12), muted=False)])
        assert "900 GB/s–1.5 TB/s of the promised" in card.sentence

    def test_the_sentence_says_what_takes_most(self, small: Run) -> None:
        line = of(small, "product", "trn2")
        short = replace(line.of, fraction=0.8)
        lost = tuple(Cause(name=name, share=share) for name, share in (("operands", 0.15), ("launch", 0.05)))
        for changed_line, ending in (
            (replace(line, of=replace(line.of, fraction=1.01)), "; the document's figure is low."),
            (replace(line, of=short, clock=0.99), "; its clock allows no more."),
            (replace(line, of=short, clock=0.9, rest=lost), "; operands takes most of the rest."),
            (replace(line, of=short, clock=0.9, rest=(), bound="hbm"), "; bound by hbm."),
        ):
            (card, *_) = cards(small, [changed_line])
            assert card.sentence.startswith("A Trainium2 device multiplies bf16 at ")
            assert card.sentence.endswith(ending)

    @pytest.mark.parametrize(
        ("scope", "whole"),
        [
            (Scope.CORE, "A core of Trainium2 "),
            (Scope.LOGICAL_CORE, "A logical core of Trainium2 "),
            (Scope.DEVICE, "A Trainium2 device "),
            (Scope.INSTANCE, "trn2-16.48xlarge "),
        ],
    )
    def test_the_sentence_names_what_was_run(self, small: Run, scope: Scope, whole: str) -> None:
        (card, *_) = cards(small, [replace(of(small, "product", "trn2"), scope=scope)])
        assert card.sentence.startswith(f"{whole}multiplies bf16 at ")

    def test_a_collective_is_not_held_against_a_figure_that_no_document_prints(self, small: Run) -> None:
        line = of(small, "all-reduce", "trn2")
        (card, *_) = cards(small, [replace(line, of=replace(line.of, figure="1,024 GB/sec/device"))])
        assert " over links of 1,024 GB/sec/device (model alone" in card.sentence
        assert card.sentence.count("trn2-16.48xlarge") == 1
        assert show(line.of.value, line.sweep.unit) not in card.sentence

    def test_what_was_not_run_says_so(self, small: Run) -> None:
        for card in headline(kept(small, lambda each: each.case.kernel == "gemm")).cards:
            said = {row.name: (row.line is None, row.clause) for row in card.rows}
            assert not said["compute"][0]
            assert said["memory"] == said["links"] == (True, "not in this run")

    def test_kernels_that_no_question_asks_for_are_rows_of_their_own(self, small: Run) -> None:
        for card in headline(kept(small, lambda each: each.case.kernel == "softmax")).cards:
            assert {row.name for row in card.rows} == {"softmax"}

    def test_the_clause_names_the_two_largest_losses(self, small: Run) -> None:
        line = of(small, "stream", "trn1")
        lost = tuple(Cause(name=name, share=share) for name, share in (("a", 0.3), ("b", 0.2), ("c", 0.1)))
        assert clause(replace(line, rest=lost)) == "time lost: a 30.0 %, b 20.0 %"

    def test_at_its_clock_there_is_no_loss_but_what_the_clock_leaves(self, small: Run) -> None:
        line = of(small, "product", "trn2")
        told = clause(replace(line, clock=0.99, of=replace(line.of, fraction=0.891)))
        assert told == "at its clock, which allows 90.0 % of the promise"

    def test_without_a_waterfall_what_is_missing_and_what_bounds(self, small: Run) -> None:
        line = of(small, "stream", "trn1")
        short = replace(line, rest=(), bound="dma", of=replace(line.of, fraction=0.75))
        assert clause(short) == "25.0 % below the promise, bound by dma"
        assert clause(replace(short, bound="", of=replace(line.of, fraction=1.1))) == ""


class TestOneCore:
    BEST = best_published(Nearness.OPERATION)

    def test_what_was_published_of_one_core_stands_beside_a_device(self, small: Run) -> None:
        run = changed(small, judged_by(near(Nearness.OPERATION)))
        run = changed(
            run,
            judged_by(near(Nearness.OPERATION, best=self.BEST)),
            lambda each: each.case.scope is Scope.CORE and each.case.kernel == "gemm",
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
        run = changed(small, judged_by(near(Nearness.OPERATION)))
        line = of(replace(run, measurements=(*run.measurements, pair)), "product", core.case.generation)
        assert (line.of_core.case, line.of_core.scope) == (pair.id, Scope.LOGICAL_CORE)
        assert line.of_core.fraction == pytest.approx(1e12 / pair.judgement.peaks.chosen.value)
        assert "; best published 1 TFLOPS on a core pair (p-1), " in said(line).promise

    def test_of_memory_one_core_says_nothing(self, small: Run) -> None:
        run = changed(small, judged_by(near(Nearness.OPERATION, best=replace(self.BEST, metric="x"))))
        assert all(each.of_core is None for each in headline(run).lines)


def test_other_documents_stand_beside_the_promise(small: Run) -> None:
    for line in headline(small).lines:
        case = next(each for each in small.measurements if each.id == line.sweep.case)
        peaks = case.judgement.peaks
        wanted = {p.value for p in peaks.alternatives if p.policy is not PeakPolicy.ENGINE}
        assert {each.value for each in line.others} == wanted - {peaks.chosen.value}
        for each in line.others:
            assert each.fraction * each.value == pytest.approx(line.sweep.best)
