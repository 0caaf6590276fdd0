"""Section 6: what it draws of stored waterfalls and strips, and what it makes of strange ones."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from headline_parts import changed, having, kept
from hypothesis import given
from hypothesis import strategies as st
from synthetic_run import make_run
from whole_page import plain

from trnbench import Evidence, Grade, Measurement, Run, Scope, Status, bench
from trnbench.results.measurement import JUDGED
from trnbench_reports import losses, numbers, opportunities
from trnbench_reports.sections import losses as section

replace = msgspec.structs.replace


def told(case: Measurement) -> Measurement:
    """`case` with a waterfall whose largest cause is known."""
    time = case.time_s
    work = time * (case.judgement.fraction if case.judgement else 0.5)
    rest = time - work
    waits, launch = 0.75 * rest, 0.1 * rest
    return replace(
        case,
        detail={
            "waterfall": [
                ["work at the peak", work],
                ["waiting for DMA", waits],
                ["semaphores", time - work - waits - launch],
                ["launch", launch],
            ],
            "busy": {"tensor": work, "dma": 0.9 * time},
            "strip": {"tensor": "0099", "dma": "9990"},
            "command": "trnbench nki run gemm --trace gemm.json",
        },
    )


@pytest.fixture(scope="module")
def stored() -> Run:
    return changed(
        make_run(sizes=4, extra_kernels=0),
        told,
        lambda each: each.time_s and each.judgement and each.case.scope is Scope.CORE,
    )


def case_of(run: Run, kernel: str = "gemm") -> Measurement:
    return next(
        each for each in run.measurements if each.case.kernel == kernel and "waterfall" in each.detail
    )


def test_worst_first_and_one_core(stored: Run) -> None:
    found = opportunities.chosen(stored)
    shares = [each.case.judgement.fraction for each in found if each.case.judgement]
    assert len(shares) == len(found) > 3
    assert shares == sorted(shares)
    assert {each.case.case.scope for each in found if each.terms} == {Scope.CORE}
    pairs = [(each.case.case.kernel, each.case.case.generation) for each in found]
    assert len(set(pairs)) == len(pairs)
    best = max(
        each.judgement.fraction
        for each in stored.measurements
        if each.judgement
        and each.status is Status.OK
        and (each.case.kernel, each.case.generation, each.case.scope) == (*pairs[0], Scope.CORE)
    )
    assert shares[0] == best


def test_links_are_left_to_the_fabric(stored: Run) -> None:
    linked = {each.case.kernel for each in stored.measurements if each.work.get("link_bytes")}
    assert linked
    assert not linked & {each.case.case.kernel for each in opportunities.chosen(stored)}


def test_one_drawing_of_each_kernel(stored: Run) -> None:
    shown = section.drawn(opportunities.chosen(stored))
    names = [each.case.case.kernel for each in shown]
    assert len(set(names)) == len(names) <= section.DRAWN


def test_a_legend_has_what_the_bars_show_and_cases_are_called_cases(stored: Run) -> None:
    """Of three generations the best cases of one kernel are no three kernels."""
    waits = changed(
        stored,
        lambda each: replace(
            each,
            judgement=replace(each.judgement, fraction=0.97),
            detail={
                **each.detail,
                "waterfall": [
                    ["work", 0.97 * each.time_s],
                    ["waiting for operands", 0.029 * each.time_s],
                    ["launch", 0.001 * each.time_s],
                ],
            },
        ),
        lambda each: "waterfall" in each.detail and each.case.kernel == "gemm",
    )
    text = str(section.render([kept(waits, lambda each: each.case.kernel == "gemm")]))
    (key,) = re.findall(r'<ul class="key" aria-label="Colours of causes">.*?</ul>', text)
    assert re.findall(r"c-(\w+)", key) == ["work", "wait"]
    generations = {each.case.generation for each in waits.measurements if each.case.kernel == "gemm"}
    assert f"{len(generations)} cases with next to nothing to gain" in plain(text)


def test_strips_are_those_of_what_is_called_busy(stored: Run) -> None:
    case = case_of(stored)
    text = str(section.render([replace(stored, measurements=(case,))]))
    assert "when each engine was busy, from the top: tensor, dma" in text
    busy = {**case.detail["busy"], "sync": 1e-3 * case.time_s}
    still = replace(case, detail={**case.detail, "busy": busy, "strip": {"sync": "1000", "vector": "0000"}})
    text = str(section.render([replace(stored, measurements=(still,))]))
    assert 'class="strip"' not in text
    assert "Busy: " in text


def test_the_page_says_the_finding_the_causes_and_the_command(stored: Run) -> None:
    text = plain(section.render([stored]))
    told = opportunities.of(opportunities.chosen(stored))
    first = told[0]
    share = numbers.percent(first.share).replace(numbers.NBSP, " ")
    seconds = numbers.show(first.seconds, "s").replace(numbers.NBSP, " ")
    assert (
        f"The largest share of its time goes with {first.cause} in {first.case.case.kernel} on "
        f"{first.case.case.generation}: {share}, {seconds}" in text
    )
    assert "trnbench nki run gemm --lines" in text
    assert "At the peak" in text


def test_opportunities_by_share_and_their_sum(stored: Run) -> None:
    """With the work at the peak the causes of a case are its time."""
    found = opportunities.chosen(stored)
    told = opportunities.of(found)
    names = {each.case.case.kernel for each in found}
    order = [(not opportunities.useful(each.case, names), -each.share) for each in told]
    assert order == sorted(order)
    assert not any(opportunities.passed(each.losses) for each in told)
    for each in found:
        if each.terms:
            lost = sum(seconds for _, seconds in opportunities.causes(each))
            assert lost == pytest.approx((1 - min(opportunities.fraction(each), 1)) * each.time_s)


def test_probes_and_what_is_slow_on_purpose_come_last(stored: Run) -> None:
    case = case_of(stored)

    def of_kernel(kernel: str, family: str) -> Measurement:
        return replace(case, case=replace(case.case, kernel=kernel, family=family))

    names = {"gemm", "gemm_naive", "tensor_throughput"}
    assert opportunities.useful(of_kernel("gemm", "gemm"), names)
    assert not opportunities.useful(of_kernel("gemm_naive", "gemm"), names)
    assert opportunities.useful(of_kernel("gemm_naive", "gemm"), {"gemm_naive"})
    assert not opportunities.useful(of_kernel("tensor_throughput", "engine"), names)


def test_a_limit_of_the_engine_is_no_cause(stored: Run) -> None:
    """What a document promises beyond the engine's reach: told apart, ranked nowhere."""
    case = case_of(stored)
    time = case.time_s
    low = replace(
        case,
        judgement=replace(case.judgement, fraction=0.1, of_engine_bound=0.2),
        detail={**case.detail, "waterfall": [["vector at its peak", 0.9 * time], ["launch", 0.1 * time]]},
    )
    found = losses.of(low)
    assert found.worst == ("launch", pytest.approx(0.1 * time))
    assert [each.cause for each in opportunities.of([found])] == ["launch"]
    text = plain(section.render([replace(stored, measurements=(low,))]))
    assert "beyond what vector can do 80.0 %" in text
    assert "1 case promised what the engine cannot do" in text


