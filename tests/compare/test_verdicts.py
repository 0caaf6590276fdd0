"""What a comparison of two runs says of each case, and what it refuses."""

from __future__ import annotations

import itertools

import msgspec
import numpy as np
import pytest
from paired_runs import case, emulated, measured, run_of, run_of_medians
from stored_run import text_of

from trnbench import (
    CaseKey,
    Evidence,
    Grade,
    Measurement,
    Reason,
    Run,
    Scope,
    Status,
    UsageError,
)
from trnbench.compare.comparison import compared
from trnbench.facts.fact import PeakPolicy
from trnbench.results.fidelity import Fidelity, Step, order_kept
from trnbench.results.measurement import (
    Band,
    Nearest,
    Nearness,
    Stability,
    Standing,
    Verdict,
    verdict_of,
)

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


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (SLOWER, STEADY, Verdict.FASTER),
        ((1.0, 1.3, 0.8), (1.1, 1.4, 0.9), Verdict.SAME),
        # Three values against three lie apart in one of ten comparisons of the same thing.
        ((1.00, 1.03, 1.05), (1.06, 1.09, 1.13), Verdict.SAME),
    ],
)
def test_processes_that_disagree_show_nothing(
    before: tuple[float, ...], after: tuple[float, ...], verdict: Verdict
) -> None:
    assert only(run_of_medians({"gemm": before}), run_of_medians({"gemm": after}, "b")).verdict is verdict


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


NO_SAMPLES = "run has no samples by process: nothing tells how far another would lie"
ONE = "run measured it in one process: nothing tells how far another would lie"


def failed(why: str = "signal 11") -> Measurement:
    return measured(case(), (), time_s=None, status=Status.FAILED, reason=Reason.CRASH, reason_text=why)


SHAKY = measured(
    case(),
    SLOWER,
    status=Status.INCONCLUSIVE,
    stability=Stability(verdict="unstable", why="the machine was busy"),
)
GOOD = measured(case(), STEADY)


@pytest.mark.parametrize(
    ("old", "new", "verdict", "why"),
    [
        (measured(case(), (1.0,)), measured(case(), SLOWER), Verdict.UNKNOWN, f"the first {ONE}"),
        (GOOD, measured(case(), ()), Verdict.UNKNOWN, f"the second {NO_SAMPLES}"),
        (GOOD, measured(case(), (1.0, 0.0)), Verdict.UNKNOWN, "the second run has a process without a time"),
        (GOOD, SHAKY, Verdict.UNKNOWN, "not stable in the second run: the machine was busy"),
        (GOOD, failed(), Verdict.BROKEN, "failed in the second run: signal 11"),
        (SHAKY, failed(), Verdict.BROKEN, "not stable in the first run: the machine was busy"),
        (failed(), GOOD, Verdict.MENDED, "failed in the first run: signal 11"),
        (failed(), emulated(case(), 1.0), Verdict.EVIDENCE, "failed in the first run: signal 11"),
        (failed(), SHAKY, Verdict.UNKNOWN, "failed in the first run: signal 11"),
        (failed(), failed("other"), Verdict.UNKNOWN, "failed in the first run: signal 11"),
    ],
)
def test_what_became_of_a_case_without_two_numbers(
    old: Measurement, new: Measurement, verdict: Verdict, why: str
) -> None:
    change = only(run_of(old), run_of(new, id="b"))
    assert (change.verdict, change.why) == (verdict, why)
    assert change.interval is None


STANDINGS = [
    None,
    *(Standing(status, grade) for status in Status for grade in (Grade.EMULATED, Grade.MEASURED)),
]


def test_there_and_back_are_opposites_and_nothing_changes_into_itself() -> None:
    back = {
        Verdict.BROKEN: {Verdict.MENDED, Verdict.UNKNOWN, Verdict.EVIDENCE},
        Verdict.MENDED: {Verdict.BROKEN},
        Verdict.LOST: {Verdict.NEW},
        Verdict.NEW: {Verdict.LOST},
        Verdict.EVIDENCE: {Verdict.EVIDENCE, Verdict.BROKEN},
        Verdict.SAME: {Verdict.SAME},
        Verdict.UNKNOWN: {Verdict.UNKNOWN, Verdict.BROKEN},
    }
    for before, after in itertools.product(STANDINGS, STANDINGS):
        there = verdict_of(before, after, Verdict.SAME)
        assert verdict_of(after, before, Verdict.SAME) in back[there], (before, after)
        if before == after:
            assert not there.changed


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


