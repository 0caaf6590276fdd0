"""The first words of a run: which lines there are, of which cases, and when there is none."""

from __future__ import annotations

import math

import pytest
from headline_parts import changed, of, replace
from synthetic_run import with_verdicts

from trnbench import Grade, Measurement, Run, Scope, Status, headline
from trnbench.run.headline.answer import swept


class TestLines:
    def test_one_for_each_generation_and_each_fabric(self, small: Run) -> None:
        lines = headline(small).lines
        asked = [(each.question, each.generation) for each in lines]
        assert sorted(each for each in asked if each[0] != "all-reduce") == [
            *(("product", f"trn{n}") for n in (1, 2, 3)),
            *(("stream", f"trn{n}") for n in (1, 2, 3)),
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
            lambda each: each.case.kernel == "gemm",
            lambda each: replace(each, case=replace(each.case, point={**each.case.point, "batch": 3})),
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

    def test_systems_that_gave_the_same_are_one_line(self, small: Run) -> None:
        assert of(small, "product", "trn1").systems == ("trn1.2xlarge", "trn1.32xlarge", "trn1-ultracluster")
        other = changed(
            small,
            lambda each: each.case.instance == "trn1.32xlarge",
            lambda each: replace(each, time_s=each.time_s and each.time_s * 2),
        )
        found = [
            e.systems for e in headline(other).lines if (e.question, e.generation) == ("product", "trn1")
        ]
        assert found == [("trn1.2xlarge", "trn1-ultracluster"), ("trn1.32xlarge",)]

    def test_kernels_that_no_question_asks_for_speak_for_themselves(self, small: Run) -> None:
        cases = tuple(each for each in small.measurements if each.case.kernel == "softmax")
        lines = headline(replace(small, measurements=cases)).lines
        assert {(each.question, each.kernel) for each in lines} == {("kernel", "softmax")}

    def test_grades_never_mix(self, small: Run) -> None:
        half = changed(
            small,
            lambda each: each.case.kernel == "gemm" and each.case.point["m"] == 512,
            lambda each: replace(each, evidence=replace(each.evidence, grade=Grade.MEASURED)),
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


class TestSilence:
    def test_an_empty_run(self, small: Run) -> None:
        found = headline(replace(small, measurements=()))
        assert (found.lines, found.silence) == ((), "no case was carried out")

    def test_all_skipped_says_why(self, small: Run) -> None:
        skipped = changed(
            small,
            lambda _: True,
            lambda each: replace(each, status=Status.SKIPPED, reason_text="no such link", metrics={}),
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

        assert headline(changed(small, lambda _: True, spoil)).lines == ()