@pytest.mark.parametrize("limit", [0.4, 1.0, 1.6])
def test_a_waterfall_starts_at_the_peak_that_judges_the_case(stored: Run, limit: float) -> None:
    """What the model's own limit is apart from the document is a term, of either sign."""
    case = case_of(stored)
    peak = case.judgement.fraction * case.time_s
    terms = [["tensor at its peak", limit * peak], ["launch", case.time_s - limit * peak]]
    found = losses.of(replace(case, detail={"waterfall": terms}))
    assert found.terms[0] == (JUDGED, pytest.approx(peak))
    assert sum(seconds for _, seconds in found.terms) == pytest.approx(case.time_s)
    steps = dict(found.terms[1:])
    assert steps.get("limit of tensor in the model", 0.0) == pytest.approx((limit - 1) * peak)


def test_without_a_waterfall_the_parts_of_the_model_are_shown() -> None:
    run: Run = make_run(sizes=3, extra_kernels=0)
    found = opportunities.chosen(run)
    assert found
    assert not any(each.terms for each in found)
    text = plain(section.render([run]))
    assert "no waterfall is stored" in text
    assert "Busy: tensor" in text
    assert "for ui.perfetto.dev" not in text


def test_nothing_known_nothing_said() -> None:
    run: Run = make_run(sizes=3, extra_kernels=0)
    bare = changed(run, having(parts=(), detail={}))
    assert section.render([bare]) == ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("waterfall", "busy", "strip", "command"), JSON)))