@pytest.mark.parametrize(
    ("before", "after", "threshold", "verdict"),
    [
        (1.0, 1.02, 0.03, Verdict.SAME),
        (1.0, 1.05, 0.05, Verdict.SLOWER),
        (1.0, 1e-20, 0.05, Verdict.FASTER),
        (1.0, 0.0, 0.05, Verdict.UNKNOWN),
        (0.0, 1.0, 0.05, Verdict.UNKNOWN),
        (1.05, 1.0, 0.05, Verdict.FASTER),  # a gain counts as the loss that takes it back
    ],
)
def test_a_threshold_of_emulated_times(
    before: float, after: float, threshold: float, verdict: Verdict
) -> None:
    one = emulated(case(), 1.0)
    sides = (run_of(msgspec.structs.replace(one, time_s=time), id=str(time)) for time in (before, after))
    assert only(*sides, threshold=threshold).verdict is verdict


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

    change = only(of(1.0), of(2.0))
    assert (change.verdict, change.why) == (Verdict.UNKNOWN, "published numbers come without samples")


def refusal(before: Run, after: Run) -> str:
    return text_of(UsageError, compared, before, after)


def test_another_context_is_refused() -> None:
    one, two = (emulated(case(), 1.0, detail={"context": name}) for name in ("nccom", "graph"))
    other = [emulated(case("other"), 1.0, detail={"rank": name}) for name in ("device", "core")]
    assert refusal(run_of(one, other[0]), run_of(two, other[1], id="b")) == (
        "runs a and b cannot be compared: other context: nccom and graph\n"
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
    none = "the first has no band, and more than the software differs"
    assert (found.verdict, found.why) == (Verdict.UNKNOWN, f"{none}; {why}")


def test_another_peak_policy_is_refused() -> None:
    one = emulated(case(), 1.0)
    said = refusal(run_of(one), run_of(one, id="b", policy=PeakPolicy.ENGINE))
    assert "other peak policy: seed and engine" in said


def test_one_refused_case_does_not_stop_the_others() -> None:
    one, two = emulated(case(), 1.0, detail={"rank": "device"}), measured(case("copy"), STEADY)
    other = msgspec.structs.replace(one, detail={"rank": "core"})
    found = compared(run_of(one, two), run_of(other, two, id="b"))
    assert [(each.id, each.why) for each in found.refused] == [
        ("host::gemm@core", "other kind of rank: device and core")
    ]
    assert len(found.changes) == 1


@pytest.mark.parametrize(("across", "effect"), [(False, None), (True, pytest.approx(1.0))])
def test_other_evidence_is_a_change_and_has_a_ratio_where_asked_for(across: bool, effect: object) -> None:
    change = only(run_of_medians({"gemm": STEADY}), run_of(emulated(case(), 2.0), id="b"), across=across)
    assert (change.verdict, change.why, change.effect) == (
        Verdict.EVIDENCE,
        "other evidence: measured and emulated",
        effect,
    )
    assert change.causes == ("evidence is emulated, was measured",)


def test_cases_of_one_run_alone_are_lost_and_new() -> None:
    good = emulated(case(), 1.0)
    found = compared(
        run_of(good, emulated(case("old"), 1.0)), run_of(good, emulated(case("new"), 1.0), id="b")
    )
    assert [(each.verdict, each.id) for each in found.changes[1:]] == [
        (Verdict.LOST, "host::old@core"),
        (Verdict.NEW, "host::new@core"),
    ]
    assert found.counts() == "1 lost, 1 new, 1 no difference shown"


def banded(key: CaseKey, time_s: float, low: float = -0.2, high: float = 0.2) -> Measurement:
    """An emulated time that a published point lets one expect within e^low to e^high."""
    nearest = Nearest(kind=Nearness.KERNEL, band=Band(low=low, high=high, votes=9, points=9))
    evidence = Evidence(grade=Grade.EMULATED, by="a model", version="1", nearest=nearest)
    return emulated(key, time_s, evidence=evidence)


@pytest.mark.parametrize(
    ("time", "half", "ends"),
    [(1.0, 0.0, "1 s to 1 s and 1 s to 1 s"), (1.2, 0.2, "982 ms to 1.47 s and 819 ms to 1.22 s")],
)
def test_bands_that_touch_overlap(time: float, half: float, ends: str) -> None:
    run = run_of(banded(case("x"), time, -half, half), banded(case("y"), 1.0, -half, half))
    change = only(run, run, a="kernel=x", b="kernel=y")
    assert (change.verdict, change.why) == (Verdict.UNKNOWN, f"their bands overlap: {ends}")


@pytest.mark.parametrize(
    ("time", "high", "verdict", "why"),
    [
        (1.6, 0.2, Verdict.SLOWER, ""),
        (0.6, 0.2, Verdict.FASTER, ""),
        (1.2, 0.2, Verdict.UNKNOWN, "their bands overlap: 819 ms to 1.22 s and 982 ms to 1.47 s"),
        (1.2, None, Verdict.UNKNOWN, "the second has no band, and more than the software differs"),
    ],
)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"instance": "x"}, {"instance": "y"}),
        ({"dtype": "a"}, {"dtype": "b"}),
        ({"kernel": "x"}, {"kernel": "y"}),
    ],
)
def test_across_systems_and_operations_bands_decide(
    first: dict[str, str], second: dict[str, str], time: float, high: float | None, verdict: Verdict, why: str
) -> None:
    other = case(**second)
    new = banded(other, time) if high is not None else emulated(other, time)
    run = run_of(banded(case(**first), 1.0), new)
    ((name, value),) = first.items()
    (change,) = compared(run, run, a=f"{name}={value}", b=f"{name}={second[name]}").changes
    assert (change.verdict, change.why, change.exact, change.causes) == (verdict, why, False, ())


