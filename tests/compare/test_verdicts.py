"""What a comparison of two runs says of each case, and what it refuses."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from paired_runs import case, emulated, measured, run_of, run_of_medians

from trnbench import Evidence, Grade, NothingSelected, Reason, Run, Scope, Status, UsageError
from trnbench.compare.change import Verdict
from trnbench.compare.comparison import compared
from trnbench.facts.fact import PeakPolicy
from trnbench.results.measurement import Conditions, ProcessSamples, Stability

STEADY = (1.000, 1.002, 0.998)
SLOWER = (1.100, 1.102, 1.098)


def only(run: Run, other: Run, **options: object) -> object:
    (change,) = compared(run, other, **options).changes  # type: ignore[arg-type]
    return change


def test_a_slowdown_that_processes_agree_on() -> None:
    change = only(run_of_medians({"gemm": STEADY}), run_of_medians({"gemm": SLOWER}, "b"))
    assert change.verdict is Verdict.SLOWER
    assert change.effect == pytest.approx(0.1, rel=1e-3)
    assert change.interval.low < 0.1 < change.interval.high
    assert change.p < 0.001
    assert not change.why


def test_the_other_way_round_it_is_faster() -> None:
    change = only(run_of_medians({"gemm": SLOWER}), run_of_medians({"gemm": STEADY}, "b"))
    assert change.verdict is Verdict.FASTER
    assert change.effect == pytest.approx(1 / 1.1 - 1, rel=1e-3)


def test_processes_that_disagree_show_nothing() -> None:
    before, after = run_of_medians({"gemm": (1.0, 1.3, 0.8)}), run_of_medians({"gemm": (1.1, 1.4, 0.9)}, "b")
    change = only(before, after)
    assert change.verdict is Verdict.SAME
    assert change.interval.low < 0 < change.interval.high


def test_apart_altogether_is_not_enough() -> None:
    """Three values against three lie apart in one of ten comparisons of the same thing."""
    change = only(
        run_of_medians({"gemm": (1.00, 1.03, 1.05)}), run_of_medians({"gemm": (1.06, 1.09, 1.13)}, "b")
    )
    assert change.verdict is Verdict.SAME


@pytest.mark.parametrize(("threshold", "verdict"), [(None, Verdict.SAME), (0.0, Verdict.SLOWER)])
def test_below_the_threshold_nothing_is_slower(threshold: float | None, verdict: Verdict) -> None:
    before, after = run_of_medians({"gemm": STEADY}), run_of_medians({"gemm": (1.02, 1.021, 1.019)}, "b")
    change = only(before, after, threshold=threshold)
    assert change.verdict is verdict
    assert change.p < 0.01


def test_many_cases_ask_for_more_than_one() -> None:
    """One that would be slower alone is not among forty: one in twenty would be without a change."""
    noise = np.random.default_rng(5).normal(0.0, 0.02, (40, 2, 3))
    noise[0] = [[-0.02, 0.0, 0.02], [0.03, 0.05, 0.07]]
    sides = [
        run_of_medians({f"k{n}": tuple(np.exp(noise[n, side])) for n in range(40)}, "ab"[side])
        for side in (0, 1)
    ]
    found = {each.case.kernel: each for each in compared(*sides).changes}
    alone = only(*(run_of_medians({"k0": tuple(np.exp(noise[0, side]))}, "ab"[side]) for side in (0, 1)))
    assert alone.verdict is Verdict.SLOWER
    assert found["k0"].verdict is Verdict.SAME
    assert found["k0"].p > 0.05


def test_one_process_gives_no_verdict() -> None:
    change = only(run_of_medians({"gemm": (1.0,)}), run_of_medians({"gemm": SLOWER}, "b"))
    assert change.verdict is None
    assert change.why == "the first run measured it in one process: nothing tells how far another would lie"
    assert change.effect is not None


def test_no_samples_by_process_give_none() -> None:
    change = only(run_of_medians({"gemm": STEADY}), run_of_medians({"gemm": ()}, "b"))
    assert change.verdict is None
    assert change.why == "the second run has no samples by process: nothing tells how far another would lie"


def test_what_is_not_stable_gets_no_verdict() -> None:
    shaky = measured(
        case(),
        SLOWER,
        status=Status.INCONCLUSIVE,
        stability=Stability(verdict="unstable", why="the machine was busy"),
    )
    change = only(run_of_medians({"gemm": STEADY}), run_of(shaky, id="b"))
    assert (change.verdict, change.why) == (None, "not stable in the second run: the machine was busy")


def test_what_failed_gets_none() -> None:
    broken = measured(
        case(), (), time_s=None, status=Status.FAILED, reason=Reason.CRASH, reason_text="signal 11"
    )
    change = only(run_of_medians({"gemm": STEADY}), run_of(broken, id="b"))
    assert (change.verdict, change.why, change.effect) == (None, "failed in the second run: signal 11", None)


def test_what_was_skipped_in_both_is_counted_only() -> None:
    skipped = measured(case("fp8"), (), time_s=None, status=Status.SKIPPED)
    good = measured(case(), STEADY)
    found = compared(run_of(good, skipped), run_of(good, skipped, id="b"))
    assert found.skipped == 1
    assert len(found.changes) == 1


def test_emulated_times_differ_exactly() -> None:
    change = only(run_of(emulated(case(), 1e-6)), run_of(emulated(case(), 1.000001e-6), id="b"))
    assert (change.verdict, change.exact, change.interval, change.p) == (Verdict.SLOWER, True, None, None)
    assert change.effect == pytest.approx(1e-6)


def test_an_emulated_time_below_a_given_threshold_is_no_slowdown() -> None:
    change = only(run_of(emulated(case(), 1e-6)), run_of(emulated(case(), 1.02e-6), id="b"), threshold=0.03)
    assert change.verdict is Verdict.SAME


def test_a_gain_counts_as_the_loss_that_takes_it_back() -> None:
    fast, slow = run_of(emulated(case(), 1.0)), run_of(emulated(case(), 1.05), id="b")
    assert only(fast, slow, threshold=0.05).verdict is Verdict.SLOWER
    assert only(slow, fast, threshold=0.05).verdict is Verdict.FASTER


def test_a_metric_stands_in_for_a_time() -> None:
    def of(value: float) -> Run:
        one = emulated(case(), 1e9 / value)
        return run_of(msgspec.structs.replace(one, time_s=None), id=str(value))

    change = only(of(100.0), of(50.0))
    assert (change.metric, change.unit, change.effect) == ("flops_per_s", "FLOP/s", 1.0)
    assert change.verdict is Verdict.SLOWER


def test_numbers_of_others_have_no_samples() -> None:
    def of(time_s: float) -> Run:
        return run_of(
            emulated(case(), time_s, evidence=Evidence(grade=Grade.PUBLISHED, by="a page")), id=str(time_s)
        )

    assert (only(of(1.0), of(2.0)).verdict, only(of(1.0), of(2.0)).why) == (
        None,
        "published numbers come without samples",
    )


def refusal(before: Run, after: Run) -> str:
    with pytest.raises(UsageError) as caught:
        compared(before, after)
    return str(caught.value)


def test_other_evidence_is_refused() -> None:
    assert refusal(run_of_medians({"gemm": STEADY}), run_of(emulated(case(), 1.0), id="b")) == (
        "runs a and b cannot be compared: other evidence: measured and emulated\n"
        "  cause: a difference between numbers of two kinds is no change\n"
        "  try:   --across  holds them together all the same, and says so"
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"detail": {"rank": "device", "context": "nccom"}}, "other kind of rank: logical-core and device"),
        ({"detail": {"rank": "logical-core", "context": "graph"}}, "other context: nccom and graph"),
        ({"case": case(scope=Scope.DEVICE)}, "other scope: core and device"),
    ],
)
def test_other_things_are_refused(change: dict[str, object], why: str) -> None:
    one = emulated(case(), 1.0, detail={"rank": "logical-core", "context": "nccom"})
    other = msgspec.structs.replace(one, **change)
    assert why in refusal(run_of(one), run_of(other, id="b"))
    found = only(run_of(one), run_of(other, id="b"), across=True)
    assert (found.verdict, found.why) == (Verdict.SAME, why)


def test_another_peak_policy_is_refused() -> None:
    one = emulated(case(), 1.0)
    said = refusal(run_of(one), run_of(one, id="b", policy=PeakPolicy.ENGINE))
    assert "other peak policy: seed and engine" in said


def test_one_refused_case_does_not_stop_the_others() -> None:
    one, two = emulated(case(), 1.0), measured(case("copy"), STEADY)
    found = compared(
        run_of(one, two), run_of(msgspec.structs.replace(one, evidence=two.evidence), two, id="b")
    )
    assert [(each.id, each.why) for each in found.refused] == [
        ("host::gemm@core", "other evidence: emulated and measured")
    ]
    assert len(found.changes) == 1


def test_across_evidence_there_is_a_difference_and_no_verdict() -> None:
    change = only(run_of_medians({"gemm": STEADY}), run_of(emulated(case(), 2.0), id="b"), across=True)
    assert (change.verdict, change.why) == (None, "other evidence: measured and emulated")
    assert change.effect == pytest.approx(1.0)


def test_cases_of_one_run_alone_are_named() -> None:
    good = emulated(case(), 1.0)
    found = compared(
        run_of(good, emulated(case("old"), 1.0)), run_of(good, emulated(case("new"), 1.0), id="b")
    )
    assert (found.missing, found.new) == (("host::old@core",), ("host::new@core",))


def test_nothing_in_common() -> None:
    with pytest.raises(NothingSelected) as caught:
        compared(run_of(emulated(case(), 1.0)), run_of(emulated(case("other"), 1.0), id="b"))
    assert str(caught.value) == (
        "runs a and b have no case in common\n"
        "  cause: of their 1 and 1 cases none has the same kernel, system, scope and point, or none was "
        "selected\n"
        "  try:   trnbench runs show RUN  lists the cases of a run"
    )


def test_the_largest_effect_comes_first_and_what_has_no_verdict_last() -> None:
    before = run_of(*(emulated(case(name), 1.0) for name in ("a", "b", "c")), measured(case("d"), ()))
    after = run_of(
        *(emulated(case(name), time) for name, time in (("a", 1.0), ("b", 1.1), ("c", 0.5))),
        measured(case("d"), (), time_s=9.0),
        id="b",
    )
    assert [each.case.kernel for each in compared(before, after).changes] == ["c", "b", "a", "d"]


def test_a_keyword_chooses_cases() -> None:
    run = run_of(emulated(case("gemm", dtype="bf16"), 1.0), emulated(case("copy"), 1.0))
    assert [each.case.kernel for each in compared(run, run, keyword="gemm and bf16").changes] == ["gemm"]


def test_two_selections_of_one_run() -> None:
    run = run_of(
        *(emulated(case(dtype=dtype, size=size), 1.0 + size) for dtype in ("bf16", "fp8") for size in (1, 2))
    )
    found = compared(run, run, a="dtype=bf16", b="dtype=fp8")
    assert sorted((each.before.id, each.after.id) for each in found.changes) == [
        (f"host::gemm[dtype=bf16,size={size}]@core", f"host::gemm[dtype=fp8,size={size}]@core")
        for size in (1, 2)
    ]
    assert {each.causes for each in found.changes} == {()}
    (across,) = compared(run, run, a="dtype=bf16,size=1", b="dtype=fp8,size>1").changes
    assert (across.effect, across.causes) == (pytest.approx(0.5), ())


def test_two_kernels_of_one_run() -> None:
    run = run_of(emulated(case("fast", size=1), 1.0), emulated(case("slow", size=1), 3.0))
    (change,) = compared(run, run, a="kernel=fast", b="kernel=slow").changes
    assert change.effect == pytest.approx(2.0)


def test_scopes_of_two_systems_are_compared_apart_and_with_each_other() -> None:
    run = run_of(
        *(
            emulated(case(instance=name, scope=scope), 1.0)
            for name in ("old", "new")
            for scope in (Scope.CORE, Scope.DEVICE)
        )
    )
    alike = compared(run, run, a="instance=old", b="instance=new").changes
    assert sorted((each.before.id, each.after.id) for each in alike) == [
        ("old::gemm@core", "new::gemm@core"),
        ("old::gemm@device", "new::gemm@device"),
    ]
    (apart,) = compared(
        run, run, a="instance=old,scope=device", b="instance=old,scope=core", across=True
    ).changes
    assert (apart.before.id, apart.after.id) == ("old::gemm@device", "old::gemm@core")


def test_a_selection_that_fits_several_cases_of_a_kind() -> None:
    run = run_of(*(emulated(case(size=size), 1.0) for size in (1, 2, 3)))
    with pytest.raises(UsageError) as caught:
        compared(run, run, a="size=1", b="size>1")
    assert str(caught.value) == (
        "host::gemm[size=3]@core and host::gemm[size=2]@core are both in the second selection, and only one "
        "can be compared\n"
        "  cause: they differ in nothing but what the selections name\n"
        "  try:   another term, such as 'size=4096', so that one case of each kind is left"
    )


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        (
            "dtype",
            "'dtype' in --a 'dtype' compares nothing\n"
            "  cause: a selection is AXIS=VALUE, where <, >, <=, >= and != may stand as well\n"
            "  try:   --a 'dtype=fp32,size>=8192'",
        ),
        (
            "kernel<gemm",
            "'<' compares numbers, not kernel, in 'kernel<gemm'\n"
            "  cause: kernel takes words\n"
            "  try:   'kernel=gemm'",
        ),
        (
            "size=many",
            "axis size 'many' is no number\n"
            "  cause: a number may have K, M, G or T behind it, for 2^10, 2^20, 2^30 and 2^40\n"
            "  try:   axis size 4096",
        ),
    ],
)
def test_terms_that_cannot_be_read(terms: str, said: str) -> None:
    run = run_of(emulated(case(size=1), 1.0))
    with pytest.raises(UsageError) as caught:
        compared(run, run, a=terms)
    assert str(caught.value) == said


def on_a_machine(id: str, version: str, pressure: float, clock_hz: float) -> Run:
    """A measured run whose processes met this pressure and this clock."""
    conditions = Conditions(wall_s=1.0, pressure=pressure, clock_hz=(clock_hz, clock_hz))
    processes = tuple(ProcessSamples(samples=(each,), time_s=each, conditions=conditions) for each in STEADY)
    environment = {"package_numpy": version, "load_average": pressure, "cpu_model": "x"}
    return run_of(measured(case(), STEADY, processes=processes), id=id, environment=environment)


def test_what_differs_of_the_machine_is_told() -> None:
    runs = on_a_machine("a", "1.26", 0.01, 3e9), on_a_machine("b", "2.0", 0.4, 2e9)
    assert compared(*runs).differs == (
        "environment package_numpy was 1.26, is 2.0",
        "clock of the processor was 3 GHz, is 2 GHz",
        "share of time waiting for a processor was 1.0 %, is 40.0 %",
    )


def test_a_machine_as_busy_as_before_is_no_difference() -> None:
    runs = on_a_machine("a", "2.0", 0.38, 3e9), on_a_machine("b", "2.0", 0.4, 3.03e9)
    assert compared(*runs).differs == ()


def test_what_was_asked_for_is_no_difference_of_the_machine() -> None:
    one = emulated(case(), 1.0)
    settings = [{"selection": {"kernels": [name]}, "seed": seed} for name, seed in (("gemm", 1), ("*", 2))]
    found = compared(run_of(one, settings=settings[0]), run_of(one, id="b", settings=settings[1]))
    assert found.differs == ("setting seed was 1, is 2",)