def test_whatever_is_stored_the_rest_is_shown(synthetic_case: Measurement, detail: dict[str, Any]) -> None:
    found = losses.of(replace(synthetic_case, detail=detail))
    if found is not None:
        assert found.busy or found.terms
        total = sum(seconds for _, seconds in found.terms)
        assert not found.terms or total == pytest.approx(found.time_s, rel=1e-5)
        assert all(0 <= share <= 1 for _, shares in found.strip for share in shares)


@pytest.fixture(scope="module")
def synthetic_case(stored: Run) -> Measurement:
    return case_of(stored)


@pytest.mark.parametrize(
    "wrong",
    [
        [["work", 1.0]],
        [["work", 1e9], ["x", 1.0]],
        [["work"], ["x"]],
        {"work": 1.0},
        "0099",
        [["a", float("nan")], ["b", 1.0]],
    ],
)
def test_a_waterfall_that_does_not_add_up_is_none(synthetic_case: Measurement, wrong: Any) -> None:
    found = losses.of(replace(synthetic_case, detail={"waterfall": wrong}))
    assert found.terms == ()


@pytest.mark.parts
def test_a_run_of_one_scope_alone_says_what_holds_it_back() -> None:
    run = bench(["gemm"], instances=["trn2-16.48xlarge"], scopes=["device"], axes=["size=4096", "dtype=bf16"])
    (found,) = opportunities.chosen(run)
    assert found.case.case.scope is Scope.DEVICE
    assert sum(seconds for _, seconds in found.terms) == pytest.approx(found.time_s)
    assert found.worst[0] in plain(str(section.render([run])))


def test_what_a_profiler_saw_stands_beside_what_is_emulated(stored: Run) -> None:
    chosen = next(each for each in stored.measurements if "busy" in each.detail)
    tensor = chosen.detail["busy"]["tensor"]
    measured = replace(
        chosen,
        evidence=Evidence(grade=Grade.MEASURED, by="trainium2"),
        detail={
            "profiled": {"total_s": 1.0, "engines_s": {"tensor": tensor / 2, "vector": 1e-6, "odd": 3.0}}
        },
    )
    real = replace(stored, id="real", grade=Grade.MEASURED, measurements=(measured,))
    rows = section.beside([stored, real])
    assert [row.engine for row in rows] == ["tensor", "vector"]
    assert rows[0].case == chosen.id
    assert (rows[0].largest[0], rows[1].largest) == ("waiting for DMA", None)
    assert [(row.profiled, row.emulated) for row in rows] == [(tensor / 2, tensor), (1e-6, None)]
    page = plain(section.render([stored, real]))
    assert f"{plain(numbers.show(tensor, 's'))} 2.00 waiting for DMA, " in page
    assert "What the profiler saw, beside the emulator" in page
    assert "What the profiler saw" not in plain(section.render([stored]))
    assert section.beside([real]) == []


@pytest.mark.parametrize(
    "odd", [None, 3, {"engines_s": 3}, {"engines_s": {"tensor": "x"}}, {"engines_s": {"tensor": -1}}]
)
def test_a_profile_of_another_form_counts_as_absent(stored: Run, odd: Any) -> None:
    chosen = next(each for each in stored.measurements if "busy" in each.detail)
    assert losses.profiled(replace(chosen, detail={"profiled": odd})) == {}


def test_the_lines_that_take_longest_stand_beside_the_bar(stored: Run) -> None:
    case = case_of(stored)
    lines = [
        ["gemm.py:31", "nisa.nc_matmul(<b>", 0.4 * case.time_s],
        ["gemm.py:9", "load", 0.1 * case.time_s],
    ]
    kept = replace(case, detail={**case.detail, "lines": lines})
    text = plain(section.render([replace(stored, measurements=(kept,))]))
    assert "Lines: gemm.py:31 nisa.nc_matmul(&lt;b&gt; 40.0 % , gemm.py:9 load 10.0 % ." in text
    assert "are not kept" not in text
    for strange in (
        None,
        "gemm.py:31",
        [["gemm.py:31"]],
        [["gemm.py:31", "load", float("nan")]],
        [[1, 2, "x"]],
    ):
        found = losses.of(replace(case, detail={**case.detail, "lines": strange}))
        assert found.lines == ()


def test_a_run_without_lines_says_what_prints_them(stored: Run) -> None:
    text = plain(section.render([replace(stored, measurements=(case_of(stored),))]))
    assert "source lines are not kept in this run trnbench nki run gemm --lines" in text