def test_two_kernels_of_one_work_are_versions() -> None:
    run = run_of(
        *(emulated(case(name), time, work={"flops": 8.0}) for name, time in (("x", 1.0), ("y", 1.1)))
    )
    (change,) = compared(run, run, a="kernel=x", b="kernel=y").changes
    assert (change.verdict, change.exact) == (Verdict.SLOWER, True)


def test_a_scope_that_is_named_is_meant() -> None:
    scopes = (Scope.CORE, Scope.DEVICE)
    run = run_of(*(banded(case(instance=name, scope=scope), 1.0) for name in ("x", "y") for scope in scopes))
    found = compared(run, run, a="scope=core", b="scope=device")
    assert [each.before.id for each in found.changes] == ["x::gemm@core", "y::gemm@core"]
    by_system = compared(run, run, a="instance=x", b="instance=y")
    assert [each.id for each in by_system.changes] == [
        "x::gemm@core → y::gemm@core",
        "x::gemm@device → y::gemm@device",
    ]


@pytest.mark.parametrize(("time", "verdict"), [(1.0, Verdict.SAME), (1.2, Verdict.EVIDENCE)])
def test_another_version_of_the_model_is_other_evidence_where_it_says_otherwise(
    time: float, verdict: Verdict
) -> None:
    later = Evidence(grade=Grade.EMULATED, by="a model", version="2")
    change = only(run_of(emulated(case(), 1.0)), run_of(emulated(case(), time, evidence=later), id="b"))
    assert (change.verdict, change.exact) == (verdict, False)


STEPS = tuple(
    Step(sequence="s", generation="g", source="", start="a", end=str(at), published=published, model=model)
    for at, (published, model) in enumerate(
        [(0.1, 0.1), (-0.1, 0.1), (0.1, None), (0.3, 0.1), (0.3, 0.2), (-0.3, -0.1), (0.02, 0.02)]
    )
)


@pytest.mark.parametrize(
    ("gain", "told"), [(0.01, (0, 0)), (0.05, (1, 2)), (-0.05, (1, 2)), (0.2, (3, 3)), (-1.0, (3, 3))]
)
def test_an_exact_ratio_says_how_often_the_model_orders_such_pairs(
    gain: float, told: tuple[int, int]
) -> None:
    kept = order_kept(STEPS, gain)
    assert (kept.kept, kept.pairs) == told
    assert order_kept((), gain) is None
    after = run_of(emulated(case(), np.exp(gain)), id="b", fidelity=Fidelity(by="a model", steps=STEPS))
    assert only(run_of(emulated(case(), 1.0)), after).order == kept
